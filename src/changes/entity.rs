//! The kinds of things behind the gate, seen alike: fields in, fields out.
//!
//! Another kind is one more arm of [`of_kind`], and a [`Thing`].

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{apply::Refusal, to_fields};
use crate::{
    domain::{
        change::{Change, Entity, EntityKind, Fields},
        chat::ChatFields,
        error::ApiError,
        id::{PersonaId, TestInputId},
        knowledge::{Knowledge, PageFields, RefFields, TaskFields},
        persona::PersonaFields,
        position::between,
        search::Texts,
        test_input::{MAX_PER_PERSONA, TestInputFields},
        timestamp::Timestamp,
        version::Revision,
    },
    store::{Author, Head, Link, StoreError},
};

/// The field that names a test input's persona when it is made.
const OWNER: &str = "personaId";

/// Runs one expression with the type that holds the fields of a kind.
macro_rules! of_kind {
    ($kind:expr, $thing:ident => $body:expr) => {
        match $kind {
            EntityKind::Persona => {
                type $thing = PersonaFields;
                $body
            }
            EntityKind::TestInput => {
                type $thing = TestInputFields;
                $body
            }
            EntityKind::Page => {
                type $thing = PageFields;
                $body
            }
            EntityKind::Ref => {
                type $thing = RefFields;
                $body
            }
            EntityKind::Task => {
                type $thing = TaskFields;
                $body
            }
            EntityKind::Chat => {
                type $thing = ChatFields;
                $body
            }
        }
    };
}

/// What a revision of a thing says, and how the store keeps it.
trait Thing: Serialize + DeserializeOwned + Default {
    /// What it takes to make one.
    type New;
    const KIND: EntityKind;

    fn check(&self) -> Result<(), ApiError>;
    /// What of it is searched.
    fn texts(&self) -> Texts;
    async fn head(link: &mut Link, id: &str) -> Result<Head<Self>, StoreError>;
    async fn at(link: &mut Link, id: &str, revision: Revision) -> Result<Self, StoreError>;

    /// What is about to be made, checked and complete.
    async fn newcomer(link: &mut Link, patch: Fields) -> Result<Self::New, Refusal>;
    async fn insert(
        link: &mut Link,
        id: &str,
        new: Self::New,
        author: Author<'_>,
    ) -> Result<(), StoreError>;

    /// Writes the revision after `from`. `false` when the thing has moved.
    async fn advance(
        &self,
        link: &mut Link,
        id: &str,
        from: Revision,
        author: Author<'_>,
    ) -> Result<bool, StoreError>;
}

impl Thing for PersonaFields {
    type New = Self;
    const KIND: EntityKind = EntityKind::Persona;

    fn check(&self) -> Result<(), ApiError> {
        self.check()
    }

    fn texts(&self) -> Texts {
        Texts {
            title: self.name.clone(),
            secondary: format!("{}\n\n{}", self.appearance, self.notes).trim().to_owned(),
            body: self.system_prompt.clone(),
        }
    }

    async fn head(link: &mut Link, id: &str) -> Result<Head<Self>, StoreError> {
        link.persona_head(&id.into()).await
    }

    async fn at(link: &mut Link, id: &str, revision: Revision) -> Result<Self, StoreError> {
        link.persona_at(&id.into(), revision).await
    }

    async fn newcomer(_: &mut Link, patch: Fields) -> Result<Self, Refusal> {
        Ok(checked(patch)?)
    }

    async fn insert(
        link: &mut Link,
        id: &str,
        new: Self,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        link.insert_persona(&id.into(), &new, author).await
    }

    async fn advance(
        &self,
        link: &mut Link,
        id: &str,
        from: Revision,
        author: Author<'_>,
    ) -> Result<bool, StoreError> {
        link.advance_persona(&id.into(), from, self, author).await
    }
}

impl Thing for TestInputFields {
    type New = (PersonaId, Self);
    const KIND: EntityKind = EntityKind::TestInput;

    fn check(&self) -> Result<(), ApiError> {
        self.check()
    }

    fn texts(&self) -> Texts {
        Texts { body: self.content.clone(), ..Texts::default() }
    }

    async fn head(link: &mut Link, id: &str) -> Result<Head<Self>, StoreError> {
        link.test_input_head(&id.into()).await
    }

    async fn at(link: &mut Link, id: &str, revision: Revision) -> Result<Self, StoreError> {
        link.test_input_at(&id.into(), revision).await
    }

    async fn newcomer(link: &mut Link, mut patch: Fields) -> Result<Self::New, Refusal> {
        let owner = match patch.remove(OWNER) {
            Some(Value::String(id)) => PersonaId::new(id),
            _ => return Err(ApiError::invalid(OWNER, "A test input needs its persona.").into()),
        };
        link.lock(&Entity::from(&owner)).await?;
        if link.persona_head(&owner).await?.binned {
            return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() }.into());
        }
        let mut fields: Self = checked(patch)?;
        let (count, last) = link.last_test_input(&owner).await?;
        if count >= MAX_PER_PERSONA {
            let reason = format!("A persona may have at most {MAX_PER_PERSONA} test inputs.");
            return Err(ApiError::NotNow { reason }.into());
        }
        if fields.position.is_empty() {
            fields.position = between(&last, None);
        }
        Ok((owner, fields))
    }

    async fn insert(
        link: &mut Link,
        id: &str,
        (owner, fields): Self::New,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        link.insert_test_input(&id.into(), &owner, &fields, author).await
    }

    async fn advance(
        &self,
        link: &mut Link,
        id: &str,
        from: Revision,
        author: Author<'_>,
    ) -> Result<bool, StoreError> {
        link.advance_test_input(&TestInputId::new(id), from, self, author).await
    }
}

impl Thing for ChatFields {
    type New = Self;
    const KIND: EntityKind = EntityKind::Chat;

    fn check(&self) -> Result<(), ApiError> {
        self.check()
    }

    fn texts(&self) -> Texts {
        Texts { title: self.title.clone(), ..Texts::default() }
    }

    async fn head(link: &mut Link, id: &str) -> Result<Head<Self>, StoreError> {
        link.chat_head(&id.into()).await
    }

    async fn at(link: &mut Link, id: &str, revision: Revision) -> Result<Self, StoreError> {
        link.chat_at(&id.into(), revision).await
    }

    async fn newcomer(link: &mut Link, patch: Fields) -> Result<Self, Refusal> {
        let fields: Self = checked(patch)?;
        for member in &fields.members {
            // Or it might be removed meanwhile.
            link.lock(&Entity::from(&member.persona_id)).await?;
            if link.persona_head(&member.persona_id).await?.binned {
                return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() }.into());
            }
            link.persona_at(&member.persona_id, member.revision).await?;
        }
        Ok(fields)
    }

    async fn insert(
        link: &mut Link,
        id: &str,
        new: Self,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        link.insert_chat(&id.into(), &new, author).await
    }

    async fn advance(
        &self,
        link: &mut Link,
        id: &str,
        from: Revision,
        author: Author<'_>,
    ) -> Result<bool, StoreError> {
        link.advance_chat(&id.into(), from, self, author).await
    }
}

impl<K: Knowledge> Thing for K {
    type New = Self;
    const KIND: EntityKind = K::KIND;

    fn check(&self) -> Result<(), ApiError> {
        Knowledge::check(self)
    }

    fn texts(&self) -> Texts {
        Knowledge::texts(self)
    }

    async fn head(link: &mut Link, id: &str) -> Result<Head<Self>, StoreError> {
        link.entry_head(&id.to_owned().into()).await
    }

    async fn at(link: &mut Link, id: &str, revision: Revision) -> Result<Self, StoreError> {
        link.entry_at(&id.to_owned().into(), revision).await
    }

    async fn newcomer(_: &mut Link, patch: Fields) -> Result<Self, Refusal> {
        Ok(checked(patch)?)
    }

    async fn insert(
        link: &mut Link,
        id: &str,
        new: Self,
        author: Author<'_>,
    ) -> Result<(), StoreError> {
        link.insert_entry(&id.to_owned().into(), &new, author).await
    }

    async fn advance(
        &self,
        link: &mut Link,
        id: &str,
        from: Revision,
        author: Author<'_>,
    ) -> Result<bool, StoreError> {
        link.advance_entry(&id.to_owned().into(), from, self, author).await
    }
}

/// What stands of a thing now.
pub async fn head(link: &mut Link, entity: &Entity) -> Result<Head<Fields>, Refusal> {
    of_kind!(entity.kind, T => {
        let head = <T as Thing>::head(link, &entity.id).await?;
        let Head { revision, fields, binned, updated_at } = head;
        Ok(Head { revision, binned, updated_at, fields: to_fields(&fields)? })
    })
}

/// What of a thing is searched, and when it last changed; `None` while it lies in the bin.
pub async fn searched(
    link: &mut Link,
    entity: &Entity,
) -> Result<Option<(Texts, Timestamp)>, StoreError> {
    of_kind!(entity.kind, T => {
        let head = <T as Thing>::head(link, &entity.id).await?;
        Ok((!head.binned).then(|| (Thing::texts(&head.fields), head.updated_at)))
    })
}

/// What a thing said at a revision.
pub async fn fields_at(
    link: &mut Link,
    entity: &Entity,
    revision: Revision,
) -> Result<Fields, Refusal> {
    of_kind!(entity.kind, T => Ok(to_fields(&<T as Thing>::at(link, &entity.id, revision).await?)?))
}

/// Refuses what could not be made.
pub async fn rehearse(link: &mut Link, entity: &Entity, patch: &Fields) -> Result<(), Refusal> {
    of_kind!(entity.kind, T => <T as Thing>::newcomer(link, patch.clone()).await.map(drop))
}

/// Makes a thing.
pub async fn create(
    link: &mut Link,
    entity: &Entity,
    patch: &Fields,
    author: Author<'_>,
) -> Result<(), Refusal> {
    of_kind!(entity.kind, T => {
        let new = <T as Thing>::newcomer(link, patch.clone()).await?;
        Ok(<T as Thing>::insert(link, &entity.id, new, author).await?)
    })
}

/// What a thing is about to say, checked, with every field in its usual form.
pub fn next(kind: EntityKind, fields: Fields) -> Result<Fields, ApiError> {
    of_kind!(kind, T => to_fields(&checked::<T>(fields)?))
}

/// Writes the revision after `from`. `false` when the thing has moved.
pub async fn advance(
    link: &mut Link,
    entity: &Entity,
    from: Revision,
    next: Fields,
    author: Author<'_>,
) -> Result<bool, Refusal> {
    of_kind!(entity.kind, T => {
        let next: T = typed(next)?;
        Ok(Thing::advance(&next, link, &entity.id, from, author).await?)
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
        EntityKind::Page | EntityKind::Ref | EntityKind::Task | EntityKind::Chat => Ok(None),
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

/// Fields as the type has them, within its rules.
fn checked<T: Thing>(fields: Fields) -> Result<T, ApiError> {
    let fields: T = typed(fields)?;
    fields.check()?;
    Ok(fields)
}

/// Fields as the type has them. The error names the field that does not fit.
fn typed<T: Thing>(fields: Fields) -> Result<T, ApiError> {
    let noun = T::KIND.noun();
    let problem = match serde_json::from_value(Value::Object(fields.clone())) {
        Ok(typed) => return Ok(typed),
        Err(problem) => problem.to_string(),
    };
    let plain = to_fields(&T::default())?;
    for (field, value) in fields {
        let mut alone = plain.clone();
        alone.insert(field.clone(), value);
        if let Err(problem) = serde_json::from_value::<T>(Value::Object(alone)) {
            let rule = if problem.to_string().starts_with("unknown field") {
                format!("A {noun} has no field “{field}” that can be set.")
            } else {
                format!("“{field}” does not fit: {problem}.")
            };
            return Err(ApiError::Invalid { field, rule });
        }
    }
    // Each field fits by itself, so one is missing: serde's sentence names it.
    let missing = problem.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let field = missing.unwrap_or("body").to_owned();
    Err(ApiError::Invalid { field, rule: format!("The {noun} is incomplete: {problem}.") })
}
