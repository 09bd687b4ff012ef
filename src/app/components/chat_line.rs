//! What comes next in a chat once the answer is there: it is shown, can be taken back, and goes on.

use leptos::{prelude::*, server_fn::ServerFn};

use super::written::written;
use crate::{
    app::server_fns::several::{DropNext, HoldNext, ReleaseNext},
    domain::{
        chat::MemberState,
        id::{ConversationId, PersonaId},
        line::{Next, NextItem},
        visible::visible_in_prose,
    },
};

/// All that comes next.
#[component]
pub fn ChatLine(
    /// In which chat.
    chat: ConversationId,
    /// Who speaks there.
    members: Vec<MemberState>,
    /// What comes next, in order.
    line: Vec<NextItem>,
) -> impl IntoView {
    (!line.is_empty()).then(|| {
        view! {
            <section class="line stack" aria-label="What comes next">
                {line.into_iter().map(|item| {
                    let names = names(&members, &item.what);
                    view! { <Waiting chat=chat.clone() names item/> }
                }).collect_view()}
            </section>
        }
    })
}

/// What those are called who are still to answer.
fn names(members: &[MemberState], what: &Next) -> String {
    let Next::Answers { persona_ids, .. } = what else { return String::new() };
    let name = |id: &PersonaId| {
        let member = members.iter().find(|member| member.persona_id == *id)?;
        Some(member.name.clone())
    };
    persona_ids.iter().filter_map(name).collect::<Vec<_>>().join(", ")
}

#[component]
fn Waiting(chat: ConversationId, names: String, item: NextItem) -> impl IntoView {
    let NextItem { id, what, held, .. } = item;
    let named = Named { chat: chat.to_string(), id: id.to_string() };
    let why = held.clone().map(|why| view! { <p class="faint small">{why}</p> });
    let shown = match (what, held.is_some()) {
        (Next::Words { content, .. }, false) => view! {
            <div class="card line-item">
                <p class="faint small">"Will be sent when the answer is there"</p>
                <p class="line-words">{visible_in_prose(content)}</p>
                <Press named told="You have it back: change it, send it, or throw it away." action=HoldNext::url() label="Take back"/>
            </div>
        }
        .into_any(),
        (Next::Words { content, .. }, true) => view! { <Held named content why=held.unwrap_or_default()/> }.into_any(),
        (Next::Answers { .. }, held) => view! {
            <div class="told row apart small">
                <span>"Still to answer: " {names} {why}</span>
                <span class="row tight">
                    {held.then(|| view! { <Press named=named.clone() told="" action=ReleaseNext::url() label="Go on"/> })}
                    <Press named=named.clone() told="" action=DropNext::url() label="Leave it"/>
                </span>
            </div>
        }
        .into_any(),
        (Next::Replay { message_ids, .. }, held) => {
            let rest = match message_ids.len() {
                0 => "The last turn is being said again.".to_owned(),
                1 => "1 turn is still to be said again.".to_owned(),
                more => format!("{more} turns are still to be said again."),
            };
            view! {
                <div class="told row apart small">
                    <span>{rest} {why}</span>
                    <span class="row tight">
                        {held.then(|| view! { <Press named=named.clone() told="" action=ReleaseNext::url() label="Go on"/> })}
                        <Press named=named.clone() told="" action=DropNext::url() label="Leave it"/>
                    </span>
                </div>
            }
            .into_any()
        }
        (Next::Replayed { old, new }, _) => {
            let compare = format!("/chats/{chat}?compare={old}&with={new}");
            view! {
                <div class="told row apart small">
                    <span>"The last turns were said again, beside the old ones. " <a href=compare>"Compare the two branches"</a></span>
                    <Press named told="" action=DropNext::url() label="Dismiss"/>
                </div>
            }
            .into_any()
        }
    };
    view! { <div id=format!("next-{id}")>{shown}</div> }
}

/// What names something in the line to a form.
#[derive(Clone)]
struct Named {
    chat: String,
    id: String,
}

/// A form with one button.
#[component]
fn Press(
    named: Named,
    told: &'static str,
    action: &'static str,
    label: &'static str,
) -> impl IntoView {
    view! {
        <form method="post" action=action data-quiet data-told=told>
            <input type="hidden" name="chat" value=named.chat/>
            <input type="hidden" name="id" value=named.id/>
            <button class="button quiet small">{label}</button>
        </form>
    }
}

/// Words that wait for the person who wrote them.
#[component]
fn Held(named: Named, content: String, why: String) -> impl IntoView {
    let rows = content.lines().count().clamp(2, 12);
    let (field, form) = (format!("held-{}", named.id), format!("send-{}", named.id));
    view! {
        <div class="card line-item">
            <p class="faint small">{why}</p>
            <form id=form.clone() method="post" action=ReleaseNext::url() data-quiet>
                <input type="hidden" name="chat" value=named.chat.clone()/>
                <input type="hidden" name="id" value=named.id.clone()/>
                <label class="sr" for=field.clone()>"What was not sent"</label>
                <textarea id=field name="content" class="grow" rows=rows required maxlength="50000" inner_html=written(&content)></textarea>
            </form>
            <div class="row tight">
                <button class="button small" form=form>"Send"</button>
                <Press named told="It is thrown away." action=DropNext::url() label="Throw away"/>
            </div>
        </div>
    }
}
