//! What open pages of a Space are told as it happens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    change::{ChangeState, Entity},
    id::{ChangeId, ConversationId, PersonaId, PictureId, RunId},
    message::ConversationKind,
    run::{Run, RunStatus},
    version::Revision,
};

/// What a piece of news is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Something may have been missed: look again at everything.
    #[default]
    Missed,
    /// A change was applied, proposed or decided on.
    Change,
    /// A run began or ended.
    Run,
    /// What is said in a chat changed otherwise: a message was edited, labelled or pruned.
    Chat,
    /// A picture was asked for, is being made, is there, or could not be made.
    Picture,
}

/// One piece of news. Only what belongs to the topic is there: pages read it without knowing all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct News {
    /// What it is about.
    pub topic: Topic,
    /// The change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_id: Option<ChangeId>,
    /// Where the change stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ChangeState>,
    /// What it is about, as JSON names kinds.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub entity_type: String,
    /// Which one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub entity_id: String,
    /// The persona that a test input belongs to, or that a run answers a test input as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona_id: Option<PersonaId>,
    /// The revision of the thing after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// The conversation in which a run goes on, or the chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Where the run stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// On which pages one talks in the run's conversation: on a persona's, or on all others (`/`). In a chat,
    /// in a session and in a test, none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub talks_at: String,
}

impl News {
    /// A change stands elsewhere than before.
    pub fn of_change(
        id: &ChangeId,
        entity: &Entity,
        state: ChangeState,
        revision: Option<Revision>,
    ) -> Self {
        Self {
            topic: Topic::Change,
            change_id: Some(id.clone()),
            state: Some(state),
            entity_type: entity.kind.word().into(),
            entity_id: entity.id.clone(),
            revision,
            ..Self::default()
        }
    }

    /// What is said in a chat changed.
    pub fn of_chat(conversation: &ConversationId) -> Self {
        Self { topic: Topic::Chat, conversation_id: Some(conversation.clone()), ..Self::default() }
    }

    /// A picture stands elsewhere than before. It may belong to a chat.
    pub fn of_picture(picture: &PictureId, conversation: Option<&ConversationId>) -> Self {
        Self {
            topic: Topic::Picture,
            entity_id: picture.to_string(),
            conversation_id: conversation.cloned(),
            ..Self::default()
        }
    }

    /// A run began or ended in a conversation of this kind.
    pub fn of_run(run: &Run, kind: ConversationKind) -> Self {
        Self {
            topic: Topic::Run,
            conversation_id: Some(run.conversation_id.clone()),
            run_id: Some(run.id.clone()),
            status: Some(run.status),
            persona_id: (kind == ConversationKind::Test).then(|| run.persona_id.clone()),
            talks_at: match kind {
                ConversationKind::Companion => "/".into(),
                ConversationKind::Editor => format!("/personas/{}", run.persona_id),
                ConversationKind::Test
                | ConversationKind::Chat
                | ConversationKind::Playground
                | ConversationKind::Terminal => String::new(),
            },
            ..Self::default()
        }
    }
}
