//! What was said so far, as far as the demo cares: people's words, and what was done since.

use serde_json::Value;

use crate::domain::{
    message::{PartBody, Role, Turn},
    run::GO_ON,
};

/// How a text begins that the house puts before the person's words.
const NOTE: &str = "[Greenroom, not the person, adds:";

/// A conversation, read.
#[derive(Debug, Default, PartialEq)]
pub struct Story<'turns> {
    /// What the person says now.
    pub text: &'turns str,
    /// What the house adds to it.
    pub note: Option<&'turns str>,
    /// What the person said before, oldest first.
    pub earlier: Vec<&'turns str>,
    /// What the demo said last, before the person's words of now.
    pub said_before: Option<&'turns str>,
    /// What the demo said since, after the last tool it used: its answer broke off there.
    pub said: String,
    /// The tools used since the person's words of now, in order.
    pub done: Vec<Done<'turns>>,
    /// How many calls there are in all.
    pub calls: usize,
}

/// A call that has its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done<'turns> {
    /// The tool's name.
    pub name: &'turns str,
    /// What it was given.
    pub input: &'turns Value,
    /// What it gave, or what it said went wrong.
    pub result: Result<&'turns str, &'turns str>,
}

impl<'turns> Story<'turns> {
    /// Reads the turns.
    pub fn read(turns: &'turns [Turn]) -> Self {
        let mut story = Self::default();
        let mut last_said = None;
        let mut is_asked = false;
        let mut note = None;
        for turn in turns {
            match (&turn.part.body, turn.role) {
                (PartBody::Text(text), Role::User) if text.starts_with(NOTE) => {
                    note = Some(text.as_str());
                }
                // It is still about what was asked before.
                (PartBody::Text(text), Role::User) if text == GO_ON && is_asked => {
                    story.note = note.take();
                }
                (PartBody::Text(text), Role::User) => {
                    if is_asked {
                        story.earlier.push(story.text);
                    }
                    is_asked = true;
                    story.text = text;
                    story.note = note.take();
                    story.said_before = last_said;
                    story.said.clear();
                    story.done.clear();
                }
                (PartBody::Text(text), Role::Assistant) => {
                    last_said = Some(text.as_str());
                    story.said.push_str(text);
                }
                (PartBody::ToolCall(call), _) => {
                    story.calls += 1;
                    story.said.clear();
                    let result = turns.iter().find_map(|turn| match &turn.part.body {
                        PartBody::ToolResult(result) if result.call == call.call => Some(result),
                        _ => None,
                    });
                    let result = match result {
                        Some(result) if result.is_error => Err(result.output.as_str()),
                        Some(result) => Ok(result.output.as_str()),
                        None => Err("The tool gave no result."),
                    };
                    story.done.push(Done { name: &call.name, input: &call.input, result });
                }
                (PartBody::ToolResult(_) | PartBody::Reasoning(_), _) => {}
            }
        }
        story
    }
}

#[cfg(test)]
mod tests {
    use super::{super::rehearsal::user, *};

    #[test]
    fn what_the_house_adds_is_nothing_that_the_person_said() {
        let note = "[Greenroom, not the person, adds:\nThe person is looking at a page.\n]";
        let turns = [user("Hello"), user(note), user("What did I say?")];

        let story = Story::read(&turns);

        assert_eq!((story.text, story.note), ("What did I say?", Some(note)));
        assert_eq!(story.earlier, ["Hello"]);
    }
}
