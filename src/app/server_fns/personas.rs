//! Personas.

use leptos::prelude::*;
use serde::{Deserialize, Deserializer, Serialize};

use super::answers::ShownAnswer;
use crate::domain::{
    change::Outcome,
    error::ApiError,
    id::PersonaId,
    list::Page,
    persona::{EditedPersona, PersonaSummary},
    test_input::EditedTestInput,
    version::Revision,
};

/// The list, with how many there are in all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonaList {
    /// The personas of this page.
    pub page: Page<PersonaSummary>,
    /// How many there are outside the bin.
    pub total: i64,
}

/// All that the editor shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EditorData {
    /// The persona.
    pub persona: EditedPersona,
    /// Its test inputs.
    pub test_inputs: Vec<EditedTestInput>,
    /// The last answer to each of them.
    pub answers: Vec<ShownAnswer>,
    /// The model strings that can be chosen.
    pub models: Vec<String>,
    /// The model that speaks when the persona names none.
    pub default_model: String,
}

/// Personas whose names have `search` in them, the last changed first.
#[server(prefix = "/fn", endpoint = "list_personas")]
pub async fn list_personas(
    /// Looked for in the names.
    search: String,
    /// Where to go on.
    after: Option<String>,
) -> Result<PersonaList, ApiError> {
    use crate::{
        domain::{list::PAGE_SIZE, visible::show_in},
        state::desk,
    };

    let desk = desk()?;
    let mut link = desk.read().await?;
    let mut page = link.personas(&search, after.as_deref(), PAGE_SIZE).await?;
    show_in(page.items.iter_mut().flat_map(|one| [&mut one.name, &mut one.excerpt]));
    Ok(PersonaList { page, total: link.count_personas().await? })
}

/// A persona with its test inputs.
#[server(prefix = "/fn", endpoint = "open_persona")]
pub async fn open_persona(
    /// Which one.
    id: PersonaId,
) -> Result<EditorData, ApiError> {
    use crate::state::{desk, shown_answer};

    let desk = desk()?;
    let mut link = desk.read().await?;
    let persona = link.persona(&id).await?.into();
    let test_inputs = link.test_inputs(&id).await?.into_iter().map(Into::into).collect();
    let answers = link.last_answers(&id).await?.into_iter().map(shown_answer).collect();
    // Who holds a connection while waiting for another can wait for ever.
    drop(link);
    let catalog = desk.agent.catalog(&desk.scope).await?;
    let models = catalog.models().iter().map(|model| model.id.clone()).collect();
    let default_model = catalog.default_model().to_owned();
    Ok(EditorData { persona, test_inputs, answers, models, default_model })
}

/// Makes a persona and goes to it.
#[server(prefix = "/fn", endpoint = "create_persona")]
pub async fn create_persona(
    /// Its name.
    name: String,
) -> Result<PersonaId, ApiError> {
    use crate::{
        domain::change::{Change, Op},
        state::desk,
        store::new_id,
    };

    let desk = desk()?;
    let id: PersonaId = new_id();
    let change = Change::new(&id, Op::Create).set("name", name);
    desk.gate.submit(change).await?;
    leptos_axum::redirect(&format!("/personas/{id}"));
    Ok(id)
}

/// The fields of the form that are to be written, each as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonaForm {
    /// The name.
    #[serde(default, deserialize_with = "given")]
    pub name: Option<String>,
    /// The system prompt.
    #[serde(default, deserialize_with = "given")]
    pub system_prompt: Option<String>,
    /// The appearance.
    #[serde(default, deserialize_with = "given")]
    pub appearance: Option<String>,
    /// The notes.
    #[serde(default, deserialize_with = "given")]
    pub notes: Option<String>,
    /// The model string.
    #[serde(default, deserialize_with = "given")]
    pub model: Option<String>,
    /// The tools, parted by commas.
    #[serde(default, deserialize_with = "given")]
    pub tools: Option<String>,
    /// The tier's word.
    #[serde(default, deserialize_with = "given")]
    pub tier: Option<String>,
}

/// A field that was sent, even empty: read as an `Option`, an empty one would count as absent.
pub(super) fn given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// Writes the fields that are given. What a plain form cannot save is kept and shown
/// on a page of its own.
#[server(prefix = "/fn", endpoint = "save_persona")]
pub async fn save_persona(
    /// Which persona.
    id: PersonaId,
    /// The revision that the form was filled from.
    revision: Revision,
    /// What to write.
    #[server(default)]
    form: PersonaForm,
) -> Result<EditedPersona, ApiError> {
    use crate::{
        domain::{
            change::{Change, Op},
            field::unix_lines,
            persona::PersonaFields,
        },
        state::{desk, keep_refused},
    };

    let desk = desk()?;
    let texts = [
        ("name", form.name),
        ("systemPrompt", form.system_prompt),
        ("appearance", form.appearance),
        ("notes", form.notes),
        ("model", form.model),
        ("tier", form.tier),
    ];
    let mut change = Change::new(&id, Op::Update).based_on(revision);
    for (field, text) in texts {
        if let Some(text) = text {
            change = change.set(field, unix_lines(&text));
        }
    }
    if let Some(tools) = form.tools {
        change = change.set("tools", PersonaFields::parse_tools(&tools));
    }
    let saved = desk.gate.submit(change.clone()).await;
    keep_refused(&desk, &saved, change).await?;
    saved?;
    let kept = desk.read().await?.persona(&id).await?;
    Ok(kept.into())
}

/// Copies a persona and goes to the copy.
#[server(prefix = "/fn", endpoint = "duplicate_persona")]
pub async fn duplicate_persona(
    /// Which one.
    id: PersonaId,
) -> Result<PersonaId, ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    let copy = desk.gate.duplicate_persona(&id).await?;
    leptos_axum::redirect(&format!("/personas/{copy}"));
    Ok(copy)
}

/// Moves a persona to the bin and goes to the list.
#[server(prefix = "/fn", endpoint = "delete_persona")]
pub async fn delete_persona(
    /// Which one.
    id: PersonaId,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::change::{Change, Op},
        state::desk,
    };

    let desk = desk()?;
    let change = Change::new(&id, Op::Delete);
    let outcome = desk.gate.submit(change).await?;
    leptos_axum::redirect("/");
    Ok(outcome)
}

/// Markdown as HTML that is safe to show.
#[server(prefix = "/fn", endpoint = "preview_markdown")]
pub async fn preview_markdown(
    /// The markdown.
    text: String,
) -> Result<String, ApiError> {
    crate::domain::persona::SYSTEM_PROMPT.check(&text)?;
    Ok(crate::markdown::to_html(&text))
}
