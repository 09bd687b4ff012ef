//! A message of a chat, with its siblings and what can be done with it. The server renders it.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    chat_story::StoryWords,
    icon::{Glyph, Icon},
    picture::MessagePictures,
    turn::{Piece, PieceView, ShownTurn, TurnFoot, pieces_id},
    when::When,
    written::written,
};
use crate::{
    app::server_fns::{
        chat_tree::Paragraph,
        chats::{
            ChatTurn, EditMessage, GoToMessage, KeepAsTest, MarkMessage, PruneMessage,
            RegenerateMessage,
        },
    },
    domain::{
        id::{ConversationId, MessageId, PartId},
        message::Role,
        run::Run,
        tree::{MAX_BESIDE, MAX_HIDDEN, MAX_SIBLINGS, MOMENT, PathMessage},
        visible::visible_in_prose,
    },
};

/// The message.
#[component]
pub fn ChatTurnView(
    /// In which chat.
    chat: ConversationId,
    /// What the persona is called.
    name: String,
    /// The message.
    turn: ChatTurn,
    /// The run that writes it, or that it asked for.
    run: Option<Run>,
    /// Where the path that is shown ends.
    #[prop(optional_no_strip)]
    leaf: Option<MessageId>,
    /// Whether it was asked for: it is brought into sight and marked for a moment.
    #[prop(optional)]
    seen: bool,
    /// Whether it ends the path and nobody was asked to answer it.
    #[prop(optional)]
    unasked: bool,
    /// Whether pictures are made here at all.
    can_make_pictures: bool,
) -> impl IntoView {
    let ChatTurn { said, html, paragraphs, pictures, broken } = turn;
    let run = run.or(broken);
    let message = said.message.clone();
    let (id, role) = (message.id.clone(), message.role);
    let mine = role == Role::User;
    let element = format!("turn-{id}");
    let who = if mine { "You".to_owned() } else { name };
    let part = PartId::from(format!("{id}"));
    let live = said.generating.then_some("");
    let (label, bookmarked) = (visible_in_prose(said.label.clone()), said.bookmarked);
    let shown = ShownTurn {
        id: id.clone(),
        role,
        who: who.clone(),
        pieces: Vec::new(),
        at: message.created_at,
        model: message.model,
        stop: message.stop,
        spent: message.spent,
        run,
        told: None,
        asks: false,
    };
    let pictured = (!mine && !said.generating).then(|| {
        view! { <MessagePictures message=id.clone() pictures can_make=can_make_pictures/> }
    });
    let tools =
        (!said.generating || said.siblings > 1).then(|| view! { <Tools chat said leaf unasked/> });
    view! {
        <li class="turn chat-turn" class:you=mine class:seen=seen id=element data-live=live tabindex="-1">
            <p class="who">
                <strong>{who}</strong> " " <When at=message.created_at/>
                {(!label.is_empty()).then(|| view! { <span class="badge">{label}</span> })}
                {bookmarked.then(|| view! { <span class="badge good">"Bookmarked"</span> })}
            </p>
            <div class="pieces" id=pieces_id(&id)>
                {words(&id, part, html, paragraphs)}
            </div>
            {pictured}
            <TurnFoot turn=shown/>
            {tools}
        </li>
    }
}

/// What is said: in a story, paragraph by paragraph.
fn words(id: &MessageId, part: PartId, html: String, paragraphs: Vec<Paragraph>) -> AnyView {
    if !paragraphs.is_empty() {
        return view! { <StoryWords id=id.clone() paragraphs/> }.into_any();
    }
    (!html.is_empty()).then(|| view! { <PieceView piece=Piece::Words { part, html }/> }).into_any()
}

/// How many messages follow on branches that are not shown.
fn told_of_others(said: &PathMessage) -> Option<String> {
    let count = match said.hidden {
        0 => return None,
        1 => "1 message".to_owned(),
        MAX_HIDDEN.. => format!("{MAX_HIDDEN} or more messages"),
        // Itself is none of those beside it.
        more if said.siblings - 1 > MAX_BESIDE => format!("{more} or more messages"),
        more => format!("{more} messages"),
    };
    let place = if said.siblings > 2 { "other branches" } else { "the other branch" };
    Some(format!("{count} on {place}"))
}

/// The arrows between siblings, and what can be done. While a message is being written, one can only go to
/// another: it goes on meanwhile.
#[component]
fn Tools(
    chat: ConversationId,
    said: PathMessage,
    leaf: Option<MessageId>,
    unasked: bool,
) -> impl IntoView {
    let id = said.message.id.clone();
    let hidden = told_of_others(&said);
    let among = (said.siblings > 1).then(|| {
        let counted = |count: i64| match count {
            MAX_SIBLINGS.. => format!("{}+", MAX_SIBLINGS - 1),
            count => count.to_string(),
        };
        let place = format!("{} / {}", counted(said.position), counted(said.siblings));
        view! {
            <span class="siblings row tight">
                <Arrow chat=chat.clone() to=said.previous.clone() label="The one before" sign="‹" key="h"/>
                <span class="place">{place}</span>
                <Arrow chat=chat.clone() to=said.following.clone() label="The one after" sign="›" key="l"/>
                {hidden.map(|hidden| view! { <span class="faint">{hidden}</span> })}
            </span>
        }
    });
    let again = match said.message.role {
        Role::Assistant => Some("Again"),
        Role::User => unasked.then_some("Answer"),
    };
    let rest = (!said.generating).then(|| {
        view! {
            {again.map(|again| view! {
                <form method="post" action=RegenerateMessage::url() data-quiet>
                    <input type="hidden" name="id" value=id.to_string()/>
                    <button class="button quiet small" data-key="r"><Glyph icon=Icon::Undo/> {again}</button>
                </form>
            })}
            <Edit said=said.clone()/>
            <More chat said leaf/>
        }
    });
    view! { <div class="row tight small chat-tools">{among} {rest}</div> }
}

/// Goes to a sibling.
#[component]
fn Arrow(
    chat: ConversationId,
    to: Option<MessageId>,
    label: &'static str,
    sign: &'static str,
    key: &'static str,
) -> impl IntoView {
    let disabled = to.is_none();
    let to = to.map(|to| to.to_string()).unwrap_or_default();
    view! {
        <form method="post" action=GoToMessage::url() data-quiet>
            <input type="hidden" name="chat" value=chat.to_string()/>
            <input type="hidden" name="id" value=to/>
            <button class="icon tiny" aria-label=label title=label disabled=disabled data-key=key>{sign}</button>
        </form>
    }
}

/// Puts the message in other words.
#[component]
fn Edit(said: PathMessage) -> impl IntoView {
    let id = said.message.id.to_string();
    let rows = said.content.lines().count().clamp(3, 24);
    let answered = said.message.role == Role::User;
    let (element, field) = (format!("edit-{id}"), format!("words-{id}"));
    view! {
        <details class="edit" id=element>
            <summary class="button quiet small" data-key="e"><span class="when-shut">"Edit…"</span><span class="when-open">"Cancel"</span></summary>
            <form method="post" action=EditMessage::url() class="stack" data-quiet data-told="Kept beside the one before.">
                <input type="hidden" name="id" value=id/>
                <label class="sr" for=field.clone()>"Other words"</label>
                <textarea id=field name="content" class="grow" rows=rows required inner_html=written(&said.content)></textarea>
                <div class="row tight">
                    {answered.then(|| view! { <button class="button small" name="answer" value="true">"Save and answer"</button> })}
                    <button class="button quiet small">{if answered { "Save only" } else { "Save" }}</button>
                </div>
            </form>
        </details>
    }
}

/// What else can be done with a moment.
#[component]
fn More(chat: ConversationId, said: PathMessage, leaf: Option<MessageId>) -> impl IntoView {
    let id = said.message.id.to_string();
    // Nothing was sent for what came from a file, or is in a person's words.
    let by_model = said.message.run_id.is_some() && !said.message.model.is_empty();
    let sent = by_model.then(|| format!("/chats/{chat}?sent={id}"));
    let hidden = {
        let id = id.clone();
        move || view! { <input type="hidden" name="id" value=id.clone()/> }
    };
    let bookmark = if said.bookmarked { "Remove the bookmark" } else { "Bookmark" };
    let map = format!("/chats/{chat}?map=1&at={id}#map-here");
    // Siblings are compared at once; any other branch is chosen on the map.
    let end = leaf.map_or_else(|| id.clone(), |leaf| leaf.to_string());
    let compare = |other: &MessageId| format!("/chats/{chat}?compare={end}&with={other}");
    let with_before = said.previous.as_ref().map(compare);
    let with_after = said.following.as_ref().map(compare);
    let with_any = format!("/chats/{chat}?map=1&compare={end}#map-here");
    view! {
        <details class="popover" id=format!("more-{id}")>
            <summary class="button quiet small">"More…"</summary>
            <div class="popup stack">
                {sent.map(|sent| view! { <a href=sent data-noscroll>"What was sent"</a> })}
                <a href=map data-noscroll>"Show on the map"</a>
                {with_before.map(|with| view! { <a href=with>"Compare with the one before"</a> })}
                {with_after.map(|with| view! { <a href=with>"Compare with the one after"</a> })}
                <a href=with_any data-noscroll>"Compare with a branch…"</a>
                <form method="post" action=KeepAsTest::url() data-quiet data-told="It is a test input of the persona now.">
                    {hidden()}
                    <button class="button quiet small" data-key="t">"Make it a test input"</button>
                </form>
                <form method="post" action=MarkMessage::url() data-quiet>
                    {hidden()}
                    <input type="hidden" name="form[bookmarked]" value=(!said.bookmarked).to_string()/>
                    <button class="button quiet small">{bookmark}</button>
                </form>
                <form method="post" action=MarkMessage::url() class="row tight" data-quiet data-told="The label is saved.">
                    {hidden()}
                    <label>
                        <span class="sr">"What this moment is called"</span>
                        <input name="form[label]" value=said.label maxlength=MOMENT.max_chars autocomplete="off" placeholder="Label"/>
                    </label>
                    <button class="button quiet small">"Label"</button>
                </form>
                <form method="post" action=PruneMessage::url() data-quiet>
                    {hidden()}
                    <button class="button quiet small"><Glyph icon=Icon::Bin/> "Prune from here"</button>
                </form>
            </div>
        </details>
    }
}
