//! Conflicts that were kept because a plain form could not wait.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    change::{Conflict, Entity},
    error::ApiError,
    id::{ChangeId, PersonaId},
};

/// A kept conflict, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptConflict {
    /// What was being edited.
    pub entity: Entity,
    /// The persona whose page it is on.
    pub persona: PersonaId,
    /// The texts that could not be joined.
    pub texts: Vec<Conflict>,
}

/// A kept conflict against what stands now.
#[server(prefix = "/fn", endpoint = "open_conflict")]
pub async fn open_conflict(
    /// The change.
    id: ChangeId,
) -> Result<KeptConflict, ApiError> {
    use crate::{domain::change::EntityKind, state::desk};

    let desk = desk()?;
    let (entity, texts) = desk.gate.open_conflict(&id).await?;
    let persona = match entity.kind {
        EntityKind::Persona => PersonaId::new(entity.id.as_str()),
        EntityKind::TestInput => {
            let mut link = desk.read().await?;
            link.test_input_owner(&entity.id.as_str().into()).await?
        }
    };
    Ok(KeptConflict { entity, persona, texts })
}
