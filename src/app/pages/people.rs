//! The people of a Space, for its owners. The server puts it into a document of its own.

use leptos::prelude::*;

use super::{account::AccountNav, sign_in::FormProblem};
use crate::{
    app::components::when::When,
    domain::{
        account::{AccountEvent, AccountLink, LinkKind, Member, Role},
        id::UserId,
        timestamp::Timestamp,
    },
};

/// A link that was just made, shown this once.
pub struct ShownLink {
    /// The whole address.
    pub address: String,
    /// Until when it waits.
    pub expires_at: Timestamp,
}

/// What the page shows.
pub struct ShownPeople {
    /// Who looks.
    pub own: UserId,
    /// Whether they can sign out.
    pub signs_out: bool,
    /// Everybody.
    pub members: Vec<Member>,
    /// Links that wait to be used.
    pub links: Vec<AccountLink>,
    /// What happened, the last first.
    pub events: Vec<AccountEvent>,
    /// A link that was just made.
    pub made: Option<ShownLink>,
    /// What was wrong.
    pub problem: Option<String>,
}

/// The page.
#[component]
pub fn PeoplePage(
    /// What it shows.
    people: ShownPeople,
) -> impl IntoView {
    let ShownPeople { own, signs_out, members, links, events, made, problem } = people;
    view! {
        <main class="door wide" id="page">
            <AccountNav people=true signs_out/>
            <h1>"People"</h1>
            <FormProblem problem/>
            {made.map(|made| view! {
                <section class="card stack" role="status" aria-labelledby="made-title">
                    <h2 id="made-title">"Your link"</h2>
                    <p>"Send it to whom it is for. It opens once, until " {made.expires_at.readable()} ", and is not shown again."</p>
                    <p><code class="shown-once">{made.address}</code></p>
                </section>
            })}
            <section class="card stack" aria-labelledby="members-title">
                <h2 id="members-title">"In this Space"</h2>
                <ul class="services">
                    {members.into_iter().map(|member| view! { <MemberRow own=own.clone() member/> }).collect_view()}
                </ul>
            </section>
            <section class="card stack" aria-labelledby="invite-title">
                <h2 id="invite-title">"Invite somebody"</h2>
                <form method="post" action="/people/invite" class="row wrap">
                    <label class="sr" for="invite-role">"What they will be"</label>
                    <select id="invite-role" name="role">
                        {Role::ALL.map(|role| view! { <option value=role.word() selected={role == Role::Editor}>{role.label()}</option> })}
                    </select>
                    <button class="button">"Make a link"</button>
                </form>
                {(!links.is_empty()).then(|| view! { <Links links/> })}
            </section>
            <section class="card stack" aria-labelledby="events-title">
                <h2 id="events-title">"What happened"</h2>
                <ul class="services">
                    {events.into_iter().map(|event| view! {
                        <li class="row apart wrap">
                            <span>{format!("{}: {}", event.user, event.what.map_or("Something else", |what| what.label()))}</span>
                            <span class="faint small lines">{event.detail} " " {event.address} " " <When at=event.at/></span>
                        </li>
                    }).collect_view()}
                </ul>
            </section>
        </main>
    }
}

#[component]
fn MemberRow(own: UserId, member: Member) -> impl IntoView {
    let (user, id) = (member.user.to_string(), format!("role-{}", member.user));
    let label = format!("Role of {user}");
    let is_own = own == member.user;
    view! {
        <li class="row apart wrap">
            <span>
                <strong>{user.clone()}</strong> {is_own.then_some(" (you)")}
                {(!member.has_password).then(|| view! { <br/><span class="faint small">"Has no password, and cannot sign in here."</span> })}
            </span>
            <span class="row wrap">
                <form method="post" action="/people/role" class="row">
                    <input type="hidden" name="user" value=user.clone()/>
                    <label class="sr" for=id.clone()>{label}</label>
                    <select id=id name="role">
                        {Role::ALL.map(|role| view! { <option value=role.word() selected={role == member.role}>{role.word()}</option> })}
                    </select>
                    <button class="button quiet small">"Set"</button>
                </form>
                <form method="post" action="/people/reset">
                    <input type="hidden" name="user" value=user.clone()/>
                    <button class="button quiet small">"New password…"</button>
                </form>
                <details class="popover">
                    <summary class="button quiet small">"Remove…"</summary>
                    <form method="post" action="/people/remove" class="popup">
                        <input type="hidden" name="user" value=user.clone()/>
                        <p>"They come into this Space no more, and their tokens for it end."</p>
                        <button class="button bad">"Remove " {user}</button>
                    </form>
                </details>
            </span>
        </li>
    }
}

#[component]
fn Links(links: Vec<AccountLink>) -> impl IntoView {
    view! {
        <h3>"Links that wait"</h3>
        <ul class="services">
            {links.into_iter().map(|link| {
                let what = match link.kind {
                    LinkKind::Invite => format!("An invitation, as {}", link.role.word()),
                    LinkKind::Reset => {
                        let user = link.user.map(String::from).unwrap_or_default();
                        format!("A new password for {user}")
                    }
                };
                view! {
                    <li class="row apart wrap">
                        <span>{what} <br/><span class="faint small">"until " {link.expires_at.readable()}</span></span>
                        <form method="post" action="/people/links/drop">
                            <input type="hidden" name="link" value=link.id/>
                            <button class="button quiet small">"Take it away"</button>
                        </form>
                    </li>
                }
            }).collect_view()}
        </ul>
    }
}
