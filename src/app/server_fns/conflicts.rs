//! What a plain form could not save.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    change::{Conflict, Entity},
    error::ApiError,
    id::ChangeId,
};

/// What could not be saved, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptText {
    /// What was being edited.
    pub entity: Entity,
    /// Whether it is only to be made.
    pub is_new: bool,
    /// The page that it is on.
    pub path: String,
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
    use crate::{changes::Refused, domain::change::Op, state::desk};

    let desk = desk()?;
    let Refused { entity, op, why, texts } = desk.gate.open_refused(&id).await?;
    let is_new = op == Op::Create;
    let path = match entity.path() {
        Some(_) if is_new => format!("/knowledge?kind={}", entity.kind.word()),
        Some(path) => path,
        None => {
            let owner = desk.read().await?.test_input_owner(&entity.id.as_str().into()).await?;
            format!("/personas/{owner}")
        }
    };
    Ok(KeptText { entity, is_new, path, why, texts })
}
