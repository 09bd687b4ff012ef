//! One chat: the path that is shown, what stands beside it, and what can be set.
//!
//! What else is open is in the address: `?chats`, `?settings`, `?map`, `?sent={message}`; `?leaf`, `?stay`,
//! `?before` and `?see` say which part of the tree is shown, `?compare` and `with` show two branches instead, and
//! `?pruned` names what was just hidden.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::{use_params_map, use_query_map};

use crate::{
    app::{
        components::{
            chat_compare::ChatCompare,
            chat_line::ChatLine,
            chat_list::ChatListTab,
            chat_map::{ChatMap, MapAsk},
            chat_moved::MovedOn,
            chat_settings::{ChatSettingsDrawer, SentDrawer},
            chat_turn::ChatTurnView,
            icon::{Glyph, Icon},
            page_title::PageTitle,
            problem::PageProblem,
            turn::{ShownTurn, TurnView},
        },
        server_fns::chats::{ChatData, ChatTurn, DeleteChat, GoToMessage, PruneMessage, open_chat},
    },
    domain::{
        chat::{
            Answering, Chat, MAX_FILE_MESSAGES, MAX_FILE_MIB, MemberState, SETTINGS, told_left_out,
        },
        id::{ConversationId, MessageId},
        message::Role,
        run::{Run, RunStatus},
        tree::{MAX_COUNTED, Newer, PathPage, TreeNode},
        visible::visible_in_prose,
    },
};

/// The page.
#[component]
pub fn ChatPage() -> impl IntoView {
    let id = ConversationId::new(use_params_map().read_untracked().get("id").unwrap_or_default());
    let query = use_query_map().read_untracked().clone();
    let message = |name: &str| query.get(name).map(MessageId::new);
    let (leaf, before, pruned) = (message("leaf"), message("before"), message("pruned"));
    let (stay, see) = (message("stay"), message("see"));
    // Who only looks again was there already.
    let marked = see.clone().filter(|_| stay.is_none());
    let both = message("compare").zip(message("with"));
    let from = query.get("from").and_then(|from| from.parse().ok()).unwrap_or_default();
    let left_out = told_left_out(&named_settings(&query.get("left_out").unwrap_or_default()));
    let beside = if let Some(sent) = message("sent") {
        Beside::Sent(sent)
    } else if query.get("map").is_some() {
        Beside::Map(MapAsk {
            chat: id.clone(),
            leaf: None,
            around: message("around"),
            at: message("at"),
            find: query.get("find").unwrap_or_default(),
            older: message("older"),
            compare: message("compare"),
            whole: query.get("whole").is_some(),
        })
    } else if query.get("settings").is_some() {
        Beside::Settings { who: query.get("who").unwrap_or_default() }
    } else if query.get("chats").is_some() {
        Beside::Chats
    } else {
        Beside::Nothing
    };
    view! {
        <Suspense>
            {Suspend::new(async move {
                match (open_chat(id, leaf, stay, before, see, pruned).await, both) {
                    (Ok(open), Some((left, right))) => {
                        view! { <ChatCompare chat=open.chat left right from/> }.into_any()
                    }
                    (Ok(open), None) => {
                        let beside = beside.render(&open);
                        view! {
                            {left_out.map(|told| view! { <p class="told small" role="status">{told}</p> })}
                            {shown(open, marked)}
                            {beside}
                        }
                        .into_any()
                    }
                    (Err(error), _) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// The settings that an address names by their numbers, as [`SETTINGS`] has them.
fn named_settings(numbers: &str) -> Vec<&'static str> {
    let numbers = numbers.split(',').filter_map(|number| number.parse::<usize>().ok());
    numbers.filter_map(|number| SETTINGS.get(number).copied()).take(SETTINGS.len()).collect()
}

/// What is open beside the chat.
enum Beside {
    Nothing,
    Sent(MessageId),
    Map(MapAsk),
    Settings { who: String },
    Chats,
}

impl Beside {
    fn render(self, open: &ChatData) -> Option<AnyView> {
        let chat = open.chat.clone();
        match self {
            Self::Nothing => None,
            Self::Sent(message) => Some(view! { <SentDrawer chat=chat.id message/> }.into_any()),
            Self::Map(ask) => {
                let ask = MapAsk { leaf: open.path.leaf.clone(), ..ask };
                Some(view! { <ChatMap ask/> }.into_any())
            }
            Self::Settings { who } => {
                let (models, can_make_pictures) = (open.models.clone(), open.can_make);
                Some(view! { <ChatSettingsDrawer chat models who can_make_pictures/> }.into_any())
            }
            Self::Chats => Some(view! { <ChatListTab chat/> }.into_any()),
        }
    }
}

fn shown(open: ChatData, see: Option<MessageId>) -> impl IntoView {
    let ChatData { chat, path, turns, estimate, known_device, stray, pruned, .. } = open;
    let can_make_pictures = open.can_make;
    let PathPage { next, later, leaf, newer_elsewhere, moved, run, runs, line, .. } = path;
    let home = format!("/chats/{}", chat.id);
    // One that ended well is told by its answer, and asked for again there; one that met a limit says so.
    let run = run.filter(|run| run.status != RunStatus::Done || run.error.is_some());
    // What is being written on another branch is not followed here.
    let going_on: Vec<String> =
        runs.iter().filter(|run| !run.status.is_over()).map(|run| run.id.to_string()).collect();
    // What is said next follows the last answer, also when the page does not know yet that it is there.
    let reply = runs.last().filter(|_| !going_on.is_empty()).map(|run| run.reply_id.to_string());
    // Nor is it far above the end.
    let follows = (!going_on.is_empty() && later.is_none()).then(|| going_on.join(","));
    // An answer that never came is told below the question.
    let last = turns.last().map(|turn| turn.said.message.role);
    let unanswered = last == Some(Role::User) && runs.len() <= 1;
    let earlier = next.map(|before| {
        let end = leaf.as_ref().map(|leaf| format!("leaf={leaf}&")).unwrap_or_default();
        format!("{home}?{end}before={before}")
    });
    let later = later.map(|last| format!("{home}?see={last}#turn-{last}"));
    let at_end = later.is_none();
    let end = leaf.as_ref().map(|leaf| leaf.to_string());
    let names: Vec<String> = chat.members.iter().map(|member| member.name.clone()).collect();
    let name = names.first().cloned().unwrap_or_default();
    let members = chat.members.clone();
    let empty = turns.is_empty();
    // A device that the server does not know may remember by itself where it was.
    let fresh = (!known_device).then_some("");
    let written = |id: &MessageId| turns.iter().any(|turn| turn.said.message.id == *id);
    // Of several, one may have failed while others answered.
    let failed =
        |run: &&Run| at_end && run.status.is_over() && !written(&run.reply_id) && !unanswered;
    let lost: Vec<Run> = runs.iter().filter(failed).cloned().collect();
    let shown_turn = {
        let (chat, leaf) = (chat.id.clone(), leaf.clone());
        move |turn: ChatTurn| {
            let id = turn.said.message.id.clone();
            let own = runs.iter().find(|run| run.reply_id == id).cloned();
            let told_here = |run: &Run| run.reply_id == id || unanswered && run.message_id == id;
            let run = own.or_else(|| run.clone().filter(told_here));
            let name = turn.said.persona_name.clone().unwrap_or_else(|| name.clone());
            let seen = see.as_ref() == Some(&id);
            let unasked = last == Some(Role::User) && leaf.as_ref() == Some(&id) && run.is_none();
            let (chat, leaf) = (chat.clone(), leaf.clone());
            view! { <ChatTurnView chat name turn run leaf seen unasked can_make_pictures/> }
        }
    };
    let groups = beside_each_other(turns, chat.settings.answers);
    let title = chat.title.clone();
    view! {
        <PageTitle text=title/>
        <Head chat=chat.clone() leaf=end.clone()/>
        {(moved && pruned.is_none()).then(|| view! { <p class="told small">"That branch is pruned; this one is shown instead."</p> })}
        {stray.then(|| view! { <p class="told small">"That message is not in this chat; this is where you were instead."</p> })}
        <div id="chat" class="chat" data-chat=chat.id.to_string() data-leaf=end data-reply=reply data-follow=follows data-new=fresh>
            {empty.then(|| view! { <p class="empty faint">"Say something to " {names.join(", ")} " below."</p> })}
            <ol class="turns" id="chat-turns" data-grows>
                {earlier.map(|earlier| view! {
                    <li class="earlier" id=format!("before-{earlier}")><a class="button quiet small" href=earlier.clone() data-earlier>"Earlier messages"</a></li>
                })}
                {groups.into_iter().map(|group| match group.as_slice() {
                    [first, _, ..] => {
                        let id = format!("beside-{}", first.said.message.id);
                        view! { <li class="several" id=id><ol class="turns beside">{group.into_iter().map(&shown_turn).collect_view()}</ol></li> }.into_any()
                    }
                    _ => group.into_iter().map(&shown_turn).collect_view().into_any(),
                }).collect_view()}
                {lost.into_iter().map(|run| view! { <Lost members=members.clone() run/> }).collect_view()}
                {later.map(|later| view! {
                    <li class="later row tight" id="later">
                        <a class="button quiet small" href=later data-noscroll>"Later messages"</a>
                        <a class="button quiet small" href=home>"The newest messages"</a>
                    </li>
                })}
            </ol>
            <ChatLine chat=chat.id.clone() members=members.clone() line/>
            <MovedOn chat=chat.id.clone() members/>
            {newer_elsewhere.map(|newer| view! { <Elsewhere chat=chat.id.clone() newer/> })}
            {pruned.map(|node| view! { <Pruned node/> })}
            {estimate.map(|estimate| {
                let facts = serde_json::to_string(&estimate).unwrap_or_default();
                view! { <p class="faint small estimate" id="estimate" data-estimate=facts>{estimate.told()}</p> }
            })}
        </div>
    }
}

/// Answers that are given at once stand beside each other, and stay there; all else stands alone.
fn beside_each_other(turns: Vec<ChatTurn>, answers: Answering) -> Vec<Vec<ChatTurn>> {
    let is_answer = |turn: &ChatTurn| turn.said.message.role == Role::Assistant;
    let mut groups: Vec<Vec<ChatTurn>> = Vec::new();
    for turn in turns {
        match groups.last_mut() {
            Some(group)
                if answers == Answering::InParallel
                    && is_answer(&turn)
                    && group.last().is_some_and(is_answer) =>
            {
                group.push(turn);
            }
            _ => groups.push(vec![turn]),
        }
    }
    groups
}

/// An answer of one of several that ended before it had words.
#[component]
fn Lost(members: Vec<MemberState>, run: Run) -> impl IntoView {
    let member = members.into_iter().find(|member| member.persona_id == run.persona_id);
    let message = run.reply(Vec::new());
    let turn = ShownTurn {
        id: message.id,
        role: message.role,
        who: member.map(|member| member.name).unwrap_or_default(),
        pieces: Vec::new(),
        at: message.created_at,
        model: message.model,
        stop: message.stop,
        spent: message.spent,
        run: Some(run),
        told: None,
        asks: false,
    };
    view! { <TurnView turn/> }
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
    let (settings, map) = (format!("{home}?settings=1"), format!("{home}?map=1#map-here"));
    let chats = format!("{home}?chats=1");
    let export = format!("/api/chats/{id}/export");
    let path = leaf.map(|leaf| format!("?leaf={leaf}")).unwrap_or_default();
    let markdown = format!("/api/chats/{id}/markdown{path}");
    view! {
        <nav class="crumbs small" aria-label="Where this is"><a href="/chats">"Chats"</a></nav>
        <header class="page-head chat-head">
            <div>
                <h1 class="one-line">{visible_in_prose(title)}</h1>
                <p class="faint small">{names} {mode.label()}</p>
            </div>
            <div class="row tight">
                <a class="button quiet small" href=map data-noscroll><Glyph icon=Icon::History/> "Map"</a>
                <a class="button quiet small" href=chats data-noscroll><Glyph icon=Icon::Talk/> "Other chats"</a>
                <a class="button quiet small" href=settings data-noscroll><Glyph icon=Icon::Settings/> "Settings"</a>
                <details class="popover" id="chat-more">
                    <summary class="button quiet small">"More…"</summary>
                    <div class="popup stack">
                        <a href=export download rel="external">"Export all as JSON"</a>
                        <small class="faint">{format!("Up to {MAX_FILE_MIB} MiB and {MAX_FILE_MESSAGES} messages of it can be imported again.")}</small>
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

/// Says what was just pruned, and takes it back.
#[component]
fn Pruned(node: TreeNode) -> impl IntoView {
    let told = visible_in_prose(format!("Pruned from “{}” on.", node.excerpt));
    view! {
        <form class="told row apart small seen" method="post" action=PruneMessage::url() data-quiet role="status" tabindex="-1">
            <input type="hidden" name="id" value=node.id.to_string()/>
            <input type="hidden" name="back" value="true"/>
            <span>{told} " The map shows it."</span>
            <button class="button quiet small"><Glyph icon=Icon::Undo/> "Undo"</button>
        </form>
    }
}
