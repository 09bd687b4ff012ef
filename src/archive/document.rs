//! A thing as a markdown file: its long text as it is, and above it, between two lines of dashes, all else.
//!
//! What stands above is YAML of the plainest kind: one `name: value` a line, each value written as JSON,
//! which is YAML too. A value that a person wrote without quotes is read as the text it is.

use serde_json::Value;

use super::ArchiveError;
use crate::domain::change::Fields;

const FENCE: &str = "---";

/// A thing as a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What stands above the text.
    pub front: Vec<(String, Value)>,
    /// The text.
    pub body: String,
}

impl Document {
    /// A file about these fields, of which `body` is the long text. What stands first is given.
    pub fn new(first: Vec<(&str, Value)>, mut fields: Fields, body: &str) -> Self {
        let body = match fields.remove(body) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let first = first.into_iter().map(|(name, value)| (name.to_owned(), value));
        let mut front: Vec<(String, Value)> = first.collect();
        // What it is called stands where one looks first.
        for name in ["name", "title"] {
            front.extend(fields.remove(name).map(|value| (name.to_owned(), value)));
        }
        front.extend(fields);
        Self { front, body }
    }

    /// The file.
    pub fn write(&self) -> String {
        let mut out = format!("{FENCE}\n");
        for (name, value) in &self.front {
            out.push_str(&format!("{name}: {value}\n"));
        }
        out.push_str(&format!("{FENCE}\n\n{}\n", self.body));
        out
    }

    /// Reads a file.
    pub fn read(text: &str) -> Result<Self, ArchiveError> {
        let refuse = |sentence: String| Err(ArchiveError::refused(sentence));
        let Some(mut rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))
        else {
            return refuse("It must begin with a line of three dashes.".into());
        };
        let mut front: Vec<(String, Value)> = Vec::new();
        loop {
            let Some((line, after)) = rest.split_once('\n') else {
                return refuse("A second line of three dashes is missing.".into());
            };
            rest = after;
            let line = line.trim_end_matches('\r');
            if line == FENCE {
                break;
            }
            if line.trim().is_empty() {
                continue;
            }
            let Some((name, value)) = line.split_once(':') else {
                return refuse(format!("“{}” is no “name: value”.", shown(line)));
            };
            let (name, value) = (name.trim().to_owned(), value.trim());
            if front.iter().any(|(known, _)| *known == name) {
                return refuse(format!("“{}” stands there twice.", shown(&name)));
            }
            let value = match serde_json::from_str(value) {
                Ok(value) => value,
                Err(error) if value.starts_with(['"', '[', '{']) => {
                    return refuse(format!("“{}” cannot be read: {error}.", shown(&name)));
                }
                Err(_) => Value::String(value.to_owned()),
            };
            front.push((name, value));
        }
        let body = rest.strip_prefix('\n').unwrap_or(rest);
        let body = body.strip_suffix('\n').unwrap_or(body);
        Ok(Self { front, body: body.to_owned() })
    }

    /// Takes what stands above under this name.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.front.iter().position(|(known, _)| known == name)?;
        Some(self.front.remove(at).1)
    }

    /// Takes a text that must stand above.
    pub fn take_text(&mut self, name: &str) -> Result<String, ArchiveError> {
        match self.take(name) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(ArchiveError::refused(format!("“{name}” is missing above the text."))),
        }
    }

    /// All that is left, with the text as the field `body`.
    pub fn into_fields(self, body: &str) -> Fields {
        let mut fields: Fields = self.front.into_iter().collect();
        fields.insert(body.to_owned(), Value::String(self.body));
        fields
    }
}

fn shown(text: &str) -> String {
    text.chars().take(60).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_is_what_a_person_would_write() {
        let fields = json!({"name": "Ann", "systemPrompt": "# Ann\n\nYou are Ann."});
        let Value::Object(fields) = fields else { panic!() };

        let text = Document::new(vec![("id", json!("ann"))], fields, "systemPrompt").write();

        assert_eq!(text, "---\nid: \"ann\"\nname: \"Ann\"\n---\n\n# Ann\n\nYou are Ann.\n");
        let by_hand = Document::read("---\nid: ann\ntools: [\"ls\"]\n---\nHello").unwrap();
        assert_eq!(by_hand.front[0].1, json!("ann"));
        assert_eq!((by_hand.front[1].1.clone(), by_hand.body.as_str()), (json!(["ls"]), "Hello"));
        for bad in ["", "Hello", "---\nid: 1\n", "---\nid\n---\n", "---\na: 1\na: 2\n---\n"] {
            assert!(Document::read(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_was_written_is_read_as_it_was(title: String, body: String) {
            let document = Document {
                front: vec![("id".into(), json!("a")), ("title".into(), json!(title))],
                body,
            };

            prop_assert_eq!(Document::read(&document.write()).unwrap(), document);
        }

        #[test]
        fn whatever_a_file_holds_it_is_read_or_refused(text: String) {
            drop(Document::read(&text));
            drop(Document::read(&format!("---\n{text}\n---\n{text}")));
        }
    }
}
