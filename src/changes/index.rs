//! Keeping what is searched in step with the things themselves, in the same transaction.
//!
//! A test input is a document of its own, not a part of its persona's: a hit leads to the very input,
//! and rewriting one of hundreds costs one row. Of a chat, its last messages are searched.

use super::entity;
use crate::{
    domain::{
        change::{Entity, EntityKind},
        id::{ConversationId, PersonaId, TestInputId},
        search::Document,
    },
    store::{Link, StoreError},
};

/// Brings what is searched of a thing up to date. What lies in the bin, or is gone, is not found.
pub async fn refresh(link: &mut Link, entity: &Entity) -> Result<(), StoreError> {
    let parent = owner(link, entity).await?;
    if let Some(parent) = &parent {
        // Or the persona might go into the bin meanwhile, and this would come back out.
        link.lock(&Entity::from(parent)).await?;
    }
    let searched = match entity::searched(link, entity).await {
        Ok(searched) => searched,
        Err(StoreError::NotFound(_)) => None,
        Err(error) => return Err(error),
    };
    let Some((mut texts, updated_at)) = searched else {
        return link.forget_document(entity.kind.into(), &entity.id).await;
    };
    if entity.kind == EntityKind::Chat {
        if let Some(parent) = &parent
            && link.persona_head(parent).await?.binned
        {
            return link.forget_document(entity.kind.into(), &entity.id).await;
        }
        texts.body = link.chat_words(&ConversationId::new(entity.id.as_str())).await?;
    }
    let document = Document {
        kind: entity.kind.into(),
        id: entity.id.clone(),
        parent: parent.map(String::from),
        texts,
        updated_at,
    };
    link.put_document(&document).await
}

/// Brings a thing up to date, and what comes out of the bin with it.
pub async fn refresh_all(link: &mut Link, entity: &Entity) -> Result<(), StoreError> {
    refresh(link, entity).await?;
    if entity.kind == EntityKind::Persona {
        let persona = PersonaId::new(entity.id.as_str());
        for input in link.test_inputs(&persona).await? {
            refresh(link, &Entity::from(&input.id)).await?;
        }
        for chat in link.chats_of(&persona).await? {
            refresh(link, &Entity::from(&chat)).await?;
        }
    }
    Ok(())
}

/// The persona of a test input or a chat.
async fn owner(link: &mut Link, entity: &Entity) -> Result<Option<PersonaId>, StoreError> {
    let owner = match entity.kind {
        EntityKind::TestInput => {
            link.test_input_owner(&TestInputId::new(entity.id.as_str())).await.map(Some)
        }
        EntityKind::Chat => link.first_speaker(&ConversationId::new(entity.id.as_str())).await,
        EntityKind::Persona | EntityKind::Page | EntityKind::Ref | EntityKind::Task => Ok(None),
    };
    match owner {
        Ok(owner) => Ok(owner),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
