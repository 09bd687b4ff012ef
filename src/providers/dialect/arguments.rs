//! The input of a tool call, which models write as text.

use serde_json::{Map, Value};

/// Whether the model came to the end of what it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It did.
    Whole,
    /// The limit of the answer came first.
    Cut,
}

/// The object that a text stands for, or the text itself when it is none.
pub fn read(text: &str, ending: Ending) -> Result<Value, String> {
    if is_nothing(text) {
        return match ending {
            Ending::Whole => Ok(Value::Object(Map::new())),
            Ending::Cut => Err(text.to_owned()),
        };
    }
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        // Some servers encode the JSON twice.
        Ok(Value::String(inner)) if is_nothing(&inner) => Ok(Value::Object(Map::new())),
        Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
            Ok(object @ Value::Object(_)) => Ok(object),
            Ok(_) | Err(_) => Err(text.to_owned()),
        },
        Ok(_) | Err(_) => Err(text.to_owned()),
    }
}

/// The object that a value already is or stands for.
pub fn from_value(value: Option<Value>, ending: Ending) -> Result<Value, String> {
    match value {
        None | Some(Value::Null) => read("", ending),
        Some(object @ Value::Object(_)) => Ok(object),
        Some(Value::String(text)) => read(&text, ending),
        Some(other) => Err(other.to_string()),
    }
}

/// What goes out as an input: services take objects only.
pub fn object(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { Value::Object(Map::new()) }
}

fn is_nothing(text: &str) -> bool {
    matches!(text.trim(), "" | "null")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_an_empty_object_unless_it_was_cut_off() {
        for text in ["", " ", "null", "\"\""] {
            assert_eq!(read(text, Ending::Whole), Ok(json!({})), "{text:?}");
        }
        assert_eq!(read("", Ending::Cut), Err(String::new()));
        assert_eq!(read("null", Ending::Cut), Err("null".into()));
    }

    #[test]
    fn json_encoded_twice_is_unwrapped_once() {
        assert_eq!(read(r#""{\"a\":1}""#, Ending::Whole), Ok(json!({"a": 1})));

        let thrice = r#""\"{}\"""#;
        assert_eq!(read(thrice, Ending::Whole), Err(thrice.into()));
    }

    #[test]
    fn what_is_no_object_stays_the_text_it_was() {
        for text in ["{\"a\":", "[1]", "7", "words"] {
            assert_eq!(read(text, Ending::Whole), Err(text.into()));
        }
    }
}
