//! Rating what was said, by whoever reads it.

use std::collections::HashMap;

use super::Agent;
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId, UserId},
        rating::{NewRating, Rating},
    },
    store::{Link, now},
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
        link.put_rating(&given.of(message.clone(), scope.user.clone(), now())).await?;
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

/// Keeps what messages of a file were rated with, by whoever rated them. The messages are called here as `ids`
/// says; what is about none of them is refused.
pub(super) async fn keep_ratings(
    link: &mut Link,
    ratings: Vec<Rating>,
    ids: &HashMap<&str, MessageId>,
) -> Result<(), ApiError> {
    for rating in ratings {
        let about = ids.get(rating.message_id.as_str()).cloned();
        let Some(message_id) = about.filter(|_| rating.rated_by != UserId::default()) else {
            return Err(ApiError::invalid("ratings", "A rating is about no message or of nobody."));
        };
        NewRating { rating: rating.rating, note: rating.note.clone() }.check()?;
        link.put_rating(&Rating { message_id, ..rating }).await?;
    }
    Ok(())
}
