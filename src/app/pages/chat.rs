//! One chat: the path that is shown, what stands beside it, and what can be set.
//!
//! What else is open is in the address: `?chats`, `?settings`, `?map`, `?sent={message}`; `?leaf` and `?before`
//! say which part of the tree is shown.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    app::{
        components::{
            chat_list::ChatListTab,
            chat_map::ChatMap,
            chat_settings::{ChatSettingsDrawer, SentDrawer},
            chat_turn::ChatTurnView,
            icon::{Glyph, Icon},
            page_title::PageTitle,
            problem::PageProblem,
        },
        server_fns::chats::{ChatData, DeleteChat, GoToMessage, UpdateChatPersona, open_chat},
    },
    domain::{
        chat::{Chat, MemberState},
        id::{ConversationId, MessageId},
        message::Role,
        run::{Run, RunStatus},
        sent::Estimate,
        tree::{MAX_COUNTED, Newer, PathPage},
    },
};

/// The page.
#[component]
pub fn ChatPage() -> impl IntoView {
    let id = ConversationId::new(use_params_map().read_untracked().get("id").unwrap_or_default());
    let query = use_query_map().read_untracked().clone();
    let message = |name: &str| query.get(name).map(MessageId::new);
    let (leaf, before, sent) = (message("leaf"), message("before"), message("sent"));
    let (sets, maps) = (query.get("settings").is_some(), query.get("map").is_some());
    let lists = query.get("chats").is_some();
    view! {
        <Suspense>
            {Suspend::new(async move {
                match open_chat(id, leaf, before).await {
                    Ok(open) => {
                        let beside = beside(&open, sets, maps, sent);
                        let list = lists.then(|| open.chat.clone()).filter(|_| beside.is_none());
                        let list = list.map(|chat| view! { <ChatListTab chat/> });
                        view! { {shown(open)} {beside} {list} }.into_any()
                    }
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// The drawer that is open, if one is.
fn beside(open: &ChatData, sets: bool, maps: bool, sent: Option<MessageId>) -> Option<AnyView> {
    let chat = open.chat.clone();
    if let Some(message) = sent {
        return Some(view! { <SentDrawer chat=chat.id message/> }.into_any());
    }
    if maps {
        let leaf = open.path.leaf.clone();
        return Some(view! { <ChatMap chat=chat.id leaf/> }.into_any());
    }
    let models = open.models.clone();
    sets.then(|| view! { <ChatSettingsDrawer chat models/> }.into_any())
}

fn shown(open: ChatData) -> impl IntoView {
    let ChatData { chat, path, turns, estimate, .. } = open;
    let PathPage { next, leaf, newer_elsewhere, moved, run, .. } = path;
    let home = format!("/chats/{}", chat.id);
    // One that ended well is told by its answer, and asked for again there.
    let run = run.filter(|run| run.status != RunStatus::Done);
    // What is being written on another branch is not followed here.
    let here = turns.last().is_some_and(|turn| turn.said.generating);
    let going_on = run.as_ref().filter(|run| here && !run.status.is_over());
    let follows = going_on.map(|run| run.id.to_string());
    // What is said next follows the answer, also when the page does not know yet that it is there.
    let reply = going_on.map(|run| run.reply_id.to_string());
    // An answer that never came is told below the question.
    let last = turns.last().map(|turn| turn.said.message.role);
    let unanswered = last == Some(Role::User);
    let earlier = next.map(|before| {
        let end = leaf.as_ref().map(|leaf| format!("leaf={leaf}&")).unwrap_or_default();
        format!("{home}?{end}before={before}")
    });
    let end = leaf.as_ref().map(|leaf| leaf.to_string());
    let name = chat.members.first().map(|member| member.name.clone()).unwrap_or_default();
    let empty = turns.is_empty();
    let title = chat.title.clone();
    view! {
        <PageTitle text=title/>
        <Head chat=chat.clone() leaf=end.clone()/>
        {chat.members.iter().filter(|member| member.changes > 0 || member.in_bin).cloned()
            .map(|member| view! { <MovedOn chat=chat.id.clone() member/> }).collect_view()}
        {moved.then(|| view! { <p class="told small">"That branch is pruned; this one is shown instead."</p> })}
        <div id="chat" class="chat" data-leaf=end data-reply=reply data-follow=follows>
            {empty.then(|| view! { <p class="empty faint">"Say something to " {name.clone()} " below."</p> })}
            <ol class="turns" id="chat-turns" data-grows>
                {earlier.map(|earlier| view! {
                    <li class="earlier" id=format!("before-{earlier}")><a class="button quiet small" href=earlier.clone() data-earlier>"Earlier messages"</a></li>
                })}
                {turns.into_iter().map(|turn| {
                    let id = &turn.said.message.id;
                    let told_here = |run: &Run| run.reply_id == *id || unanswered && run.message_id == *id;
                    let run = run.clone().filter(told_here);
                    view! { <ChatTurnView chat=chat.id.clone() name=name.clone() turn run/> }
                }).collect_view()}
            </ol>
            {newer_elsewhere.map(|newer| view! { <Elsewhere chat=chat.id.clone() newer/> })}
            {estimate.map(|estimate| view! { <p class="faint small estimate">{priced(&estimate)}</p> })}
        </div>
    }
}

/// What the next message would take.
fn priced(estimate: &Estimate) -> String {
    let tokens = estimate.input_tokens + estimate.output_tokens;
    let price = match estimate.cost_micros {
        Some(0) => "free".to_owned(),
        Some(micros) => format!("about ${:.4}", micros as f64 / 1e6),
        None => "at a price that is not known".to_owned(),
    };
    format!("The next message: {}, about {tokens} tokens, {price}", estimate.model)
}

/// The title, and what can be done with the whole chat.
#[component]
fn Head(chat: Chat, leaf: Option<String>) -> impl IntoView {
    let Chat { id, title, mode, members, .. } = chat;
    let home = format!("/chats/{id}");
    let names = members
        .into_iter()
        .map(|member| {
            let path = format!("/personas/{}", member.persona_id);
            view! { <a href=path>{member.name}</a> " v" {member.revision} " · " }
        })
        .collect_view();
    let (settings, map) = (format!("{home}?settings=1"), format!("{home}?map=1"));
    let chats = format!("{home}?chats=1");
    let export = format!("/api/chats/{id}/export");
    let path = leaf.map(|leaf| format!("?leaf={leaf}")).unwrap_or_default();
    let markdown = format!("/api/chats/{id}/markdown{path}");
    view! {
        <nav class="crumbs small" aria-label="Where this is"><a href="/chats">"Chats"</a></nav>
        <header class="page-head chat-head">
            <div>
                <h1 class="one-line">{title}</h1>
                <p class="faint small">{names} {mode.label()}</p>
            </div>
            <div class="row tight">
                <a class="button quiet" href=map><Glyph icon=Icon::History/> "Map"</a>
                <a class="button quiet" href=chats><Glyph icon=Icon::Talk/> "Other chats"</a>
                <a class="button quiet" href=settings><Glyph icon=Icon::Settings/> "Settings"</a>
                <details class="popover" id="chat-more">
                    <summary class="button quiet">"More…"</summary>
                    <div class="popup stack">
                        <a href=export download rel="external">"Export all as JSON"</a>
                        <a href=markdown download rel="external">"This path as markdown"</a>
                        <form method="post" action=DeleteChat::url() data-quiet data-told="The chat is in the bin.">
                            <input type="hidden" name="id" value=id.to_string()/>
                            <button class="button quiet"><Glyph icon=Icon::Bin/> "Move to the bin"</button>
                        </form>
                    </div>
                </details>
            </div>
        </header>
    }
}

/// Says that the persona is at a newer version than the one that speaks.
#[component]
fn MovedOn(chat: ConversationId, member: MemberState) -> impl IntoView {
    if member.in_bin {
        let told = format!(
            "{} lies in the bin: what was said can be read, and nobody answers.",
            member.name
        );
        return view! { <p class="told small">{told}</p> }.into_any();
    }
    let changes = match member.changes {
        1 => "1 change".to_owned(),
        more => format!("{more} changes"),
    };
    let told = format!(
        "{} has moved on: {changes} between v{} and v{}.",
        member.name, member.revision, member.current_revision
    );
    let path = format!(
        "/personas/{}?versions=1&from={}&to={}",
        member.persona_id, member.revision, member.current_revision
    );
    view! {
        <div class="told row apart small">
            <span>{told} " " <a href=path>"Show them"</a></span>
            <form method="post" action=UpdateChatPersona::url() data-quiet data-told="The persona speaks as it is now.">
                <input type="hidden" name="id" value=chat.to_string()/>
                <button class="button quiet small">"Update"</button>
            </form>
        </div>
    }
    .into_any()
}

/// Leads to newer messages on another branch.
#[component]
fn Elsewhere(chat: ConversationId, newer: Newer) -> impl IntoView {
    let count = match newer.count {
        1 => "1 newer message".to_owned(),
        MAX_COUNTED.. => format!("{MAX_COUNTED} or more newer messages"),
        more => format!("{more} newer messages"),
    };
    view! {
        <form class="told row apart small" method="post" action=GoToMessage::url() data-quiet>
            <input type="hidden" name="chat" value=chat.to_string()/>
            <input type="hidden" name="id" value=newer.leaf.to_string()/>
            <span>{count} " on another branch"</span>
            <button class="button quiet small">"Go there"</button>
        </form>
    }
}
