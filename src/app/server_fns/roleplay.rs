//! What roleplay knows of a persona.

use leptos::prelude::*;

use crate::domain::{
    change::Outcome, error::ApiError, id::PersonaId, persona::RoleplayData, version::Revision,
};

/// Writes what roleplay knows of a persona, as a version. Without words it is drawn anew for the next
/// chat.
#[server(prefix = "/fn", endpoint = "save_roleplay")]
pub async fn save_roleplay(
    /// Which persona.
    id: PersonaId,
    /// The revision that the form was filled from.
    revision: Revision,
    /// How it looks.
    #[server(default)]
    appearance: String,
    /// Who it is.
    #[server(default)]
    summary: String,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::{
            change::{Change, Op},
            field::unix_lines,
        },
        state::{desk, submit_or_keep},
    };

    let desk = desk()?;
    let data = RoleplayData { appearance: unix_lines(&appearance), summary: unix_lines(&summary) };
    let said = !data.appearance.trim().is_empty() || !data.summary.trim().is_empty();
    let value = serde_json::json!(said.then_some(data));
    let change = Change::new(&id, Op::Update).based_on(revision).set("roleplayData", value);
    submit_or_keep(&desk, change).await
}

/// Draws from a persona what roleplay needs to know, unless that is known.
#[server(prefix = "/fn", endpoint = "draw_roleplay")]
pub async fn draw_roleplay(
    /// Which persona.
    id: PersonaId,
) -> Result<RoleplayData, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.agent.draw_roleplay_data(&desk.scope, &id).await
}
