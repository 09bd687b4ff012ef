//! A chat as a file of a Space: the tree as the chat's own files have it, and who spoke as of which version.

use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use super::ArchiveError;
use crate::{
    agent::{Agent, ChatFile},
    changes::Scope,
    domain::{
        chat::{ChatFields, Member, TitledBy},
        id::{ConversationId, PartId},
        message::{Part, PartBody},
        rating::Rating,
        timestamp::Timestamp,
    },
};

/// A chat as a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpaceChat {
    /// The identifier.
    pub id: ConversationId,
    /// Who gave it its title.
    #[serde(default)]
    pub titled_by: TitledBy,
    /// Who speaks in it, each as of a version.
    pub members: Vec<Member>,
    /// What its messages were rated with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<Rating>,
    /// The rest.
    #[serde(flatten)]
    pub chat: ChatFile,
}

impl SpaceChat {
    /// The chat as it is now.
    pub async fn of(
        agent: &Agent,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<Self, ArchiveError> {
        let known = agent.chat_as_it_is(scope, id).await?;
        let written: Vec<String> = agent.export_chat(scope, id).await?.try_collect().await?;
        let chat: Result<ChatFile, _> = serde_json::from_str(&written.concat());
        let mut chat = chat.map_err(|_| ArchiveError::refused("A chat cannot be written."))?;
        for message in &mut chat.messages {
            let at = message.created_at.unwrap_or_default();
            message.parts = thoughts(std::mem::take(&mut message.parts), at);
        }
        let members = known.members.into_iter();
        let members = members
            .map(|member| Member { persona_id: member.persona_id, revision: member.revision })
            .collect();
        let ratings = agent.ratings_in(scope, id).await?;
        Ok(Self { id: known.id, titled_by: known.titled_by, members, ratings, chat })
    }

    /// What its first revision keeps.
    pub fn fields(&self) -> ChatFields {
        ChatFields {
            title: self.chat.title.clone(),
            titled_by: self.titled_by,
            mode: self.chat.mode,
            settings: self.chat.settings.clone(),
            members: self.members.clone(),
        }
    }
}

/// The words and thoughts of a message, named by their place. Tools that were used are left out: nobody reads
/// them from a file, because they could claim what never happened.
pub(super) fn thoughts(parts: Vec<Part>, at: Timestamp) -> Vec<Part> {
    let is_thought = |part: &Part| matches!(part.body, PartBody::Reasoning(_));
    if !parts.iter().any(is_thought) {
        return Vec::new();
    }
    let is_said = |part: &Part| matches!(part.body, PartBody::Text(_) | PartBody::Reasoning(_));
    let said = parts.into_iter().filter(is_said).enumerate();
    said.map(|(place, part)| Part {
        id: PartId::new(place.to_string()),
        at,
        body: part.body,
        carried: None,
    })
    .collect()
}
