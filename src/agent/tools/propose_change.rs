//! Drafts about anything in the Space. Nothing here is ever applied.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::written_thing;
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    changes::to_fields,
    domain::{
        change::{Change, Entity, EntityKind, Fields, Op, field_label},
        knowledge::TaskStatus,
    },
    store::new_id,
};

/// Makes one draft that the person accepts, rewords or rejects. It changes nothing by itself. Give
/// exactly one of persona, testInput, page, ref and task, fitting the entityType, for create and update;
/// none for delete. An update names only the fields that change, each with its whole new text; read the
/// thing first.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// What the draft does. A delete moves the thing to the bin.
    op: Wish,
    /// What it is about.
    entity_type: Subject,
    /// Which thing, for update and delete.
    #[serde(default)]
    entity_id: Option<String>,
    /// Why, in one sentence to the person, at most 500 characters.
    #[serde(default)]
    reason: String,
    /// The fields of a persona.
    #[serde(default)]
    persona: Option<PersonaWish>,
    /// The fields of a test input.
    #[serde(default)]
    test_input: Option<TestInputWish>,
    /// The fields of a page.
    #[serde(default)]
    page: Option<PageWish>,
    /// The fields of a ref.
    #[serde(default)]
    r#ref: Option<RefWish>,
    /// The fields of a task.
    #[serde(default)]
    task: Option<TaskWish>,
}

/// What a draft does.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Wish {
    Create,
    Update,
    Delete,
}

/// What a draft can be about. A chat is the person's own.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Subject {
    Persona,
    TestInput,
    Page,
    Ref,
    Task,
}

impl From<Subject> for EntityKind {
    fn from(subject: Subject) -> Self {
        match subject {
            Subject::Persona => Self::Persona,
            Subject::TestInput => Self::TestInput,
            Subject::Page => Self::Page,
            Subject::Ref => Self::Ref,
            Subject::Task => Self::Task,
        }
    }
}

/// What can be said of a persona.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PersonaWish {
    /// A line of up to 200 characters; needed for a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// What the model that plays it is told, at most 100 000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_prompt: Option<String>,
    /// How it looks, at most 10 000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    appearance: Option<String>,
    /// For its author; no model reads it. At most 20 000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
}

/// What can be said of a test input.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TestInputWish {
    /// The persona it belongs to: needed for a new one, left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persona_id: Option<String>,
    /// What is said to the persona, in the words of a visitor, at most 50 000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// What a good answer does, for whoever judges it, at most 2 000 characters; empty for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    check: Option<String>,
}

/// What can be said of a page.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PageWish {
    /// A line of up to 200 characters; needed for a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Markdown, at most 200 000 characters. [[Title]] links to another page or to a persona.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

/// What can be said of a ref.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RefWish {
    /// Where it is, with http or https, at most 2 000 characters; may be empty when there is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// What it is called, a line of up to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// What to remember of it, at most 20 000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// What it says, at most 500 000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// What can be said of a task.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TaskWish {
    /// A line of up to 200 characters; needed for a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// How it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<TaskStatus>,
    /// The day by which it should be done, like 2026-12-31; empty for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due: Option<String>,
    /// What else there is to say, at most 20 000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The tool.
pub struct ProposeChange;

impl Tool for ProposeChange {
    type Input = Input;
    const NAME: &'static str = "propose_change";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let (op, reason) = (input.op, input.reason.clone());
        let kind = EntityKind::from(input.entity_type);
        let id = input.entity_id.clone().unwrap_or_default();
        let fields = input.fields()?;
        let change = match op {
            Wish::Create if !id.is_empty() => {
                return Err(tell("Leave entityId out when something is made."));
            }
            Wish::Create => {
                let id: String = new_id();
                Change::new(Entity::new(kind, &id), Op::Create).with(fields)
            }
            Wish::Update | Wish::Delete if id.is_empty() => {
                return Err(tell("Say which thing is meant, by its entityId."));
            }
            Wish::Update => {
                let entity = Entity::new(kind, &id);
                let Some(seen) = desk.shown(&entity) else {
                    let told = format!("Read the {} before you change it.", kind.noun());
                    return Err(ToolError::TellModel(told));
                };
                let unread = desk.unread(&entity);
                if let Some(field) = fields.keys().find(|field| unread.contains(field)) {
                    let told = format!(
                        "You were shown only a part of the {}, so replacing it whole would lose the \
                         rest. Read it to its end first.",
                        field_label(field)
                    );
                    return Err(ToolError::TellModel(told));
                }
                Change::new(entity, Op::Update).with(fields).based_on(seen)
            }
            Wish::Delete => Change::new(Entity::new(kind, &id), Op::Delete),
        };
        let about = change.entity.id.clone();
        let outcome = desk.submit(change.because(reason)).await?;
        Ok(written_thing(&outcome, "It was applied.", Some(&about), None))
    }
}

fn tell(text: &str) -> ToolError {
    ToolError::TellModel(text.to_owned())
}

impl Input {
    /// The fields of the one thing that was given.
    fn fields(self) -> Result<Fields, ToolError> {
        fn given<W: Serialize>(wish: Option<W>) -> Result<Option<Fields>, ToolError> {
            Ok(wish.map(|wish| to_fields(&wish)).transpose()?)
        }
        let task = given(self.task)?.map(|mut fields| {
            // An empty day is none.
            if let Some(due) = fields.get_mut("due").filter(|due| **due == "") {
                *due = Value::Null;
            }
            fields
        });
        let all = [
            (Subject::Persona, given(self.persona)?),
            (Subject::TestInput, given(self.test_input)?),
            (Subject::Page, given(self.page)?),
            (Subject::Ref, given(self.r#ref)?),
            (Subject::Task, task),
        ];
        let mut given = all.into_iter().filter_map(|(kind, fields)| Some((kind, fields?)));
        match (given.next(), given.next(), self.op) {
            (None, None, Wish::Delete) => Ok(Fields::new()),
            (Some((kind, fields)), None, Wish::Create | Wish::Update)
                if kind == self.entity_type && !fields.is_empty() =>
            {
                Ok(fields)
            }
            (_, _, Wish::Delete) => Err(tell("A delete takes no fields.")),
            _ => Err(ToolError::TellModel(format!(
                "Give the fields of the {} and of nothing else, at least one.",
                EntityKind::from(self.entity_type).noun()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::tools::companion_tools,
        domain::{
            change::REASON,
            field::{TextField, grouped},
            knowledge::{BODY, NOTE, TEXT, TITLE, URL},
            persona::{APPEARANCE, NAME, NOTES, SYSTEM_PROMPT},
            test_input::{CHECK, CONTENT},
        },
    };

    #[test]
    fn the_model_is_told_how_long_each_text_may_be() {
        let tools = companion_tools();
        let spec = tools.specs().iter().find(|spec| spec.name == ProposeChange::NAME).unwrap();
        let told = |thing: &str, field: &TextField| -> String {
            let wish = format!("/properties/{thing}/properties/{}/description", field.name);
            let input = format!("/properties/{}/description", field.name);
            let path = if thing.is_empty() { input } else { wish };
            let told = spec.schema.pointer(&path).and_then(Value::as_str);
            told.unwrap_or_else(|| panic!("nothing at {path} of {}", spec.schema)).to_owned()
        };
        for (thing, fields) in [
            ("", &[REASON][..]),
            ("persona", &[NAME, SYSTEM_PROMPT, APPEARANCE, NOTES]),
            ("testInput", &[CONTENT, CHECK]),
            ("page", &[TITLE, BODY]),
            ("ref", &[URL, TITLE, NOTE, TEXT]),
            ("task", &[TITLE, NOTE]),
        ] {
            for field in fields {
                let most = grouped(field.max_chars).replace('\u{202f}', " ");
                let told = told(thing, field);
                assert!(told.contains(&format!("{most} characters")), "{thing}: {told}");
            }
        }
    }
}
