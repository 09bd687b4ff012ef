//! What a plain form could not save.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    change::{Conflict, Entity},
    error::ApiError,
    id::{ChangeId, PersonaId},
};

/// What could not be saved, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptText {
    /// What was being edited.
    pub entity: Entity,
    /// The persona whose page it is on.
    pub persona: PersonaId,
    /// Why it cannot be saved as it is; `None` when another edit was in its way.
    pub why: Option<ApiError>,
    /// Both texts of every field in which they differ.
    pub texts: Vec<Conflict>,
}

/// What could not be saved, beside what stands now.
#[server(prefix = "/fn", endpoint = "open_conflict")]
pub async fn open_conflict(
    /// The change.
    id: ChangeId,
) -> Result<KeptText, ApiError> {
    use crate::{domain::change::EntityKind, state::desk};

    let desk = desk()?;
    let refused = desk.gate.open_refused(&id).await?;
    let persona = match refused.entity.kind {
        EntityKind::Persona => PersonaId::new(refused.entity.id.as_str()),
        EntityKind::TestInput => {
            desk.read().await?.test_input_owner(&refused.entity.id.as_str().into()).await?
        }
        // No plain form saves them yet, so none was refused.
        EntityKind::Page | EntityKind::Ref | EntityKind::Task => {
            return Err(ApiError::not_found("change"));
        }
    };
    Ok(KeptText { entity: refused.entity, persona, why: refused.why, texts: refused.texts })
}
