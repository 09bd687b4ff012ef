//! Rating what was said, by whoever reads it.

use super::Agent;
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId},
        rating::{NewRating, Rating},
    },
    store::now,
};

impl Agent {
    /// Rates a message, instead of what the same person gave it before.
    pub async fn rate(
        &self,
        scope: &Scope,
        message: &MessageId,
        given: NewRating,
    ) -> Result<Rating, ApiError> {
        given.check()?;
        let mut link = self.write(scope).await?;
        link.message(message).await?;
        link.put_rating(message, &scope.user, &given, now()).await?;
        let rating = link.rating(message, &scope.user).await?;
        link.commit().await?;
        Ok(rating)
    }

    /// What somebody gave to a message.
    pub async fn rating(&self, scope: &Scope, message: &MessageId) -> Result<Rating, ApiError> {
        Ok(self.read(scope).await?.rating(message, &scope.user).await?)
    }

    /// What the messages of a conversation were rated with.
    pub async fn ratings_in(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
    ) -> Result<Vec<Rating>, ApiError> {
        let mut link = self.read(scope).await?;
        link.conversation_kind(conversation).await?;
        Ok(link.ratings_in(conversation).await?)
    }

    /// Takes back what somebody gave to a message.
    pub async fn unrate(&self, scope: &Scope, message: &MessageId) -> Result<(), ApiError> {
        let mut link = self.write(scope).await?;
        if !link.delete_rating(message, &scope.user).await? {
            return Err(ApiError::not_found("rating"));
        }
        Ok(link.commit().await?)
    }
}
