//! The thing that is meant, looked for with the companion's tools.

use serde_json::{Value, json};

use super::{target::Target, told};
use crate::{
    domain::change::EntityKind,
    providers::demo::progress::{Halt, Progress, text},
};

/// The most pieces in which a thing is read.
const MOST_PIECES: usize = 12;

/// A thing of the Space.
#[derive(Clone, Debug, PartialEq)]
pub struct Thing {
    pub kind: EntityKind,
    pub id: String,
    pub title: String,
}

/// How much of a thing is wanted.
#[derive(Clone, Copy, PartialEq)]
pub enum Extent {
    Beginning,
    Whole,
}

impl Thing {
    /// The thing that the tool `context` names in its first line.
    fn looked_at(context: &str) -> Option<Self> {
        let (seen, rest) = context.lines().next()?.rsplit_once(" (entityType ")?;
        let (kind, id) = rest.strip_suffix(").")?.split_once(", entityId ")?;
        let (_, title) = seen.strip_suffix('”')?.split_once('“')?;
        Some(Self { kind: EntityKind::from_word(kind)?, id: id.into(), title: title.into() })
    }

    fn hit(hit: &Value) -> Option<Self> {
        let kind = EntityKind::from_word(text(hit, "entityType"))?;
        Some(Self { kind, id: text(hit, "entityId").into(), title: text(hit, "title").into() })
    }

    /// The beginning of what a draft about it says.
    pub fn draft(&self, op: &str) -> Value {
        json!({ "op": op, "entityType": self.kind.word(), "entityId": self.id })
    }
}

/// The tools, and what they told since the message.
pub struct Search<'story> {
    pub progress: Progress<'story>,
    context: Option<&'story str>,
    /// Texts as this message last drafted them, so that a second draft keeps the first.
    pub drafted: Vec<(Thing, String)>,
}

impl<'story> Search<'story> {
    /// Nothing looked for yet.
    pub fn new(progress: Progress<'story>) -> Self {
        Self { progress, context: None, drafted: Vec::new() }
    }

    /// What the person looks at, as the tool tells it.
    pub fn context(&mut self) -> Result<&'story str, Halt> {
        if let Some(known) = self.context {
            return Ok(known);
        }
        let told = self.progress.told("context", json!({}))?;
        self.context = Some(told);
        Ok(told)
    }

    /// What is found by these words.
    pub fn find(&mut self, words: &str, kind: Option<EntityKind>) -> Result<Vec<Thing>, Halt> {
        let mut input = json!({ "query": words });
        if let Some(kind) = kind {
            input["entityType"] = json!(kind.word());
        }
        let told = self.progress.told("search", input)?;
        // What finds nothing says so in a sentence.
        let hits: Vec<Value> = serde_json::from_str(told).unwrap_or_default();
        Ok(hits.iter().filter_map(Thing::hit).collect())
    }

    /// The one thing that is meant, or the question which one.
    pub fn choose(
        &mut self,
        target: &Target,
        extent: Extent,
    ) -> Result<Result<Thing, String>, Halt> {
        let Some(name) = &target.name else {
            return Ok(Thing::looked_at(self.context()?).ok_or_else(|| {
                "You are looking at no single thing, so tell me which one you mean by its title."
                    .to_owned()
            }));
        };
        let mut things = self.find(name, target.kind)?;
        let same: Vec<Thing> = things
            .iter()
            .filter(|thing| thing.title.to_lowercase() == name.to_lowercase())
            .cloned()
            .collect();
        Ok(match (same.as_slice(), things.len()) {
            ([one], _) => Ok(one.clone()),
            ([], 1) => Ok(things.remove(0)),
            // To look at the best one does no harm.
            (_, 1..) if extent == Extent::Beginning => Ok(things.remove(0)),
            _ => Err(told::which(name, &things)),
        })
    }

    /// A thing, as the tool tells it: its beginning, or all of it.
    pub fn read(&mut self, thing: &Thing, extent: Extent) -> Result<String, Halt> {
        let mut whole = String::new();
        let mut offset = 0_u64;
        for _ in 0..MOST_PIECES {
            let mut input = json!({ "entityType": thing.kind.word(), "entityId": thing.id });
            if offset > 0 {
                input["offset"] = json!(offset);
            }
            let told = self.progress.told("read", input)?;
            let warned = told.starts_with("(The text of this ref was written elsewhere.");
            let told = told.split_once("\n\n").filter(|_| warned).map_or(told, |(_, told)| told);
            let next = told.rsplit_once("\n\n… (").and_then(|(piece, more)| {
                let (_, next) = more.strip_suffix(')')?.split_once("go on with offset ")?;
                Some((piece, next.parse().ok()?))
            });
            match next {
                Some((piece, next)) if extent == Extent::Whole => {
                    whole.push_str(piece);
                    offset = next;
                }
                Some((piece, _)) => return Ok(piece.to_owned()),
                None => return Ok(whole + told),
            }
        }
        Err(Halt::Failed(format!(
            "The {} “{}” is too long for my script, so I drafted nothing.",
            thing.kind.noun(),
            thing.title
        )))
    }
}
