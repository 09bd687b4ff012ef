//! Publishing a version of a persona, and taking it away again.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Gate, Refusal, entity};
use crate::{
    domain::{
        change::{Change, ChangeState, EntityKind, Op, Outcome},
        error::ApiError,
        id::{PersonaId, TestInputId},
        publication::{Example, Publication, PublishWish, Published, SLUG},
        version::Revision,
    },
    store::{Author, Link, StoreError},
};

/// The field of a change that says what becomes public; `null` takes it away.
const PUBLICATION: &str = "publication";
/// The field that keeps what was public before, for the undo.
const PREVIOUS: &str = "previous";
/// What an address that nobody can guess is made of: five bits a letter, and none that looks like another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// So many of them: 130 bits.
const UNGUESSABLE_CHARS: usize = 26;

impl Gate {
    /// What is public of a persona that is not in the bin.
    pub async fn publication(&self, id: &PersonaId) -> Result<Option<Published>, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        link.persona(id).await?;
        Ok(link.publication(id).await?)
    }

    /// Makes a version of a persona public, or changes what its page shows.
    pub async fn publish(&self, id: &PersonaId, wish: PublishWish) -> Result<Outcome, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        let persona = link.persona(id).await?;
        let before = link.publication(id).await?.map(|published| published.publication);
        let known = before.as_ref();
        let revision = wish.revision.or(known.map(|known| known.revision));
        let revision = revision.unwrap_or(persona.revision);
        let slug = match wish.slug.as_deref().map(str::trim) {
            Some("") => unguessable(),
            Some(slug) => slug.to_owned(),
            None => known.map_or_else(unguessable, |known| known.slug.clone()),
        };
        let examples = match (wish.test_input_ids, known) {
            (Some(ids), known) => {
                let shown = known.filter(|known| known.revision == revision);
                let shown = shown.map(|known| known.examples.clone()).unwrap_or_default();
                chosen(&mut link, (id, revision), ids, shown).await?
            }
            (None, None) => Vec::new(),
            (None, Some(known)) if known.revision == revision => known.examples.clone(),
            (None, Some(known)) => answered_anew(&mut link, id, revision, known).await?,
        };
        drop(link);
        let publication = Publication {
            slug,
            revision,
            shows_prompt: wish
                .shows_prompt
                .unwrap_or_else(|| known.is_some_and(|known| known.shows_prompt)),
            examples,
            indexed: wish.indexed.unwrap_or_else(|| known.is_some_and(|known| known.indexed)),
        };
        if before.as_ref() == Some(&publication) {
            let state = ChangeState::Applied;
            return Ok(Outcome { change_id: None, state, revision: persona.revision });
        }
        self.submit(Change::new(id, Op::Publish).set(PUBLICATION, json!(publication))).await
    }

    /// Takes the public page of a persona away.
    pub async fn unpublish(&self, id: &PersonaId) -> Result<Outcome, ApiError> {
        let mut link = self.store.read(&self.space).await?;
        link.persona(id).await?;
        drop(link);
        self.submit(Change::new(id, Op::Publish).set(PUBLICATION, Value::Null)).await
    }
}

/// Does what such a change wants. The change keeps what was public before.
pub async fn apply(
    link: &mut Link,
    change: &mut Change,
    author: Author<'_>,
) -> Result<(), Refusal> {
    if change.entity.kind != EntityKind::Persona {
        return Err(ApiError::invalid(PUBLICATION, "Only personas can be published.").into());
    }
    let persona = entity::persona(&change.entity);
    let before = link.publication(&persona).await?.map(|published| published.publication);
    let wanted = wanted(change)?;
    if before.is_none() && wanted.is_none() {
        return Err(ApiError::not_found("public page").into());
    }
    change.patch.insert(PREVIOUS.into(), json!(before));
    let Some(publication) = wanted else {
        return Ok(link.remove_publication(&persona).await?);
    };
    publication.check()?;
    // A version that does not exist is told as such.
    link.version(&persona, publication.revision).await?;
    match link.set_publication(&persona, &publication, author).await {
        Err(StoreError::Taken(_)) => {
            let (field, address) = (SLUG.into(), publication.slug);
            Err(ApiError::AddressTaken { field, address }.into())
        }
        done => Ok(done?),
    }
}

/// The change that brings back what was public before. What was published since is not written over.
pub async fn inverse(link: &mut Link, done: &Change) -> Result<Change, ApiError> {
    let persona = entity::persona(&done.entity);
    let now = link.publication(&persona).await?.map(|published| published.publication);
    if now != wanted(done)? {
        let reason = "What is public has changed since. Change it where it is published.".into();
        return Err(ApiError::NotNow { reason });
    }
    let before = done.patch.get(PREVIOUS).cloned().unwrap_or(Value::Null);
    Ok(Change::new(done.entity.clone(), Op::Publish).set(PUBLICATION, before))
}

/// What a change wants to be public.
fn wanted(change: &Change) -> Result<Option<Publication>, ApiError> {
    let wanted = change.patch.get(PUBLICATION).cloned().unwrap_or(Value::Null);
    serde_json::from_value(wanted).map_err(|problem| {
        ApiError::invalid(PUBLICATION, format!("The publication does not fit: {problem}."))
    })
}

/// The test inputs that somebody chose, each with the version's last answer. What is shown already may
/// stay when its test input is gone; any other without an answer is refused.
async fn chosen(
    link: &mut Link,
    (persona, revision): (&PersonaId, Revision),
    ids: Vec<TestInputId>,
    shown: Vec<Example>,
) -> Result<Vec<Example>, ApiError> {
    let mut known = link.answered_examples(persona, revision).await?;
    known.extend(shown);
    let mut examples: Vec<Example> = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(example) = known.iter().find(|example| example.test_input_id == id) else {
            let rule = format!(
                "A test input that was chosen has no answer by version {revision}. Run it first."
            );
            return Err(ApiError::invalid("testInputIds", rule));
        };
        if !examples.contains(example) {
            examples.push(example.clone());
        }
    }
    Ok(examples)
}

/// The examples of a page, answered by another version; those that it did not answer are left out.
async fn answered_anew(
    link: &mut Link,
    persona: &PersonaId,
    revision: Revision,
    page: &Publication,
) -> Result<Vec<Example>, ApiError> {
    let known = link.answered_examples(persona, revision).await?;
    let anew = |old: &Example| {
        known.iter().find(|example| example.test_input_id == old.test_input_id).cloned()
    };
    Ok(page.examples.iter().filter_map(anew).collect())
}

/// An address that nobody can guess.
fn unguessable() -> String {
    let bytes = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes);
    // The seventh and ninth byte of such a number say what it is.
    let random = bytes.iter().flat_map(|half| {
        half.iter().enumerate().filter(|(at, _)| !matches!(at, 6 | 8)).map(|(_, byte)| *byte)
    });
    let letters = random.map(|byte| char::from(LETTERS[usize::from(byte & 31)]));
    letters.take(UNGUESSABLE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::domain::publication::check_slug;

    #[test]
    fn an_address_that_nobody_chose_is_long_and_another_one_each_time() {
        let many: HashSet<String> = (0..1000).map(|_| unguessable()).collect();

        assert_eq!(many.len(), 1000);
        for slug in &many {
            assert_eq!((slug.len(), check_slug(slug)), (UNGUESSABLE_CHARS, Ok(())), "{slug}");
        }
        // Every letter comes up at every place.
        for at in 0..UNGUESSABLE_CHARS {
            let seen: HashSet<u8> = many.iter().map(|slug| slug.as_bytes()[at]).collect();
            assert_eq!(seen.len(), LETTERS.len(), "place {at}");
        }
    }
}
