//! What the workbench of a persona shows and does: improvements, and what is public.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    change::Outcome,
    enhancement::Enhancement,
    error::ApiError,
    id::{PersonaId, RunId, TestInputId},
    proposal::Proposal,
    publication::{Example, Published},
    version::Revision,
};

/// What improving a persona starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnhanceData {
    /// What it is called.
    pub name: String,
    /// Whether its agent is at work.
    pub at_work: bool,
    /// What waits for a decision, the last first.
    pub drafts: Vec<Proposal>,
}

/// What is public of a persona, and what could be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishData {
    /// What it is called.
    pub name: String,
    /// The version it is at.
    pub revision: Revision,
    /// What is public.
    pub published: Option<Published>,
    /// The whole address of its page.
    pub link: String,
    /// The test inputs that could be shown, with the answers of the version that is public, or would be.
    pub examples: Vec<Example>,
}

/// What the Enhance tab shows.
#[server(prefix = "/fn", endpoint = "open_enhance")]
pub async fn open_enhance(
    /// Of which persona.
    id: PersonaId,
) -> Result<EnhanceData, ApiError> {
    use crate::{
        domain::{change::ChangeState, list::PAGE_SIZE, visible::visible_in_prose},
        state::desk,
    };

    let desk = desk()?;
    let mut link = desk.read().await?;
    let persona = link.persona(&id).await?;
    let at_work = match &persona.agent_chat_session_id {
        Some(conversation) => link.run_going_on(conversation).await?.is_some(),
        None => false,
    };
    drop(link);
    let mut drafts = Vec::new();
    for state in [ChangeState::Pending, ChangeState::Conflict] {
        drafts.extend(desk.gate.proposals(state, Some(&id), None, PAGE_SIZE).await?.items);
    }
    Ok(EnhanceData { name: visible_in_prose(persona.fields.name), at_work, drafts })
}

/// Asks a persona's agent for improvements, as drafts.
#[server(prefix = "/fn", endpoint = "enhance_persona")]
pub async fn enhance_persona(
    /// Which persona.
    id: PersonaId,
    /// What shall become better.
    #[server(default)]
    what: Enhancement,
    /// What the person adds.
    #[server(default)]
    words: String,
) -> Result<RunId, ApiError> {
    use crate::{domain::field::unix_lines, state::desk};

    let desk = desk()?;
    let asked = what.asked(&unix_lines(&words))?;
    Ok(desk.agent.enhance(&desk.scope, &id, &asked).await?.id)
}

/// What the Publish tab shows.
#[server(prefix = "/fn", endpoint = "open_publish")]
pub async fn open_publish(
    /// Of which persona.
    id: PersonaId,
) -> Result<PublishData, ApiError> {
    use crate::{
        domain::visible::{show_in, visible_in_prose},
        state::{desk, link_to},
    };

    let desk = desk()?;
    let mut link = desk.read().await?;
    let persona = link.persona(&id).await?;
    let published = link.publication(&id).await?;
    let page = published.as_ref().map(|published| &published.publication);
    let revision = page.map_or(persona.revision, |page| page.revision);
    let mut examples = link.answered_examples(&id, revision).await?;
    // What is public stays to be seen, even when its test input is gone.
    let shown = page.map(|page| page.examples.as_slice()).unwrap_or_default();
    for example in shown {
        if !examples.iter().any(|known| known.test_input_id == example.test_input_id) {
            examples.push(example.clone());
        }
    }
    show_in(examples.iter_mut().flat_map(|one| [&mut one.input, &mut one.answer]));
    let link = page.map(|page| link_to(&page.path())).unwrap_or_default();
    let (name, revision) = (visible_in_prose(persona.fields.name), persona.revision);
    Ok(PublishData { name, revision, published, link, examples })
}

/// Makes a version of a persona public, and says what its page shows.
#[server(prefix = "/fn", endpoint = "publish_persona")]
pub async fn publish_persona(
    /// Which persona.
    id: PersonaId,
    /// Which version.
    revision: Revision,
    /// `kept`, `made` or `own`.
    #[server(default)]
    address: String,
    /// The address, when it is the person's own.
    #[server(default)]
    slug: String,
    /// Whether the system prompt is shown.
    #[server(default)]
    shows_prompt: bool,
    /// The test inputs that are shown.
    #[server(default)]
    examples: Vec<TestInputId>,
    /// Whether search engines may list it.
    #[server(default)]
    indexed: bool,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::publication::{PublishWish, check_slug},
        state::desk,
    };

    let slug = match address.as_str() {
        "own" => {
            check_slug(slug.trim())?;
            Some(slug)
        }
        "made" => Some(String::new()),
        _ => None,
    };
    let wish = PublishWish {
        revision: Some(revision),
        slug,
        shows_prompt: Some(shows_prompt),
        test_input_ids: Some(examples),
        indexed: Some(indexed),
    };
    desk()?.gate.publish(&id, wish).await
}

/// Makes another version public at the same address, showing the same of it.
#[server(prefix = "/fn", endpoint = "publish_version")]
pub async fn publish_version(
    /// Which persona.
    id: PersonaId,
    /// Which version.
    revision: Revision,
) -> Result<Outcome, ApiError> {
    use crate::{domain::publication::PublishWish, state::desk};

    let wish = PublishWish { revision: Some(revision), ..PublishWish::default() };
    desk()?.gate.publish(&id, wish).await
}

/// Takes the public page of a persona away.
#[server(prefix = "/fn", endpoint = "unpublish_persona")]
pub async fn unpublish_persona(
    /// Which persona.
    id: PersonaId,
) -> Result<Outcome, ApiError> {
    use crate::state::desk;

    desk()?.gate.unpublish(&id).await
}
