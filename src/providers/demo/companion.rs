//! The companion: plain requests in, the next tool or the answer out.

mod create;
mod target;
mod thing;
mod told;
mod wish;

use serde_json::{Value, json};

use self::{
    target::Target,
    thing::{Extent, Search},
    wish::{Edit, Wish, understand},
};
use super::{
    answer, clause,
    plan::Answer,
    progress::{Halt, Progress},
    recall,
    story::Story,
};
use crate::{
    domain::change::{EntityKind, Fields},
    providers::ToolSpec,
};

/// The most requests of one message; a pasted text may look like many.
const MOST: usize = 8;

/// What the companion says and uses next.
pub fn answer(story: &Story<'_>, tools: &[ToolSpec]) -> Answer {
    let mut wishes = clause::read(story.text, None, understand, Wish::Unclear);
    if wishes.is_empty() {
        wishes.push(Wish::Unclear(String::new()));
    }
    let left_out = wishes.len().saturating_sub(MOST);
    wishes.truncate(MOST);

    let mut search = Search::new(Progress::new(story, tools));
    let mut said: Vec<String> = told::rejected(story.note).into_iter().collect();
    for wish in &wishes {
        match perform(wish, story, &mut search) {
            Ok(text) => said.push(text),
            Err(Halt::Use(call)) => {
                let lead = if story.done.is_empty() { answer::lead(call.name) } else { "" };
                return Answer { text: lead.into(), calls: vec![call] };
            }
            Err(Halt::Failed(sentence)) => {
                said.push(sentence);
                break;
            }
        }
    }
    if left_out > 0 {
        said.push(format!("That was a lot at once: I left out the last {left_out} requests."));
    }
    Answer { text: said.join("\n\n"), calls: Vec::new() }
}

/// Does one request as far as it can be done, and tells it.
fn perform(wish: &Wish, story: &Story<'_>, search: &mut Search<'_>) -> Result<String, Halt> {
    Ok(match wish {
        Wish::Say(words) => words.clone(),
        Wish::Recall(recall) => recall::tell(*recall, story),
        Wish::Find { words, kind } => told::found(words, &search.find(words, *kind)?),
        Wish::Look => told::looking(search.context()?),
        Wish::Read(target) => match search.choose(target, Extent::Beginning)? {
            Ok(thing) => told::beginning(&thing, &search.read(&thing, Extent::Beginning)?),
            Err(question) => question,
        },
        Wish::Create { kind, fields } => {
            let what = format!("the new {} **{}**", kind.noun(), create::label(fields));
            let draft = json!({ "op": "create", "entityType": kind.word() });
            propose(search, draft, *kind, fields, &what)?
        }
        Wish::Change { target, edit } => change(search, target, edit)?,
        Wish::Delete(target) => match search.choose(target, Extent::Whole)? {
            Ok(thing) => {
                let what =
                    format!("that the {} **{}** goes to the bin", thing.kind.noun(), thing.title);
                propose(search, thing.draft("delete"), thing.kind, &Fields::new(), &what)?
            }
            Err(question) => question,
        },
        Wish::Unclear(said) => told::unclear(said),
    })
}

fn change(search: &mut Search<'_>, target: &Target, edit: &Edit) -> Result<String, Halt> {
    let thing = match search.choose(target, Extent::Whole)? {
        Ok(thing) => thing,
        Err(question) => return Ok(question),
    };
    let read = search.read(&thing, Extent::Whole)?;
    let name = format!("the {} **{}**", thing.kind.noun(), thing.title);
    let (field, value, what) = match edit {
        Edit::Rename(title) => match title_field(thing.kind) {
            Some(field) => (field, title.clone(), format!("the title **{title}** for {name}")),
            None => return Ok(format!("A {} has no title.", thing.kind.noun())),
        },
        Edit::Status(status) if thing.kind == EntityKind::Task => {
            let word = status.word();
            ("status", word.to_owned(), format!("that {name} is {word}"))
        }
        Edit::Status(_) => return Ok(format!("Only a task can be done, and {name} is none.")),
        Edit::Append(text) => {
            let field = text_field(thing.kind);
            let known = search.drafted.iter().rfind(|(known, _)| *known == thing);
            let old = known.map_or(told::field(&read, field), |(_, text)| text).trim_end();
            let gap = if old.is_empty() { "" } else { "\n\n" };
            let new = format!("{old}{gap}{text}");
            search.drafted.push((thing.clone(), new.clone()));
            (field, new, format!("“{}” at the end of {name}", answer::snippet(text)))
        }
    };
    let fields = Fields::from_iter([(field.to_owned(), Value::String(value))]);
    propose(search, thing.draft("update"), thing.kind, &fields, &what)
}

/// Makes a draft, and tells what became of it.
fn propose(
    search: &mut Search<'_>,
    mut draft: Value,
    kind: EntityKind,
    fields: &Fields,
    what: &str,
) -> Result<String, Halt> {
    if !fields.is_empty() {
        draft[wished(kind)] = json!(fields);
    }
    let written = search.progress.write("propose_change", draft)?;
    Ok(answer::written(&written, what, what))
}

/// Where the tool takes the fields of a kind.
fn wished(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::TestInput => "testInput",
        EntityKind::Persona
        | EntityKind::Page
        | EntityKind::Ref
        | EntityKind::Task
        | EntityKind::Chat => kind.word(),
    }
}

fn title_field(kind: EntityKind) -> Option<&'static str> {
    match kind {
        EntityKind::Persona => Some("name"),
        EntityKind::Page | EntityKind::Ref | EntityKind::Task => Some("title"),
        EntityKind::TestInput | EntityKind::Chat => None,
    }
}

/// The field that more text goes to.
fn text_field(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::Persona => "systemPrompt",
        EntityKind::TestInput => "content",
        EntityKind::Page => "body",
        EntityKind::Ref | EntityKind::Task | EntityKind::Chat => "note",
    }
}

#[cfg(test)]
mod tests;
