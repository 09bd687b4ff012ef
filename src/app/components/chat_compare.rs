//! Two branches of a chat beside each other. What it shows is in the address (`?compare`, `with`,
//! `from`). The server renders it. What is said here follows the first of them, and the chat shows it.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    icon::{Glyph, Icon},
    page_title::PageTitle,
    problem::PageProblem,
    versions::Diff,
};
use crate::{
    app::server_fns::{
        chat_tree::{Compared, ComparedTurn, Side, compare_branches},
        chats::GoToMessage,
    },
    domain::{
        chat::Chat,
        compare::Branch,
        id::{ConversationId, MessageId},
        message::Role,
        visible::visible_in_prose,
    },
};

/// The comparison.
#[component]
pub fn ChatCompare(
    /// In which chat.
    chat: Chat,
    /// A message of the first branch.
    left: MessageId,
    /// A message of the other one.
    right: MessageId,
    /// How many turns are left out at the beginning.
    from: usize,
) -> impl IntoView {
    let home = format!("/chats/{}", chat.id);
    let title = format!("Two branches of {}", chat.title);
    view! {
        <PageTitle text=title/>
        <nav class="crumbs small" aria-label="Where this is">
            <a href="/chats">"Chats"</a>
            <a href=home class="one-line">{visible_in_prose(chat.title.clone())}</a>
        </nav>
        <header class="page-head"><h1>"Two branches"</h1></header>
        <Suspense>
            {Suspend::new(async move {
                match compare_branches(chat.id.clone(), left, right, from).await {
                    Ok(compared) => shown(chat, compared).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(chat: Chat, compared: Compared) -> impl IntoView {
    let Compared { left, right, common, shared, turns, from, next } = compared;
    let address = {
        let (home, one, other) = (format!("/chats/{}", chat.id), &left.leaf, &right.leaf);
        format!("{home}?compare={one}&with={other}")
    };
    let same = (left.length, right.length) == (0, 0);
    let end = left.leaf.to_string();
    let told = match (left.length, right.length) {
        (0, 0) => Some("Both are the same branch.".to_owned()),
        (0, more) => Some(format!("B goes on where A ends, with {}.", messages(more))),
        (more, 0) => Some(format!("A goes on where B ends, with {}.", messages(more))),
        _ => None,
    };
    let earlier =
        (from > 0).then(|| format!("{address}&from={}", from.saturating_sub(turns.len().max(1))));
    let later = next.map(|next| format!("{address}&from={next}"));
    let swapped = format!("/chats/{}?compare={}&with={}", chat.id, right.leaf, left.leaf);
    let marked = turns.iter().any(|turn| {
        let sides = turn.left.iter().chain(&turn.right);
        sides.into_iter().any(|side| !side.segments.is_empty())
    });
    view! {
        // It names no chat: nothing of a chat that is shown is kept in it, nor is this place remembered.
        <div id="chat" data-leaf=end hidden></div>
        {shared_view(common, shared)}
        {told.map(|told| view! { <p class="told small">{told}</p> })}
        <div class="beside beside-head">
            <BranchHead chat=chat.id.clone() branch=left label="A"/>
            <BranchHead chat=chat.id.clone() branch=right label="B"/>
        </div>
        {(!same).then(|| view! {
            <p class="beside-told row apart small">
                <span class="faint">
                    "What you say below goes on from A."
                    {marked.then_some(" Words that differ are marked in the text as it was written, with its asterisks and signs.")}
                </span>
                <a href=swapped>"Change sides"</a>
            </p>
        })}
        {earlier.map(|earlier| view! { <p class="more"><a class="button quiet small" href=earlier>"Earlier turns"</a></p> })}
        <ol class="beside-turns">
            {turns.into_iter().map(|turn| view! { <Pair turn/> }).collect_view()}
        </ol>
        {later.map(|later| view! { <p class="more"><a class="button quiet" href=later>"Later turns"</a></p> })}
    }
}

fn messages(count: usize) -> String {
    match count {
        1 => "1 message".to_owned(),
        more => format!("{more} messages"),
    }
}

/// What both branches begin with, folded.
fn shared_view(common: usize, shared: Vec<Side>) -> impl IntoView {
    let told = match common {
        0 => "They have nothing in common.".to_owned(),
        common => format!("{} in common", messages(common)),
    };
    let left_out = common.saturating_sub(shared.len());
    let empty = shared.is_empty();
    view! {
        {empty.then(|| view! { <p class="small faint">{told.clone()}</p> })}
        {(!empty).then(|| view! {
            <details class="card details" id="in-common">
                <summary>{told}</summary>
                {(left_out > 0).then(|| view! { <p class="cut small">{format!("— {} before these —", messages(left_out))}</p> })}
                <ol class="beside-turns">
                    {shared.into_iter().map(|side| view! { <li>{side_view(side, "")}</li> }).collect_view()}
                </ol>
            </details>
        })}
    }
}

/// A branch's letter, its length, and the way on from it.
#[component]
fn BranchHead(chat: ConversationId, branch: Branch, label: &'static str) -> impl IntoView {
    let told = format!("{} of its own", messages(branch.length));
    let so_far =
        branch.generating.then(|| view! { <span class="badge">"Still being written"</span> });
    let go = format!("Go on from {label}");
    view! {
        <div class="row apart">
            <span><strong>{label}</strong> <span class="faint small">" · " {told}</span> {so_far}</span>
            <form method="post" action=GoToMessage::url() data-quiet>
                <input type="hidden" name="chat" value=chat.to_string()/>
                <input type="hidden" name="id" value=branch.leaf.to_string()/>
                <button class="button quiet small" aria-label=go><Glyph icon=Icon::Run/> "Go on from this one"</button>
            </form>
        </div>
    }
}

/// A turn of both branches.
#[component]
fn Pair(turn: ComparedTurn) -> impl IntoView {
    let ComparedTurn { left, right, same } = turn;
    match (left, right) {
        (Some(both), Some(_)) if same => {
            view! { <li class="beside same">{side_view(both, "A and B")}</li> }.into_any()
        }
        (left, right) => {
            let cell = |side: Option<Side>, label: &'static str| match side {
                Some(side) => side_view(side, label).into_any(),
                None => view! { <div class="branch ended" aria-hidden="true"></div> }.into_any(),
            };
            view! { <li class="beside">{cell(left, "A")} {cell(right, "B")}</li> }.into_any()
        }
    }
}

fn side_view(side: Side, label: &'static str) -> impl IntoView {
    let who = match side.role {
        Role::User => "You".to_owned(),
        Role::Assistant => side.name,
    };
    let words = if side.segments.is_empty() {
        view! { <div class="prose" inner_html=side.html></div> }.into_any()
    } else {
        view! { <Diff segments=side.segments/> }.into_any()
    };
    view! {
        <div class="branch" class:you=side.role == Role::User>
            <p class="who">
                <strong>{who}</strong>
                {(!label.is_empty()).then(|| view! { <span class="badge">{label}</span> })}
            </p>
            {words}
        </div>
    }
}
