//! What is said, as far as one attribute goes.

use serde_json::{Value, json};

/// The most bytes of one attribute.
const MAX_VALUE_BYTES: usize = 64 * 1024;
/// How far the texts of a list are shortened before its oldest are left out, in bytes.
const SHORTENED: usize = 1024;
/// No text is cut below this: names and kinds are shorter.
const SHORTEST: usize = 128;

/// A text, as far as one attribute goes.
pub fn cut(text: &str) -> String {
    if text.len() <= MAX_VALUE_BYTES {
        return text.to_owned();
    }
    shortened(text, MAX_VALUE_BYTES)
}

fn shortened(text: &str, longest: usize) -> String {
    format!("{}…", &text[..text.floor_char_boundary(longest)])
}

/// JSON that fits into one attribute and can be read as JSON, however long it was: its long texts are shortened,
/// and when that does not help, the oldest of a list are left out.
pub fn fitting(mut all: Value) -> String {
    let mut told = all.to_string();
    let mut longest = MAX_VALUE_BYTES / 2;
    while told.len() > MAX_VALUE_BYTES && longest >= SHORTEST {
        shorten(&mut all, longest);
        told = all.to_string();
        if let (..=SHORTENED, Some(list)) = (longest, all.as_array_mut()) {
            leave_oldest(list, told.len().saturating_sub(MAX_VALUE_BYTES));
            told = all.to_string();
        }
        longest /= 2;
    }
    if told.len() > MAX_VALUE_BYTES { json!("…").to_string() } else { told }
}

fn shorten(all: &mut Value, longest: usize) {
    match all {
        Value::String(text) if text.len() > longest => *text = shortened(text, longest),
        Value::Array(list) => list.iter_mut().for_each(|one| shorten(one, longest)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|one| shorten(one, longest));
        }
        _ => {}
    }
}

/// Takes the first out of a list until so many bytes are gone; the last stays.
fn leave_oldest(list: &mut Vec<Value>, bytes: usize) {
    let mut gone = 0;
    let last = list.len().saturating_sub(1);
    let is_oldest = |one: &&Value| {
        let more = gone < bytes;
        gone += one.to_string().len() + 1;
        more
    };
    let oldest = list[..last].iter().take_while(is_oldest).count();
    list.drain(..oldest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_attribute_takes_so_much_and_no_more() {
        let long = cut(&"é".repeat(MAX_VALUE_BYTES));
        assert!(long.ends_with('…') && long.len() <= MAX_VALUE_BYTES + 3);
        assert_eq!(cut("short"), "short");
    }

    /// It was cut in the middle, and no receiver could read it.
    #[test]
    fn what_is_too_long_for_an_attribute_can_be_read_all_the_same() {
        let said =
            |text: &str| json!({"role": "user", "parts": [{"type": "text", "content": text}]});
        let read = |list: Vec<Value>| -> Vec<Value> {
            let told = fitting(list.into());
            assert!(told.len() <= MAX_VALUE_BYTES, "{}", told.len());
            serde_json::from_str(&told).unwrap()
        };
        let words = |one: &Value| one["parts"][0]["content"].as_str().unwrap().to_owned();

        let file = "\"é\"\n".repeat(40_000);
        let told = read(vec![said("Read it"), said(&file), said("And now?")]);
        assert_eq!((told.len(), words(&told[0]).as_str()), (3, "Read it"));
        assert!(words(&told[1]).len() > 1000 && words(&told[1]).ends_with('…'));

        let many: Vec<_> =
            (0..5000).map(|at| said(&format!("{at} {}", "x".repeat(2000)))).collect();
        let told = read(many);
        assert!(told.len() > 30, "{}", told.len());
        assert!(words(told.last().unwrap()).starts_with("4999 "), "the newest stay");

        let numbers = json!({"all": vec![7; 100_000], "path": "a.txt"});
        assert_eq!(fitting(numbers), "\"…\"");
        assert_eq!(fitting(json!({"path": "a.txt"})), r#"{"path":"a.txt"}"#);
    }
}
