//! Replacing a passage of a file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::read_file::{missing, no_text};
use crate::{
    agent::{
        desk::CallDesk,
        tool::{Effect, Tool, ToolError, ToolOutput},
    },
    domain::{
        field::{has_windows_lines, windows_lines},
        patch::only_place,
        virtual_file::{FileChange, FilePath},
    },
};

/// Replaces a passage of a text file of this session and leaves the rest exactly as it is.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The file.
    path: String,
    /// The passage as it stands, letter by letter, without line numbers. It must occur exactly once.
    old_string: String,
    /// What stands there afterwards; empty to remove the passage.
    new_string: String,
    /// Replace it wherever it occurs, instead of exactly once.
    #[serde(default)]
    replace_all: bool,
}

/// The tool.
pub struct EditFile;

impl Tool for EditFile {
    type Input = Input;
    const NAME: &'static str = "edit_file";
    const EFFECT: Effect = Effect::Writes;

    async fn run(&self, input: Input, desk: &CallDesk<'_>) -> Result<ToolOutput, ToolError> {
        let path = FilePath::parse(&input.path)?;
        let (agent, scope, place) = (&desk.agent, &desk.scope, desk.files()?);
        // Whether it can be done is decided while nobody else writes; what the model is told comes out.
        let done = agent.rewrite_file(scope, place, desk.call, &path, |known| {
            let text = match &known {
                Some(file) => file.text().ok_or_else(|| no_text(&path)),
                None => Err(missing(&path)),
            };
            let edited = text.and_then(|text| edited(text, &input).map_err(ToolError::TellModel));
            Ok(match edited {
                Ok((content, times)) => {
                    let change = FileChange { path: path.clone(), content: Some(content.into()) };
                    (vec![change], Ok(times))
                }
                Err(told) => (Vec::new(), Err(told)),
            })
        });
        Ok(ToolOutput::text(match done.await?? {
            1 => format!("The passage of “{path}” was replaced."),
            times => format!("{times} passages of “{path}” were replaced."),
        }))
    }
}

/// The text with the passage replaced, and how often; or why that cannot be.
fn edited(text: &str, input: &Input) -> Result<(String, usize), String> {
    let Input { old_string: old, new_string: new, replace_all, .. } = input;
    if old.is_empty() {
        return Err("The passage to replace must not be empty.".into());
    }
    let nothing = "Nothing was changed.";
    let (old, new) = &as_there(text, old, new);
    match only_place(text, old) {
        Ok(_) => Ok((text.replace(old.as_str(), new), 1)),
        Err(0) => Err(format!("The passage does not occur in the file. {nothing} Read it again.")),
        Err(_) if *replace_all => {
            Ok((text.replace(old.as_str(), new), text.matches(old.as_str()).count()))
        }
        Err(times) => Err(format!(
            "The passage occurs {times} times. {nothing} Give more of its surroundings so that it \
             occurs once, or set replace_all."
        )),
    }
}

/// Both passages with the ends of lines that the text has: a model is shown none of them.
fn as_there(text: &str, old: &str, new: &str) -> (String, String) {
    let names_ends = old.contains('\r') || new.contains('\r');
    let stands_there =
        || has_windows_lines(text) || !text.contains(old) && text.contains(&windows_lines(old));
    match !names_ends && stands_there() {
        true => (windows_lines(old), windows_lines(new)),
        false => (old.to_owned(), new.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(old: &str, new: &str, replace_all: bool) -> Input {
        let (old_string, new_string) = (old.into(), new.into());
        Input { path: "a".into(), old_string, new_string, replace_all }
    }

    #[test]
    fn a_passage_that_occurs_once_is_replaced_and_others_are_not() {
        let text = "a\nb\na\n";

        assert_eq!(edited(text, &input("b", "c", false)), Ok(("a\nc\na\n".into(), 1)));
        assert_eq!(edited(text, &input("a", "c", true)), Ok(("c\nb\nc\n".into(), 2)));
        assert!(edited(text, &input("a", "c", false)).unwrap_err().contains("2 times"));
        assert!(edited(text, &input("z", "c", true)).unwrap_err().contains("does not occur"));
        assert!(edited(text, &input("", "c", true)).is_err());
    }

    #[test]
    fn a_passage_of_several_lines_is_found_however_they_end() {
        let table = "a,1\r\nb,2\r\n";
        let mixed = "name,n\na,1\r\nb,2\r\n";
        let both = input("a,1\nb,2", "c,3\nd,4", false);

        assert_eq!(edited(table, &both), Ok(("c,3\r\nd,4\r\n".into(), 1)));
        assert_eq!(edited(mixed, &both), Ok(("name,n\nc,3\r\nd,4\r\n".into(), 1)));
        let row = input("a,1", "a,1\nz,9", false);
        assert_eq!(edited(table, &row), Ok(("a,1\r\nz,9\r\nb,2\r\n".into(), 1)));
        // What names the ends of lines means them.
        let plain = input("\r\n", "\n", true);
        assert_eq!(edited(table, &plain), Ok(("a,1\nb,2\n".into(), 2)));
    }

    #[test]
    fn a_passage_that_overlaps_itself_occurs_twice() {
        let text = "\"}\n}\n}\n";

        assert_eq!(
            edited(text, &input("}\n}", "}", false)),
            Err("The passage occurs 2 times. Nothing was changed. Give more of its surroundings so \
                 that it occurs once, or set replace_all."
                .into())
        );
        assert_eq!(edited(text, &input("}\n}", "}", true)), Ok(("\"}\n}\n".into(), 1)));
    }
}
