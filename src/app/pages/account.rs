//! One's own account. The server puts it into a document of its own: what is shown once there must not be
//! shown again by a program that keeps pages.

use leptos::prelude::*;

use super::sign_in::{Brand, FormProblem};
use crate::{
    app::components::when::When,
    domain::{
        account::{ApiToken, Membership, Role, Session, browser_name},
        id::SpaceId,
    },
};

/// What the page shows.
pub struct ShownAccount {
    /// The name.
    pub user: String,
    /// What they are in the Space they work in.
    pub role: Role,
    /// That Space.
    pub space: SpaceId,
    /// All their Spaces.
    pub spaces: Vec<Membership>,
    /// Whether they have a password to change.
    pub has_password: bool,
    /// The session of this browser.
    pub this_session: String,
    /// Where they are signed in.
    pub sessions: Vec<Session>,
    /// Their tokens.
    pub tokens: Vec<ApiToken>,
    /// Whether there is a page of people.
    pub has_people: bool,
    /// A token that was just made, shown this once.
    pub new_token: Option<String>,
    /// What was done.
    pub done: Option<String>,
    /// What was wrong.
    pub problem: Option<String>,
}

/// The places of these pages, and the way out.
#[component]
pub fn AccountNav(
    /// Whether there is a page of people for this person.
    people: bool,
    /// Whether one can sign out.
    signs_out: bool,
) -> impl IntoView {
    view! {
        <header class="row apart wrap door-nav">
            <Brand/>
            <nav class="row wrap" aria-label="Account">
                <a class="button quiet" href="/">"Back to work"</a>
                <a class="button quiet" href="/account">"Account"</a>
                {people.then(|| view! { <a class="button quiet" href="/people">"People"</a> })}
                {signs_out.then(|| view! {
                    <form method="post" action="/logout"><button class="button quiet">"Sign out"</button></form>
                })}
            </nav>
        </header>
    }
}

/// The page.
#[component]
pub fn AccountPage(
    /// What it shows.
    account: ShownAccount,
) -> impl IntoView {
    let ShownAccount {
        user,
        role,
        space,
        spaces,
        has_password,
        this_session,
        sessions,
        tokens,
        has_people,
        new_token,
        done,
        problem,
    } = account;
    let people = has_people && role == Role::Owner;
    let place = spaces.iter().find(|one| one.space == space).map(|one| one.name.clone());
    view! {
        <main class="door wide" id="page">
            <AccountNav people signs_out=!this_session.is_empty()/>
            <h1>{user}</h1>
            <p class="faint">{role.label()} " (in the Space " {place.unwrap_or_default()} ")"</p>
            <FormProblem problem/>
            {done.map(|done| view! { <p class="done" role="status">{done}</p> })}
            {new_token.map(|token| view! {
                <section class="card stack" role="status" aria-labelledby="made-title">
                    <h2 id="made-title">"Your new token"</h2>
                    <p>"Copy it now: it is not shown again."</p>
                    <p><code class="shown-once">{token}</code></p>
                </section>
            })}
            // It is the session that is in a Space: whom a proxy vouches for has none to move.
            {(spaces.len() > 1 && !this_session.is_empty()).then(|| view! { <Spaces spaces space/> })}
            {has_password.then(|| view! { <Password/> })}
            {(!sessions.is_empty()).then(|| view! { <Sessions sessions this_session/> })}
            <Tokens tokens role/>
        </main>
    }
}

#[component]
fn Spaces(spaces: Vec<Membership>, space: SpaceId) -> impl IntoView {
    view! {
        <section class="card stack" aria-labelledby="spaces-title">
            <h2 id="spaces-title">"Your Spaces"</h2>
            <form method="post" action="/account/space" class="row wrap">
                <label class="sr" for="space">"Space"</label>
                <select id="space" name="space">
                    {spaces.into_iter().map(|one| {
                        let chosen = one.space == space;
                        view! { <option value=one.space.to_string() selected=chosen>{one.name} " (" {one.role.word()} ")"</option> }
                    }).collect_view()}
                </select>
                <button class="button">"Work there"</button>
            </form>
        </section>
    }
}

#[component]
fn Password() -> impl IntoView {
    view! {
        <section class="card stack" aria-labelledby="password-title">
            <h2 id="password-title">"Password"</h2>
            <form method="post" action="/account/password" class="stack">
                <div class="pair">
                    <div class="field">
                        <label for="old">"Your present password"</label>
                        <input id="old" name="old" type="password" autocomplete="current-password" maxlength="1024" required/>
                    </div>
                    <div class="field">
                        <label for="new">"The new one"</label>
                        <input id="new" name="new" type="password" autocomplete="new-password" minlength="8" maxlength="1024" required/>
                    </div>
                </div>
                <p><button class="button">"Change it"</button></p>
                <p class="faint small">"Every other browser is signed out."</p>
            </form>
        </section>
    }
}

#[component]
fn Sessions(sessions: Vec<Session>, this_session: String) -> impl IntoView {
    view! {
        <section class="card stack" aria-labelledby="sessions-title">
            <h2 id="sessions-title">"Where you are signed in"</h2>
            <ul class="services">
                {sessions.into_iter().map(|session| {
                    let own = session.hash == this_session;
                    let browser = browser_name(&session.browser);
                    view! {
                        <li class="row apart wrap">
                            <span class="lines">
                                {browser} {own.then_some(" (this browser)")} <br/>
                                <span class="faint small">
                                    {session.address} " · used " <When at=session.used_at/> " · since "
                                    <When at=session.created_at/>
                                </span>
                            </span>
                            <form method="post" action="/account/sessions/end">
                                <input type="hidden" name="session" value=session.hash/>
                                <button class="button quiet small">"Sign out"</button>
                            </form>
                        </li>
                    }
                }).collect_view()}
            </ul>
        </section>
    }
}

#[component]
fn Tokens(tokens: Vec<ApiToken>, role: Role) -> impl IntoView {
    view! {
        <section class="card stack" aria-labelledby="tokens-title">
            <h2 id="tokens-title">"API tokens"</h2>
            <p class="faint">
                "For programs: sent as " <code>"Authorization: Bearer TOKEN"</code>
                ". A token does what you may do in this Space, and never decides on drafts or sets people."
            </p>
            <ul class="services">
                {tokens.into_iter().map(|token| view! {
                    <li class="row apart wrap">
                        <span class="lines">
                            {token.name} " (" {token.scope.word()} ")" <br/>
                            <span class="faint small">
                                {match token.used_at {
                                    Some(used) => view! { "used " <When at=used/> }.into_any(),
                                    None => "never used".into_any(),
                                }}
                                " · until " {token.expires_at.readable()}
                            </span>
                        </span>
                        <form method="post" action="/account/tokens/revoke">
                            <input type="hidden" name="token" value=token.id/>
                            <button class="button quiet small">"Revoke"</button>
                        </form>
                    </li>
                }).collect_view()}
            </ul>
            <details class="details">
                <summary>"Make a token"</summary>
                <form method="post" action="/account/tokens" class="stack">
                    <div class="field">
                        <label for="token-name">"What it is for"</label>
                        <input id="token-name" name="name" maxlength="60" required/>
                    </div>
                    <div class="pair">
                        <div class="field">
                            <label for="token-scope">"What it may do"</label>
                            <select id="token-scope" name="scope">
                                <option value="read">"Read"</option>
                                {(role >= Role::Editor).then(|| view! { <option value="write">"Read and write"</option> })}
                            </select>
                        </div>
                        <div class="field">
                            <label for="token-days">"For how many days"</label>
                            <input id="token-days" name="days" type="number" min="1" max="366" value="90" required/>
                        </div>
                    </div>
                    <p><button class="button">"Make it"</button></p>
                </form>
            </details>
        </section>
    }
}
