//! The pages before anybody is signed in. The server puts them into documents of their own.

use leptos::prelude::*;

use crate::domain::account::Role;

/// The name of the house above a page without a navigation.
#[component]
pub fn Brand() -> impl IntoView {
    view! {
        <a class="brand" href="/">
            <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
                <rect width="32" height="32" rx="9"/>
                <path d="M9 23V11.5a2.5 2.5 0 0 1 2.5-2.5h9a2.5 2.5 0 0 1 2.5 2.5V23M6.5 23h19M13 15.5h6"/>
            </svg>
            "Greenroom"
        </a>
    }
}

/// What went wrong with a form, above it.
#[component]
pub fn FormProblem(
    /// The sentence.
    problem: Option<String>,
) -> impl IntoView {
    problem.map(|problem| view! { <p class="problem" role="alert">{problem}</p> })
}

/// A field for a new password.
#[component]
fn NewPassword() -> impl IntoView {
    view! {
        <div class="field">
            <label for="password">"Password"</label>
            <input
                id="password"
                name="password"
                type="password"
                autocomplete="new-password"
                minlength="8"
                maxlength="1024"
                required
                aria-describedby="password-hint"
            />
            <p class="faint small" id="password-hint">"8 characters or more, whichever you like."</p>
        </div>
    }
}

/// Signing in.
#[component]
pub fn LoginPage(
    /// The name that was typed before.
    name: String,
    /// Where to go on.
    next: String,
    /// What was wrong.
    problem: Option<String>,
) -> impl IntoView {
    // Who typed a name goes on with the password.
    let named = !name.is_empty();
    view! {
        <main class="door" id="page">
            <Brand/>
            <h1>"Sign in"</h1>
            <FormProblem problem/>
            <form method="post" action="/login" class="card stack">
                <input type="hidden" name="next" value=next/>
                <div class="field">
                    <label for="name">"Name"</label>
                    <input id="name" name="name" value=name autocomplete="username" autocapitalize="none" maxlength="64" required autofocus=!named/>
                </div>
                <div class="field">
                    <label for="password">"Password"</label>
                    <input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required autofocus=named/>
                </div>
                <p><button class="button">"Sign in"</button></p>
            </form>
            <p class="faint small">"No account, or no password? Ask an owner of your Space for a link."</p>
        </main>
    }
}

/// Coming in by an invitation.
#[component]
pub fn InvitePage(
    /// What one becomes.
    role: Role,
    /// The name that was typed before.
    name: String,
    /// What was wrong.
    problem: Option<String>,
) -> impl IntoView {
    view! {
        <main class="door" id="page">
            <Brand/>
            <h1>"You are invited"</h1>
            <p class="faint">{format!("You come in as {}. ", role.word())} "Choose how you will sign in; with an account here, use its name and password."</p>
            <FormProblem problem/>
            <form method="post" class="card stack">
                <div class="field">
                    <label for="name">"Name"</label>
                    <input id="name" name="name" value=name autocomplete="username" autocapitalize="none" maxlength="64" required autofocus aria-describedby="name-hint"/>
                    <p class="faint small" id="name-hint">"Letters, digits, dashes, underscores, dots, @ and +."</p>
                </div>
                <NewPassword/>
                <p><button class="button">"Come in"</button></p>
            </form>
        </main>
    }
}

/// Choosing a new password.
#[component]
pub fn ResetPage(
    /// Whose it is.
    name: String,
    /// What was wrong.
    problem: Option<String>,
) -> impl IntoView {
    view! {
        <main class="door" id="page">
            <Brand/>
            <h1>"Choose a new password"</h1>
            <FormProblem problem/>
            <form method="post" class="card stack">
                {(!name.is_empty()).then(|| view! {
                    <div class="field">
                        <label for="name">"Name"</label>
                        <input id="name" value=name.clone() autocomplete="username" readonly/>
                    </div>
                })}
                <NewPassword/>
                <p><button class="button">"Set the password"</button></p>
                <p class="faint small">"Every browser that is signed in with the old one is signed out."</p>
            </form>
        </main>
    }
}

/// What is in the way.
#[component]
pub fn Told(
    /// The sentence.
    message: String,
    /// Where to go.
    back: String,
) -> impl IntoView {
    view! {
        <main class="door" id="page">
            <Brand/>
            <h1>"Not this way"</h1>
            <p class="problem" role="alert">{message}</p>
            <p class="row">
                <a class="button" href=back>"Go on"</a>
                <a class="button quiet" href="/">"To the first page"</a>
            </p>
        </main>
    }
}
