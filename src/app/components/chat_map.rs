//! The map of a chat: every message as a dot, every branch as a line, long stretches folded. A dot
//! shows what can be done with its message.
//!
//! What it shows is in the address (`?map`, `around`, `at`, `find`, `older`, `whole`, and `compare` while one
//! looks for the other branch). Without JavaScript it is a drawing that scrolls.

mod drawing;

use std::collections::HashMap;

use drawing::drawn;
use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::location::Url;

use super::{
    chat_settings::Drawer,
    icon::{Glyph, Icon},
    problem::PageProblem,
    when::When,
};
use crate::{
    app::server_fns::{
        chat_tree::{MapData, map_chat},
        chats::{GoToMessage, MarkMessage, PruneMessage},
    },
    domain::{
        id::{ConversationId, MessageId},
        message::Role,
        tree::{FoundInTree, MOMENT, TreeNode},
        visible::visible_in_prose,
    },
};

/// What is wanted of a map.
#[derive(Clone, Debug, Default)]
pub struct MapAsk {
    /// Of which chat.
    pub chat: ConversationId,
    /// Where the path that is shown ends.
    pub leaf: Option<MessageId>,
    /// Around which message it is drawn.
    pub around: Option<MessageId>,
    /// The message that is chosen.
    pub at: Option<MessageId>,
    /// The words that are looked for.
    pub find: String,
    /// Before which message they are looked for.
    pub older: Option<MessageId>,
    /// The branch for which another one is looked for.
    pub compare: Option<MessageId>,
    /// Whether nothing is folded.
    pub whole: bool,
}

impl MapAsk {
    /// Its address.
    fn address(&self) -> String {
        let mut address = format!("/chats/{}?map=1", self.chat);
        let asked = [
            ("around", &self.around),
            ("at", &self.at),
            ("compare", &self.compare),
            ("older", &self.older),
        ];
        for (name, id) in asked {
            if let Some(id) = id {
                address.push_str(&format!("&{name}={id}"));
            }
        }
        if !self.find.is_empty() {
            address.push_str(&format!("&find={}", Url::escape(&self.find)));
        }
        if self.whole {
            address.push_str("&whole=1");
        }
        address
    }

    /// The same map around another message.
    fn around(&self, id: &MessageId) -> String {
        Self { around: Some(id.clone()), at: None, ..self.clone() }.address()
    }

    /// Where a dot leads: to what can be done with its message, or to the comparison with its branch.
    fn choose(&self, id: &MessageId) -> String {
        match &self.compare {
            Some(compare) => format!("/chats/{}?compare={compare}&with={id}", self.chat),
            None => Self { at: Some(id.clone()), ..self.clone() }.address() + "#map-here",
        }
    }

    /// The same for a message that may not be drawn yet.
    fn find(&self, id: &MessageId) -> String {
        Self { around: None, ..self.clone() }.choose(id)
    }
}

/// What the personas are called that said what is on a map.
type Names = HashMap<MessageId, String>;

/// What a person calls who says something.
fn who(node: &TreeNode, names: &Names) -> String {
    match node.role {
        Role::User => "You".to_owned(),
        Role::Assistant => names.get(&node.id).cloned().unwrap_or_default(),
    }
}

/// The map.
#[component]
pub fn ChatMap(
    /// What is wanted of it.
    ask: MapAsk,
) -> impl IntoView {
    let home = format!("/chats/{}", ask.chat);
    view! {
        <Drawer title="Map" home wide=true>
            <Suspense>
                {Suspend::new(async move {
                    let MapAsk { chat, leaf, around, at, find, older, .. } = ask.clone();
                    match map_chat(chat, leaf, around, at, find, older).await {
                        Ok(data) => shown(&ask, data).into_any(),
                        Err(error) => view! { <PageProblem error/> }.into_any(),
                    }
                })}
            </Suspense>
        </Drawer>
    }
}

fn shown(ask: &MapAsk, data: MapData) -> impl IntoView + use<> {
    let MapData { window, found, moments, chosen, names } = data;
    let link = |id: Option<&MessageId>| id.map(|id| ask.around(id));
    let (earlier, later) = (link(window.earlier.as_ref()), link(window.later.as_ref()));
    let cancel = ask.compare.as_ref().map(|_| MapAsk { compare: None, ..ask.clone() }.address());
    let is_chosen = chosen.is_some();
    let chosen = chosen.map(|node| {
        let (who, on_path) = (who(&node, &names), window.on_path.clone());
        view! { <Chosen ask=ask.clone() node who on_path/> }.into_any()
    });
    view! {
        {cancel.map(|cancel| view! {
            <p class="told row apart small">
                <span>"Choose a message of the branch to compare with."</span>
                <a href=cancel class="button quiet small">"Cancel"</a>
            </p>
        })}
        <Find ask=ask.clone() found=found.clone() names=names.clone() chosen/>
        <div class="row apart map-tools">
            <span class="faint small">{told(&window.nodes, is_chosen)}</span>
            <span class="row tight needs-script">
                <button type="button" class="icon" data-zoom="out" aria-label="Smaller" title="Smaller (−)">"−"</button>
                <button type="button" class="icon" data-zoom="in" aria-label="Larger" title="Larger (+)">"+"</button>
            </span>
        </div>
        {earlier.map(|earlier| view! { <p class="more"><a class="button quiet small" href=earlier>"Earlier messages"</a></p> })}
        {drawn(ask, &window, &found, &names)}
        {later.map(|later| view! { <p class="more"><a class="button quiet small" href=later>"Later messages"</a></p> })}
        {marked(ask, &moments)}
    }
}

fn told(nodes: &[TreeNode], is_chosen: bool) -> String {
    let count = match nodes.len() {
        0 => return "Nothing was said yet.".to_owned(),
        1 => "1 message".to_owned(),
        more => format!("{more} messages"),
    };
    if is_chosen { count } else { format!("{count}. Choose one to go there, label it or compare.") }
}

/// Looks for words in all messages of the chat. What can be done with the chosen one is seen above however many
/// are found.
#[component]
fn Find(
    ask: MapAsk,
    found: FoundInTree,
    names: Names,
    #[prop(optional_no_strip)] chosen: Option<AnyView>,
) -> impl IntoView {
    let home = format!("/chats/{}", ask.chat);
    let asked = !ask.find.trim().is_empty();
    let older = ask.older.is_some();
    let count = match (found.nodes.len(), found.next.is_some()) {
        (0, false) if older => "No older message has these words.".to_owned(),
        (0, false) => "No message has these words.".to_owned(),
        (0, true) => "None of the messages so far has these words.".to_owned(),
        (1, false) if older => "1 older message has these words.".to_owned(),
        (1, false) => "1 message has these words.".to_owned(),
        (count, false) if older => format!("{count} older messages have these words."),
        (count, false) => format!("{count} messages have these words."),
        (count, true) => format!("These {count} messages have them, and there may be more."),
    };
    let further = |older: Option<MessageId>| MapAsk { older, ..ask.clone() }.address();
    let next = found.next.clone().map(|next| further(Some(next)));
    let newest = older.then(|| further(None));
    let compare = ask.compare.clone();
    let words = ask.find.clone();
    view! {
        <form method="get" action=home class="search" role="search">
            <Glyph icon=Icon::Search/>
            <input type="hidden" name="map" value="1"/>
            {compare.map(|compare| view! { <input type="hidden" name="compare" value=compare.to_string()/> })}
            <label class="sr" for="search">"Find in all branches"</label>
            <input id="search" type="search" name="find" autocomplete="off" placeholder="Find in all branches" value=words/>
            <button class="button quiet">"Find"</button>
        </form>
        {chosen}
        {asked.then(|| view! {
            <p class="faint small" role="status">{count}</p>
            <ul class="moments found">
                {found.nodes.into_iter().map(|node| {
                    let here = ask.at.as_ref() == Some(&node.id);
                    let who = who(&node, &names);
                    view! {
                        <li>
                            <a href=ask.find(&node.id) aria-current=here.then_some("true")>{node.excerpt}</a>
                            <span class="faint small">" " {who} {node.pruned.then_some(", pruned")}</span>
                        </li>
                    }
                }).collect_view()}
            </ul>
            <p class="row tight">
                {next.map(|next| view! { <a class="button quiet small" href=next data-noscroll>"Look in older messages"</a> })}
                {newest.map(|newest| view! { <a class="button quiet small" href=newest data-noscroll>"Back to the newest"</a> })}
            </p>
        })}
    }
}

/// What can be done with the message that is chosen.
#[component]
fn Chosen(ask: MapAsk, node: TreeNode, who: String, on_path: Vec<MessageId>) -> impl IntoView {
    let id = node.id.to_string();
    let hidden = {
        let id = id.clone();
        move || view! { <input type="hidden" name="id" value=id.clone()/> }
    };
    let beside = ask.leaf.as_ref().filter(|_| !on_path.contains(&node.id));
    let compare = beside
        .filter(|_| !node.pruned)
        .map(|leaf| format!("/chats/{}?compare={leaf}&with={id}", ask.chat));
    let bookmark = if node.bookmarked { "Remove the bookmark" } else { "Bookmark" };
    let pruned = node.pruned;
    view! {
        <section class="card stack tight" aria-label="The chosen message" id="map-chosen">
            <p class="who">
                <strong>{who}</strong> " " <When at=node.created_at/>
                {(!node.label.is_empty()).then(|| view! { <span class="badge">{visible_in_prose(node.label.clone())}</span> })}
                {node.bookmarked.then(|| view! { <span class="badge good">"Bookmarked"</span> })}
                {pruned.then(|| view! { <span class="badge">"Pruned"</span> })}
            </p>
            <p>{node.excerpt}</p>
            <div class="row tight wraps">
                {(!pruned).then(|| view! {
                    <form method="post" action=GoToMessage::url() data-quiet>
                        <input type="hidden" name="chat" value=ask.chat.to_string()/>
                        {hidden()}
                        <input type="hidden" name="show" value="true"/>
                        <button class="button small">"Go there"</button>
                    </form>
                })}
                {compare.map(|compare| view! { <a class="button quiet small" href=compare>"Compare with what is shown"</a> })}
                <form method="post" action=MarkMessage::url() data-quiet>
                    {hidden()}
                    <input type="hidden" name="form[bookmarked]" value=(!node.bookmarked).to_string()/>
                    <button class="button quiet small">{bookmark}</button>
                </form>
                {pruned.then(|| view! { <BringBack id=id.clone()/> })}
            </div>
            <form method="post" action=MarkMessage::url() class="row tight" data-quiet data-told="The label is saved.">
                {hidden()}
                <label class="grow-across">
                    <span class="sr">"What this moment is called"</span>
                    <input name="form[label]" value=node.label maxlength=MOMENT.max_chars autocomplete="off" placeholder="Label"/>
                </label>
                <button class="button quiet small">"Label"</button>
            </form>
        </section>
    }
}

#[component]
fn BringBack(id: String) -> impl IntoView {
    view! {
        <form method="post" action=PruneMessage::url() data-quiet data-told="It is back.">
            <input type="hidden" name="id" value=id/>
            <input type="hidden" name="back" value="true"/>
            <button class="button quiet small">"Bring back"</button>
        </form>
    }
}

/// The moments that a person marked, and the branches that are pruned, wherever they are.
fn marked(ask: &MapAsk, moments: &[TreeNode]) -> impl IntoView + use<> {
    let marked = moments.iter().filter(|node| node.bookmarked || !node.label.is_empty());
    let marked: Vec<_> = marked
        .map(|node| {
            let label =
                if node.label.is_empty() { node.excerpt.clone() } else { node.label.clone() };
            view! { <li><a href=ask.find(&node.id)>{label}</a></li> }.into_any()
        })
        .collect();
    let pruned: Vec<_> = moments
        .iter()
        .filter(|node| node.pruned)
        .map(|node| {
            view! {
                <li class="row apart">
                    <span class="one-line">{node.excerpt.clone()}</span>
                    <BringBack id=node.id.to_string()/>
                </li>
            }
            .into_any()
        })
        .collect();
    let list = |title: &'static str, items: Vec<AnyView>| {
        (!items.is_empty()).then(|| view! { <h3>{title}</h3> <ul class="moments">{items}</ul> })
    };
    view! { {list("Moments", marked)} {list("Pruned", pruned)} }
}
