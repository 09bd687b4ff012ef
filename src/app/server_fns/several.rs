//! Who speaks in a chat, and what comes next in it.

use leptos::prelude::*;

use crate::domain::{
    error::ApiError,
    id::{ConversationId, NextId, PersonaId},
    version::Revision,
};

/// Says who speaks in a chat, in order.
#[server(prefix = "/fn", endpoint = "set_speakers")]
pub async fn set_speakers(
    /// Which chat.
    id: ConversationId,
    /// The revision that the list was made from.
    revision: Revision,
    /// Who speaks, in order.
    #[server(default)]
    personas: Vec<PersonaId>,
    /// Who speaks after them.
    #[server(default)]
    add: Option<PersonaId>,
) -> Result<Revision, ApiError> {
    use crate::{agent::ChatChanges, state::desk};

    let desk = desk()?;
    let members = personas.into_iter().chain(add).collect();
    let (members, base) = (Some(members), Some(revision));
    let changes = ChatChanges { members, base, ..ChatChanges::default() };
    Ok(desk.agent.change_chat(&desk.scope, &id, changes).await?.revision)
}

/// Takes back what comes next: it waits until the person wants it.
#[server(prefix = "/fn", endpoint = "hold_next")]
pub async fn hold_next(
    /// In which chat.
    chat: ConversationId,
    /// What comes next.
    id: NextId,
) -> Result<NextId, ApiError> {
    use crate::{agent::NextChange, state::desk};

    let desk = desk()?;
    let change = NextChange { content: None, held: Some(true) };
    Ok(desk.agent.change_next(&desk.scope, &chat, &id, change).await?.id)
}

/// Lets what waits go on, in other words if there are some.
#[server(prefix = "/fn", endpoint = "release_next")]
pub async fn release_next(
    /// In which chat.
    chat: ConversationId,
    /// What waits.
    id: NextId,
    /// Other words.
    #[server(default)]
    content: Option<String>,
) -> Result<NextId, ApiError> {
    use crate::{agent::NextChange, state::desk};

    let desk = desk()?;
    let change = NextChange { content, held: Some(false) };
    Ok(desk.agent.change_next(&desk.scope, &chat, &id, change).await?.id)
}

/// Takes something out of the line for good.
#[server(prefix = "/fn", endpoint = "drop_next")]
pub async fn drop_next(
    /// In which chat.
    chat: ConversationId,
    /// What is not wanted.
    id: NextId,
) -> Result<NextId, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    Ok(desk.agent.drop_next(&desk.scope, &chat, &id).await?.id)
}
