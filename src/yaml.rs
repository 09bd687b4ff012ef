//! Lists in YAML files that an operator writes, each entry with the line on which it begins.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The most that is read of a file.
pub const MAX_BYTES: usize = 256 * 1024;

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The line; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong, in a sentence.
    pub reason: String,
}

/// The entries of a list with their lines. A file in which nothing is written has none.
pub fn entries(text: &str) -> Result<Vec<(usize, Value)>, Flaw> {
    let flaw = |line: usize, reason: String| Flaw { line, reason };
    if text.len() > MAX_BYTES {
        return Err(flaw(0, format!("It is larger than {} KiB.", MAX_BYTES / 1024)));
    }
    let documents = MarkedYaml::load_from_str(text).map_err(|error| {
        flaw(error.marker().line(), format!("This is no YAML: {}.", error.info()))
    })?;
    let Some(document) = documents.first() else { return Ok(Vec::new()) };
    match &document.data {
        YamlData::Value(Scalar::Null) => Ok(Vec::new()),
        YamlData::Sequence(list) => list
            .iter()
            .map(|entry| json(entry).map(|value| (entry.span.start.line(), value)))
            .collect(),
        _ => Err(flaw(
            document.span.start.line(),
            "This is no list: each entry begins with a dash.".into(),
        )),
    }
}

/// A node as JSON has it.
fn json(node: &MarkedYaml<'_>) -> Result<Value, Flaw> {
    let odd = |reason: &str| Flaw { line: node.span.start.line(), reason: reason.into() };
    Ok(match &node.data {
        YamlData::Value(Scalar::Null) => Value::Null,
        YamlData::Value(Scalar::Boolean(value)) => Value::from(*value),
        YamlData::Value(Scalar::Integer(number)) => Value::from(*number),
        YamlData::Value(Scalar::FloatingPoint(number)) => Value::from(number.into_inner()),
        YamlData::Value(Scalar::String(text)) => Value::from(text.as_ref()),
        YamlData::Representation(text, ..) => Value::from(text.as_ref()),
        YamlData::Sequence(list) => Value::Array(list.iter().map(json).collect::<Result<_, _>>()?),
        YamlData::Mapping(pairs) => {
            let mut map = Map::new();
            for (key, value) in pairs {
                let key = match json(key)? {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                map.insert(key, json(value)?);
            }
            Value::Object(map)
        }
        YamlData::Tagged(_, inner) => json(inner)?,
        YamlData::Alias(_) | YamlData::BadValue => return Err(odd("This cannot be read.")),
    })
}

/// An entry as a type wants it, or what does not fit, in a sentence that begins like this.
pub fn fitting<T: DeserializeOwned>(value: Value, begins: &str) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!(" at “{path}”") };
        format!("{begins}{place}: {}.", error.inner())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_know_their_lines() {
        let text = "# Head.\n- one\n-   two: [1, 2.5, true, null, \"3\"]\n    three: >-\n      a\n      b\n\n- ''\n";

        let read = entries(text).unwrap();

        let second = json!({"two": [1, 2.5, true, null, "3"], "three": "a b"});
        assert_eq!(read, [(2, json!("one")), (3, second), (8, json!(""))]);
        assert_eq!(entries(""), Ok(Vec::new()));
        assert_eq!(entries("# Nothing yet.\n"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_list_says_where() {
        let broken = entries("- ls\n- [unclosed\n").unwrap_err();
        assert!(broken.line >= 2 && broken.reason.starts_with("This is no YAML"), "{broken:?}");
        let mapping = entries("# Head.\ntools:\n  - ls\n").unwrap_err();
        assert_eq!(mapping.line, 2);
        assert!(mapping.reason.starts_with("This is no list"), "{mapping:?}");
        assert_eq!(entries("- 1: x\n"), Ok(vec![(1, json!({"1": "x"}))]));
        assert_eq!(entries(&"#".repeat(MAX_BYTES + 1)).unwrap_err().line, 0);
    }
}
