//! The audit: who changed what, when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    actor::ActorKind,
    change::{Entity, EntityKind, Op},
    id::{AuditId, ChangeId, PersonaId, RunId, UserId},
    timestamp::Timestamp,
    version::Revision,
};

/// One applied change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// The line.
    pub id: AuditId,
    /// The change.
    pub change_id: ChangeId,
    /// What it was about.
    #[serde(flatten)]
    pub entity: Entity,
    /// What it did.
    pub op: Op,
    /// One line for people.
    pub summary: String,
    /// What kind of actor did it.
    pub actor_kind: ActorKind,
    /// The person behind it.
    pub user_id: Option<UserId>,
    /// The persona that spoke.
    pub persona_id: Option<PersonaId>,
    /// The run in which it happened.
    pub run_id: Option<RunId>,
    /// The revision before; `null` when there was none.
    pub from_revision: Option<Revision>,
    /// The revision after; `null` when there is none.
    pub to_revision: Option<Revision>,
    /// When.
    pub created_at: Timestamp,
}

/// Something that lies in the bin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Binned {
    /// What it is.
    pub entity_type: EntityKind,
    /// Which one.
    pub entity_id: String,
    /// Its name, or its first words.
    pub title: String,
    /// The name of the persona it belongs to, for a test input or a chat.
    pub of: Option<String>,
    /// When it was deleted.
    pub deleted_at: Timestamp,
}
