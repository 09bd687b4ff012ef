//! Finding things by their words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{
        desk::{CallDesk, Heard},
        is_from_elsewhere,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        change::Entity,
        proposal::Source,
        search::{Hit, SearchKind},
    },
    search::Question,
    store::{Link, StoreError},
};

const HITS: u32 = 10;
const MAX_HITS: u32 = 30;

/// Finds personas, test inputs, pages, refs, tasks and chats by their words: all words must occur, the
/// last one may be a beginning, as every one may where nothing has them all, and "quoted words" must
/// follow each other. Try fewer words when nothing is found. What is found is told with its type, its id, its
/// title and the passage that fits.
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
        let note = found.trouble().map(|note| format!("({note})")).unwrap_or_default();
        if found.items.is_empty() {
            let nothing = format!("Nothing fits. Try fewer or other words. {note}");
            return Ok(ToolOutput::text(nothing.trim_end()));
        }
        let seen: Vec<Seen> = found.items.into_iter().map(seen).collect();
        let mut link = desk.read().await?;
        let mut sources = Vec::new();
        for seen in &seen {
            sources.extend(source(&mut link, seen).await?);
        }
        desk.hear(Heard::Found, sources.iter().cloned());
        let told = ToolOutput::json(&seen);
        let text = format!("{}\n{note}", told.text).trim_end().to_owned();
        Ok(ToolOutput { text, sources, ..told })
    }
}

fn seen(hit: Hit) -> Seen {
    let passage = hit.snippet.into_iter().map(|piece| piece.text).collect();
    Seen { entity_type: hit.kind, entity_id: hit.id, title: hit.title, passage }
}

/// What a ref says, or what was imported, was written elsewhere.
async fn source(link: &mut Link, seen: &Seen) -> Result<Option<Source>, StoreError> {
    let entity = Entity::new(seen.entity_type.into(), &seen.entity_id);
    Ok(is_from_elsewhere(link, &entity).await?.then(|| Source {
        entity,
        title: seen.title.clone(),
        passage: seen.passage.clone(),
    }))
}
