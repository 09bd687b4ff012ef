//! The kinds of things behind the gate, seen alike: fields in, fields out.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{apply::Refusal, to_fields};
use crate::{
    domain::{
        change::{Change, Entity, EntityKind, Fields},
        error::ApiError,
        id::{PersonaId, TestInputId},
        persona::PersonaFields,
        position::between,
        test_input::{MAX_PER_PERSONA, TestInputFields},
        version::Revision,
    },
    store::{Author, Head, Link, StoreError},
};

/// The field that names a test input's persona when it is made.
const OWNER: &str = "personaId";

/// What stands of a thing now.
pub async fn head(link: &mut Link, entity: &Entity) -> Result<Head<Fields>, Refusal> {
    fn generic<F: Serialize>(head: &Head<F>) -> Result<Head<Fields>, ApiError> {
        let fields = to_fields(&head.fields)?;
        Ok(Head { revision: head.revision, binned: head.binned, fields })
    }
    match entity.kind {
        EntityKind::Persona => Ok(generic(&link.persona_head(&persona(entity)).await?)?),
        EntityKind::TestInput => Ok(generic(&link.test_input_head(&test_input(entity)).await?)?),
    }
}

/// What a thing said at a revision.
pub async fn fields_at(
    link: &mut Link,
    entity: &Entity,
    revision: Revision,
) -> Result<Fields, Refusal> {
    match entity.kind {
        EntityKind::Persona => Ok(to_fields(&link.persona_at(&persona(entity), revision).await?)?),
        EntityKind::TestInput => {
            Ok(to_fields(&link.test_input_at(&test_input(entity), revision).await?)?)
        }
    }
}

/// A thing about to be made, checked and complete.
pub enum Newcomer {
    /// A persona.
    Persona(PersonaId, PersonaFields),
    /// A test input with its persona.
    TestInput(TestInputId, PersonaId, TestInputFields),
}

/// Checks what is about to be made.
pub async fn newcomer(
    link: &mut Link,
    entity: &Entity,
    patch: &Fields,
) -> Result<Newcomer, Refusal> {
    match entity.kind {
        EntityKind::Persona => {
            let fields: PersonaFields = typed(entity.kind, patch.clone())?;
            fields.check()?;
            Ok(Newcomer::Persona(persona(entity), fields))
        }
        EntityKind::TestInput => {
            let mut patch = patch.clone();
            let owner = match patch.remove(OWNER) {
                Some(Value::String(id)) => PersonaId::new(id),
                _ => return Err(ApiError::invalid(OWNER, "A test input needs its persona.").into()),
            };
            link.lock(&Entity::from(&owner)).await?;
            if link.persona_head(&owner).await?.binned {
                return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() }.into());
            }
            let mut fields: TestInputFields = typed(entity.kind, patch)?;
            let (count, last) = link.last_test_input(&owner).await?;
            if count >= MAX_PER_PERSONA {
                let reason = format!("A persona may have at most {MAX_PER_PERSONA} test inputs.");
                return Err(ApiError::NotNow { reason }.into());
            }
            if fields.position.is_empty() {
                fields.position = between(&last, None);
            }
            fields.check()?;
            Ok(Newcomer::TestInput(test_input(entity), owner, fields))
        }
    }
}

/// Makes it.
pub async fn insert(
    link: &mut Link,
    newcomer: &Newcomer,
    author: Author<'_>,
) -> Result<(), Refusal> {
    match newcomer {
        Newcomer::Persona(id, fields) => link.insert_persona(id, fields, author).await?,
        Newcomer::TestInput(id, owner, fields) => {
            link.insert_test_input(id, owner, fields, author).await?;
        }
    }
    Ok(())
}

/// What a thing is about to say, checked.
pub enum Next {
    /// Of a persona.
    Persona(PersonaFields),
    /// Of a test input.
    TestInput(TestInputFields),
}

/// Checks what a thing is about to say.
pub fn next(kind: EntityKind, fields: Fields) -> Result<Next, ApiError> {
    match kind {
        EntityKind::Persona => {
            let fields: PersonaFields = typed(kind, fields)?;
            fields.check()?;
            Ok(Next::Persona(fields))
        }
        EntityKind::TestInput => {
            let fields: TestInputFields = typed(kind, fields)?;
            fields.check()?;
            Ok(Next::TestInput(fields))
        }
    }
}

/// Writes the revision after `from`. `false` when the thing has moved.
pub async fn advance(
    link: &mut Link,
    entity: &Entity,
    from: Revision,
    next: &Next,
    author: Author<'_>,
) -> Result<bool, Refusal> {
    Ok(match next {
        Next::Persona(fields) => {
            link.advance_persona(&persona(entity), from, fields, author).await?
        }
        Next::TestInput(fields) => {
            link.advance_test_input(&test_input(entity), from, fields, author).await?
        }
    })
}

/// The persona that something is, or belongs to. What is not there belongs to nobody.
pub async fn owner(link: &mut Link, entity: &Entity) -> Result<Option<PersonaId>, ApiError> {
    match entity.kind {
        EntityKind::Persona => Ok(Some(persona(entity))),
        EntityKind::TestInput => match link.test_input_owner(&test_input(entity)).await {
            Ok(owner) => Ok(Some(owner)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        },
    }
}

/// The persona that something new says it belongs to.
pub fn named_owner(change: &Change) -> Option<PersonaId> {
    let owner = change.patch.get(OWNER)?.as_str()?;
    (change.entity.kind == EntityKind::TestInput).then(|| PersonaId::new(owner))
}

/// The persona that an entity names.
pub fn persona(entity: &Entity) -> PersonaId {
    PersonaId::new(entity.id.as_str())
}

fn test_input(entity: &Entity) -> TestInputId {
    TestInputId::new(entity.id.as_str())
}

/// Fields as the type has them. The error names the field that does not fit.
fn typed<T: DeserializeOwned + Default + Serialize>(
    kind: EntityKind,
    fields: Fields,
) -> Result<T, ApiError> {
    let problem = match serde_json::from_value(Value::Object(fields.clone())) {
        Ok(typed) => return Ok(typed),
        Err(problem) => problem,
    };
    let plain = to_fields(&T::default())?;
    for (field, value) in fields {
        let mut alone = plain.clone();
        alone.insert(field.clone(), value);
        if let Err(problem) = serde_json::from_value::<T>(Value::Object(alone)) {
            let rule = if problem.to_string().starts_with("unknown field") {
                format!("A {} has no field “{field}” that can be set.", kind.noun())
            } else {
                format!("“{field}” does not fit: {problem}.")
            };
            return Err(ApiError::Invalid { field, rule });
        }
    }
    // Each field fits by itself, so one is missing: serde's sentence names it.
    Err(ApiError::invalid("body", format!("The {} is incomplete: {problem}.", kind.noun())))
}
