//! Finding things by their words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{
        desk::{CallDesk, Heard},
        is_imported,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        change::Entity,
        id::ConversationId,
        proposal::Source,
        search::{Hit, SearchKind},
    },
    search::Question,
    store::{Link, StoreError},
};

const HITS: u32 = 10;
const MAX_HITS: u32 = 30;

/// Finds personas, test inputs, pages, refs, tasks and chats by their words: all words must occur, the
/// last one may be a beginning, and "quoted words" must follow each other. Try fewer words when nothing
/// is found. What is found is told with its type, its id, its title and the passage that fits.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// The words to look for.
    query: String,
    /// Only things of this type.
    #[serde(default)]
    entity_type: Option<SearchKind>,
    /// How many at most; 10 unless said, 30 at the most.
    #[serde(default)]
    limit: Option<u32>,
}

/// What the model sees of a hit.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    entity_type: SearchKind,
    entity_id: String,
    title: String,
    passage: String,
}

/// The tool.
pub struct Search;

impl Tool for Search {
    type Input = Input;
    const NAME: &'static str = "search";
    const EFFECT: Effect = Effect::Reads;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let question = Question {
            text: &input.query,
            kind: input.entity_type,
            limit: input.limit.unwrap_or(HITS).clamp(1, MAX_HITS),
        };
        let found = desk.agent.search().find(&desk.scope.space, question).await?;
        if found.items.is_empty() {
            return Ok(ToolOutput::text("Nothing fits. Try fewer or other words."));
        }
        let seen: Vec<Seen> = found.items.into_iter().map(seen).collect();
        let mut link = desk.read().await?;
        let mut sources = Vec::new();
        for seen in &seen {
            sources.extend(source(&mut link, seen).await?);
        }
        desk.hear(Heard::Found, sources.iter().cloned());
        Ok(ToolOutput { sources, ..ToolOutput::json(&seen) })
    }
}

fn seen(hit: Hit) -> Seen {
    let passage = hit.snippet.into_iter().map(|piece| piece.text).collect();
    Seen { entity_type: hit.kind, entity_id: hit.id, title: hit.title, passage }
}

/// What a ref says, or a chat that was imported, was written elsewhere.
async fn source(link: &mut Link, seen: &Seen) -> Result<Option<Source>, StoreError> {
    let elsewhere = match seen.entity_type {
        SearchKind::Ref => true,
        SearchKind::Chat => is_imported(link, &ConversationId::new(&*seen.entity_id)).await?,
        SearchKind::Persona | SearchKind::TestInput | SearchKind::Page | SearchKind::Task => false,
    };
    Ok(elsewhere.then(|| Source {
        entity: Entity::new(seen.entity_type.into(), &seen.entity_id),
        title: seen.title.clone(),
        passage: seen.passage.clone(),
    }))
}
