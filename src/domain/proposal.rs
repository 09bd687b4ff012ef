//! A draft that somebody made for a person to decide on, and the decision.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    actor::ActorKind,
    change::{ChangeState, Conflict, Entity, EntityKind, Fields, Op},
    diff::Segment,
    id::{ChangeId, ConversationId, PersonaId, RunId, UserId},
    timestamp::Timestamp,
    version::Revision,
};

/// How long a draft waits for a decision.
pub const LIFETIME_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// A draft beside what stands now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    /// The change that is proposed.
    pub id: ChangeId,
    /// Where it stands.
    pub state: ChangeState,
    /// Whether it was accepted, but not all of it.
    #[serde(default)]
    pub in_part: bool,
    /// What it is about.
    #[serde(flatten)]
    pub entity: Entity,
    /// What that is called.
    pub title: String,
    /// Whether that lies in the bin now, by itself or with its persona: nothing can be changed about it.
    #[serde(default)]
    pub in_bin: bool,
    /// The persona it belongs to, for a test input.
    pub persona_id: Option<PersonaId>,
    /// What that persona is called.
    pub of: Option<String>,
    /// What it does.
    pub op: Op,
    /// One line for people.
    pub summary: String,
    /// Why, in the author's words.
    pub reason: String,
    /// What would differ, or what differs since it was applied.
    pub diff: Vec<ProposedField>,
    /// Both texts of every field in which it no longer fits.
    pub conflicts: Vec<Conflict>,
    /// What `diff` is compared with; a decision about single changes names it.
    pub revision: Option<Revision>,
    /// Who made it.
    pub proposed_by: Proposer,
    /// What its author had read before that nobody here wrote.
    pub untrusted: Vec<Source>,
    /// How much more of that there was than is named.
    pub untrusted_more: usize,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is too old to be decided on.
    pub expires_at: Option<Timestamp>,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// Who decided.
    pub decided_by: Option<UserId>,
    /// What they said about it.
    pub note: String,
    /// Whether it was applied and taken back again.
    pub undone: bool,
}

impl Proposal {
    /// Whether it can be decided on.
    pub fn is_open(&self) -> bool {
        matches!(self.state, ChangeState::Pending | ChangeState::Conflict)
    }

    /// The page on which the thing is edited.
    pub fn path(&self) -> Option<String> {
        let not_yet = self.op == Op::Create && self.state != ChangeState::Applied;
        match (self.entity.kind, &self.persona_id) {
            (EntityKind::TestInput, Some(persona)) => Some(format!("/personas/{persona}")),
            _ if not_yet => None,
            _ => self.entity.path(),
        }
    }

    /// How many changes can be accepted one by one.
    pub fn choices(&self) -> usize {
        self.diff.iter().map(|field| field.choices()).sum()
    }
}

/// A field as a draft would write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposedField {
    /// The field, as JSON names it.
    pub field: String,
    /// The field, as a person names it.
    pub label: String,
    /// The whole text as it would stand.
    pub after: String,
    /// What differs, word by word. Pieces with the same `hunk` are accepted together.
    pub segments: Vec<Segment>,
}

impl ProposedField {
    /// How many changes it consists of.
    pub fn choices(&self) -> usize {
        self.segments.iter().filter_map(|segment| segment.hunk).max().map_or(0, |last| last + 1)
    }
}

/// Who made a draft, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proposer {
    /// What kind of actor.
    pub kind: ActorKind,
    /// The persona that spoke.
    pub persona_id: Option<PersonaId>,
    /// What it is called.
    pub name: String,
    /// The run in which it spoke.
    pub run_id: Option<RunId>,
    /// The conversation in which that run went on.
    pub conversation_id: Option<ConversationId>,
}

/// Something that was read and that nobody here wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// What it was.
    #[serde(flatten)]
    pub entity: Entity,
    /// What it is called.
    pub title: String,
    /// The beginning of what was read.
    pub passage: String,
}

/// The most sources that a draft names.
const MAX_SOURCES: usize = 20;

/// What was read that nobody here wrote: named as far as that is bearable, and counted beyond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    /// Those that are named.
    pub named: Vec<Source>,
    /// How many more there are.
    pub more: usize,
}

impl Sources {
    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.more == 0
    }
}

impl FromIterator<Source> for Sources {
    /// Names the first ones.
    fn from_iter<I: IntoIterator<Item = Source>>(all: I) -> Self {
        let mut all = all.into_iter();
        let named = all.by_ref().take(MAX_SOURCES).collect();
        Self { named, more: all.count() }
    }
}

/// How a person accepts a draft: whole, in part, or in their own words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Approval {
    /// The revision that the person saw. Needed with `hunks` and `patch`.
    pub revision: Option<Revision>,
    /// The changes to accept, by field, as the draft numbers them. A field that is not named is left
    /// as it is. Without this, everything is accepted.
    pub hunks: Option<BTreeMap<String, Vec<usize>>>,
    /// Fields in the person's own words, instead of the draft's.
    pub patch: Fields,
}

impl Approval {
    /// Whether the draft is taken as it is.
    pub fn is_whole(&self) -> bool {
        self.hunks.is_none() && self.patch.is_empty()
    }
}
