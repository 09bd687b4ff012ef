//! Sessions of the terminal, as their pages show them.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    error::ApiError,
    id::{ConversationId, MessageId, PartId},
    list::Page,
    message::Message,
    run::Run,
    terminal::TerminalSession,
};

/// All that the page of a session shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TerminalData {
    /// The session.
    pub session: TerminalSession,
    /// The messages, with their words rendered.
    pub turns: Vec<(Message, Vec<(PartId, String)>)>,
    /// The last message before them.
    pub earlier: Option<MessageId>,
    /// The run that was last begun.
    pub run: Option<Run>,
}

/// The sessions, the last written in first, each with the words it was begun with where nobody named it.
#[server(prefix = "/fn", endpoint = "list_terminals")]
pub async fn list_terminals(
    /// Whether those that were deleted are shown.
    #[server(default)]
    deleted: bool,
    /// Where to go on.
    #[server(default)]
    after: Option<String>,
) -> Result<Page<(TerminalSession, String)>, ApiError> {
    use crate::{
        domain::{list::PAGE_SIZE, tree::excerpt, visible::show_in},
        state::desk,
        store::Kept,
    };

    let desk = desk()?;
    let kept = if deleted { Kept::Deleted } else { Kept::InUse };
    let Page { items, next } =
        desk.agent.terminals(&desk.scope, kept, after.as_deref(), PAGE_SIZE).await?;
    let mut link = desk.read().await?;
    let mut named = Vec::with_capacity(items.len());
    for mut session in items {
        let first = match session.description.trim() {
            "" => link.first_message(&session.id).await?,
            _ => None,
        };
        let mut opening = first.map(|message| excerpt(&message.text())).unwrap_or_default();
        show_in([&mut session.description, &mut opening]);
        named.push((session, opening));
    }
    Ok(Page { items: named, next })
}

/// A session, and the last that was said in it.
#[server(prefix = "/fn", endpoint = "open_terminal")]
pub async fn open_terminal(
    /// Which one.
    id: ConversationId,
    /// Only what was said up to this message.
    #[server(default)]
    until: Option<MessageId>,
) -> Result<TerminalData, ApiError> {
    use crate::{
        domain::{list::PAGE_SIZE, message::PartBody},
        markdown,
        state::desk,
    };

    let desk = desk()?;
    let session = desk.agent.terminal(&desk.scope, &id).await?;
    let talk = desk.agent.terminal_talk(&desk.scope, &id, until.as_ref(), PAGE_SIZE).await?;
    let rendered = |message: Message| {
        let words = message.parts.iter().filter_map(|part| match &part.body {
            PartBody::Text(text) | PartBody::Reasoning(text) if !text.trim().is_empty() => {
                Some((part.id.clone(), markdown::to_html(text)))
            }
            PartBody::Text(_)
            | PartBody::Reasoning(_)
            | PartBody::ToolCall(_)
            | PartBody::ToolResult(_) => None,
        });
        let html = words.collect();
        (message, html)
    };
    let turns = talk.messages.into_iter().map(rendered).collect();
    Ok(TerminalData { session, turns, earlier: talk.earlier, run: talk.run })
}

/// Moves a session into the bin, or takes it out.
#[server(prefix = "/fn", endpoint = "delete_terminal")]
pub async fn delete_terminal(
    /// Which one.
    id: ConversationId,
    /// Whether it is brought back.
    #[server(default)]
    back: bool,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    if back {
        return desk.agent.restore_terminal(&desk.scope, &id).await.map(drop);
    }
    desk.agent.delete_terminal(&desk.scope, &id).await?;
    leptos_axum::redirect("/terminal");
    Ok(())
}

/// Says what a session is called.
#[server(prefix = "/fn", endpoint = "describe_terminal")]
pub async fn describe_terminal(
    /// Which one.
    id: ConversationId,
    /// What it is called.
    description: String,
) -> Result<(), ApiError> {
    use crate::{domain::terminal::TerminalChanges, state::desk};

    let desk = desk()?;
    let description = Some(description.trim().to_owned());
    let changes = TerminalChanges { description, ..TerminalChanges::default() };
    desk.agent.change_terminal(&desk.scope, &id, changes).await.map(drop)
}
