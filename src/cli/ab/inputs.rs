//! `tests.yaml`: what every prompt and model is asked, and what a good answer does.

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use crate::{domain::test_input::TestInputFields, yaml};

/// The most test inputs of a file.
const MAX_INPUTS: usize = 200;

/// Something that is asked.
#[derive(Clone, Debug)]
pub struct Input {
    /// What it is called.
    pub name: String,
    /// What is said, one after the other; the last answer is checked.
    pub turns: Vec<String>,
    /// What a good answer does, for whoever reads it.
    pub note: String,
    /// What must be true of the answer.
    pub checks: Vec<Check>,
}

/// A test input as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Option<String>,
    input: Option<String>,
    turns: Option<Vec<String>>,
    #[serde(default)]
    check: String,
    #[serde(default)]
    checks: Vec<WrittenCheck>,
}

/// A check as it is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenCheck {
    /// These words stand in it, in capitals or not.
    Contains(String),
    /// These words do not.
    NotContains(String),
    /// The expression matches somewhere.
    Regex(String),
    /// The expression matches nowhere.
    NotRegex(String),
    /// It has at most so many words.
    MaxWords(usize),
    /// It has at least so many words.
    MinWords(usize),
    /// It took at most so many seconds.
    MaxSeconds(u64),
    /// This tool was called for it.
    CallsTool(String),
    /// This tool was not.
    NotCallsTool(String),
}

/// An answer, as far as checks look at it.
#[derive(Clone, Debug, Default)]
pub struct Checked<'answer> {
    /// The words.
    pub text: &'answer str,
    /// The tools that were called for it.
    pub tools: &'answer [String],
    /// How long it took.
    pub millis: u64,
}

/// Something that must be true of an answer.
#[derive(Clone, Debug)]
pub struct Check {
    written: WrittenCheck,
    /// For those that have an expression.
    expression: Option<Regex>,
}

impl Check {
    fn read(written: WrittenCheck) -> Result<Self, String> {
        let expression = match &written {
            WrittenCheck::Regex(text) | WrittenCheck::NotRegex(text) => {
                let expression = Regex::new(text).map_err(|error| {
                    let told = error.to_string();
                    let last = told.lines().last().unwrap_or_default().trim().to_owned();
                    format!("“{text}” is no regular expression ({last}).")
                })?;
                Some(expression)
            }
            WrittenCheck::Contains(text) | WrittenCheck::NotContains(text) if text.is_empty() => {
                return Err("A check for no words at all says nothing.".into());
            }
            WrittenCheck::Contains(_)
            | WrittenCheck::NotContains(_)
            | WrittenCheck::MaxWords(_)
            | WrittenCheck::MinWords(_)
            | WrittenCheck::MaxSeconds(_)
            | WrittenCheck::CallsTool(_)
            | WrittenCheck::NotCallsTool(_) => None,
        };
        Ok(Self { written, expression })
    }

    /// Whether it is true of an answer.
    pub fn holds(&self, answer: &Checked<'_>) -> bool {
        let contains = |words: &str| answer.text.to_lowercase().contains(&words.to_lowercase());
        let matches = || self.expression.as_ref().is_some_and(|it| it.is_match(answer.text));
        let words = || answer.text.split_whitespace().count();
        let calls = |name: &String| answer.tools.contains(name);
        match &self.written {
            WrittenCheck::Contains(text) => contains(text),
            WrittenCheck::NotContains(text) => !contains(text),
            WrittenCheck::Regex(_) => matches(),
            WrittenCheck::NotRegex(_) => !matches(),
            WrittenCheck::MaxWords(most) => words() <= *most,
            WrittenCheck::MinWords(least) => words() >= *least,
            WrittenCheck::MaxSeconds(most) => answer.millis <= most.saturating_mul(1000),
            WrittenCheck::CallsTool(name) => calls(name),
            WrittenCheck::NotCallsTool(name) => !calls(name),
        }
    }

    /// What it says, for people.
    pub fn told(&self) -> String {
        match &self.written {
            WrittenCheck::Contains(text) => format!("contains “{text}”"),
            WrittenCheck::NotContains(text) => format!("does not contain “{text}”"),
            WrittenCheck::Regex(text) => format!("matches {text}"),
            WrittenCheck::NotRegex(text) => format!("does not match {text}"),
            WrittenCheck::MaxWords(most) => format!("has at most {most} words"),
            WrittenCheck::MinWords(least) => format!("has at least {least} words"),
            WrittenCheck::MaxSeconds(most) => format!("takes at most {most} s"),
            WrittenCheck::CallsTool(name) => format!("calls {name}"),
            WrittenCheck::NotCallsTool(name) => format!("does not call {name}"),
        }
    }
}

/// Reads the file, or says everything that is wrong with it, each with its line.
pub fn read(text: &str) -> Result<Vec<Input>, Vec<String>> {
    let placed = |line: usize, reason: String| match line {
        0 => reason,
        line => format!("line {line}: {reason}"),
    };
    let list = yaml::entries(text).map_err(|flaw| vec![placed(flaw.line, flaw.reason)])?;
    let (mut inputs, mut problems) = (Vec::<Input>::new(), Vec::new());
    for (line, value) in list {
        match input(value, inputs.len() + 1) {
            Ok(input) if inputs.iter().any(|known| known.name == input.name) => {
                let reason = format!("Another test input is called “{}”.", input.name);
                problems.push(placed(line, reason));
            }
            Ok(input) => inputs.push(input),
            Err(reason) => problems.push(placed(line, reason)),
        }
    }
    if inputs.len() > MAX_INPUTS {
        problems.push(format!("There are more than {MAX_INPUTS} test inputs."));
    }
    if inputs.is_empty() && problems.is_empty() {
        problems.push("There is no test input in it.".into());
    }
    if problems.is_empty() { Ok(inputs) } else { Err(problems) }
}

fn input(value: Value, number: usize) -> Result<Input, String> {
    // A text alone is something to ask.
    let written = match value {
        Value::String(text) => Written {
            name: None,
            input: Some(text),
            turns: None,
            check: String::new(),
            checks: Vec::new(),
        },
        other => yaml::fitting(other, "This is no test input")?,
    };
    let turns = match (written.input, written.turns) {
        (Some(input), None) => vec![input],
        (None, Some(turns)) if !turns.is_empty() => turns,
        _ => return Err("A test input has either an input or turns.".into()),
    };
    for turn in &turns {
        let check = written.check.clone();
        let fields = TestInputFields { content: turn.clone(), check, ..TestInputFields::default() };
        fields.check().map_err(|error| error.to_string())?;
    }
    let checks = written.checks.into_iter().map(Check::read).collect::<Result<_, _>>()?;
    let name = written.name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    Ok(Input {
        name: name.unwrap_or_else(|| format!("input {number}")),
        turns,
        note: written.check,
        checks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: WrittenCheck) -> Check {
        Check::read(written).unwrap()
    }

    #[test]
    fn checks_hold_or_do_not() {
        let tools = ["add".to_owned()];
        let answer = Checked { text: "It is Forty-Two, surely.", tools: &tools, millis: 1500 };
        let good = [
            WrittenCheck::Contains("forty-two".into()),
            WrittenCheck::NotContains("fifty".into()),
            WrittenCheck::Regex("^It .* surely\\.$".into()),
            WrittenCheck::NotRegex("^forty".into()),
            WrittenCheck::MaxWords(4),
            WrittenCheck::MinWords(4),
            WrittenCheck::MaxSeconds(2),
            WrittenCheck::CallsTool("add".into()),
            WrittenCheck::NotCallsTool("subtract".into()),
        ];
        let bad = [
            WrittenCheck::Contains("fifty".into()),
            WrittenCheck::NotContains("FORTY".into()),
            WrittenCheck::Regex("^forty".into()),
            WrittenCheck::NotRegex("(?i)forty".into()),
            WrittenCheck::MaxWords(3),
            WrittenCheck::MinWords(5),
            WrittenCheck::MaxSeconds(1),
            WrittenCheck::CallsTool("subtract".into()),
            WrittenCheck::NotCallsTool("add".into()),
        ];

        for written in good {
            assert!(check(written.clone()).holds(&answer), "{written:?}");
        }
        for written in bad {
            assert!(!check(written.clone()).holds(&answer), "{written:?}");
        }
    }

    #[test]
    fn a_file_is_read_whole_or_everything_wrong_with_it_is_said() {
        let inputs = read(
            "- Hello?\n- name: two\n  turns: [One, Two]\n  check: Is brief.\n  checks:\n    \
             - contains: x\n    - max_words: 3\n",
        )
        .unwrap();
        let read_names: Vec<(&str, usize, usize)> = inputs
            .iter()
            .map(|input| (input.name.as_str(), input.turns.len(), input.checks.len()))
            .collect();
        assert_eq!(read_names, [("input 1", 1, 0), ("two", 2, 2)]);
        assert_eq!(inputs[1].checks[1].told(), "has at most 3 words");

        let problems = read(
            "- name: a\n  input: x\n- name: a\n  input: y\n- input: x\n  turns: [y]\n\
             - input: x\n  checks: [{regex: \"(\"}]\n- input: x\n  checks: [{sings: well}]\n\
             - input: \"\"\n- 3\n",
        )
        .unwrap_err();
        let expected = [
            "line 3: Another test input is called “a”.",
            "line 5: A test input has either an input or turns.",
            "line 7: “(” is no regular expression",
            "line 9: This is no test input at “checks[0]",
            "line 11: The test input must not be empty.",
            "line 12: This is no test input",
        ];
        assert_eq!(problems.len(), expected.len(), "{problems:#?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.starts_with(expected), "{problem}");
        }
        assert_eq!(read("").unwrap_err(), ["There is no test input in it."]);
    }

    #[test]
    fn the_tests_of_the_retirement_example_can_be_read() {
        let inputs = read(include_str!("../../../examples/retirement/tests.yaml")).unwrap();

        assert_eq!(inputs.len(), 6);
        assert!(inputs.iter().all(|input| !input.checks.is_empty() && !input.note.is_empty()));
    }
}
