//! Keeping what is searched in step with the things themselves, in the same transaction.
//!
//! A test input is a document of its own, not a part of its persona's: a hit leads to the very input,
//! and rewriting one of hundreds costs one row.

use super::entity;
use crate::{
    domain::{
        change::{Entity, EntityKind},
        id::{PersonaId, TestInputId},
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
    let Some((texts, updated_at)) = searched else {
        return link.forget_document(entity.kind.into(), &entity.id).await;
    };
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
        for input in link.test_inputs(&PersonaId::new(entity.id.as_str())).await? {
            refresh(link, &Entity::from(&input.id)).await?;
        }
    }
    Ok(())
}

/// The persona of a test input.
async fn owner(link: &mut Link, entity: &Entity) -> Result<Option<PersonaId>, StoreError> {
    if entity.kind != EntityKind::TestInput {
        return Ok(None);
    }
    match link.test_input_owner(&TestInputId::new(entity.id.as_str())).await {
        Ok(owner) => Ok(Some(owner)),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
