//! The tree of a chat, as its map and its comparisons show it, and single paragraphs of what was told.

use std::collections::HashMap;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    compare::Branch,
    diff::Segment,
    error::ApiError,
    id::{ConversationId, MessageId},
    message::Role,
    tree::{FoundInTree, MapWindow, TreeNode},
};

/// All that a map shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapData {
    /// The messages that are drawn.
    pub window: MapWindow,
    /// What was looked for and found, anywhere in the chat.
    pub found: FoundInTree,
    /// What a person marked or hid, anywhere in the chat.
    pub moments: Vec<TreeNode>,
    /// The message that is chosen.
    pub chosen: Option<TreeNode>,
    /// What the personas are called that said what is drawn and what was found.
    pub names: HashMap<MessageId, String>,
}

/// A paragraph of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paragraph {
    /// As it was written.
    pub text: String,
    /// Rendered.
    pub html: String,
}

/// A message on one of two branches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// The message.
    pub id: MessageId,
    /// Who says it.
    pub role: Role,
    /// What the persona is called that says it; empty for a person.
    pub name: String,
    /// Its words, rendered.
    pub html: String,
    /// Its words with what only this side says marked; empty where the two are not compared.
    pub segments: Vec<Segment>,
}

/// A turn of two branches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedTurn {
    /// On the first branch.
    pub left: Option<Side>,
    /// On the other one.
    pub right: Option<Side>,
    /// Whether the same one says the same on both.
    pub same: bool,
}

/// Two branches beside each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// The first one.
    pub left: Branch,
    /// The other one.
    pub right: Branch,
    /// How many messages both begin with.
    pub common: usize,
    /// The last of them.
    pub shared: Vec<Side>,
    /// What follows, turn by turn.
    pub turns: Vec<ComparedTurn>,
    /// How many turns stand before these.
    pub from: usize,
    /// Where to go on.
    pub next: Option<usize>,
}

/// The map of a chat around a message, or around the end of the path that is shown.
#[server(prefix = "/fn", endpoint = "map_chat")]
pub async fn map_chat(
    /// Which chat.
    id: ConversationId,
    /// Where the path that is shown ends.
    #[server(default)]
    leaf: Option<MessageId>,
    /// Around which message.
    #[server(default)]
    around: Option<MessageId>,
    /// The message that is chosen.
    #[server(default)]
    at: Option<MessageId>,
    /// The words that are looked for.
    #[server(default)]
    find: String,
    /// Where to go on looking: before this message.
    #[server(default)]
    older: Option<MessageId>,
) -> Result<MapData, ApiError> {
    use crate::{domain::visible::show_in, state::desk};

    let desk = desk()?;
    let (agent, scope) = (&desk.agent, &desk.scope);
    let around = around.or_else(|| at.clone());
    let mut window = agent.map_window(scope, &id, around.as_ref(), leaf.as_ref()).await?;
    let mut found = agent.find_in_chat(scope, &id, &find, older.as_ref()).await?;
    let mut moments = agent.moments(scope, &id).await?;
    let mut names =
        agent.names_in_chat(scope, &id, window.nodes.iter().chain(&found.nodes)).await?;
    // What a chosen message is called is edited there, too.
    let mut chosen = at.and_then(|at| window.nodes.iter().find(|node| node.id == at).cloned());
    show_in(chosen.iter_mut().map(|node| &mut node.excerpt));
    let nodes = window.nodes.iter_mut().chain(&mut found.nodes).chain(&mut moments);
    show_in(nodes.flat_map(|node| [&mut node.label, &mut node.excerpt]));
    show_in(names.values_mut());
    Ok(MapData { window, found, moments, chosen, names })
}

/// Two branches of a chat beside each other.
#[server(prefix = "/fn", endpoint = "compare_branches")]
pub async fn compare_branches(
    /// Which chat.
    id: ConversationId,
    /// A message of the first branch.
    left: MessageId,
    /// A message of the other one.
    right: MessageId,
    /// How many turns are left out at the beginning.
    #[server(default)]
    from: usize,
) -> Result<Compared, ApiError> {
    use crate::state::{compared, desk};

    let desk = desk()?;
    Ok(compared(desk.agent.compare_branches(&desk.scope, &id, &left, &right, from).await?))
}

/// Puts one paragraph of a message in other words: the whole stands beside the message then.
#[server(prefix = "/fn", endpoint = "edit_paragraph")]
pub async fn edit_paragraph(
    /// The message.
    id: MessageId,
    /// Which paragraph, counted from 0.
    number: usize,
    /// The other words; without any, it is left out.
    #[server(default)]
    content: String,
) -> Result<MessageId, ApiError> {
    use crate::{
        agent::ChatEdit,
        domain::field::unix_lines,
        state::{desk, device},
    };

    let desk = desk()?;
    let edit = ChatEdit { content: unix_lines(&content), answer: false, device: Some(device()) };
    let edited = desk.agent.edit_paragraph(&desk.scope, &id, number, edit).await?;
    let chat = desk.read().await?.conversation_of(&edited).await?;
    leptos_axum::redirect(&format!("/chats/{chat}"));
    Ok(edited)
}
