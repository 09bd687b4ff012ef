//! Bringing a change up to date with what happened since it was written.

use serde_json::Value;

use crate::domain::{
    change::{Conflict, Fields},
    merge::{merge, merge_over},
    version::Revision,
};

/// The fields whose text is merged word by word. In the others, two different values are a conflict.
const PROSE: [&str; 7] = ["systemPrompt", "appearance", "notes", "content", "body", "note", "text"];

/// What `current` becomes when the patch, written against `base`, is applied to it.
pub fn rebase(
    base: &Fields,
    current: &Fields,
    patch: &Fields,
    revision: Revision,
) -> Result<Fields, Conflict> {
    let mut out = current.clone();
    for (field, wanted) in patch {
        out.insert(field.clone(), join(field, base, current, wanted, revision)?);
    }
    Ok(out)
}

/// The patch with what happened since in it, and with its own words alone where both touch the same
/// passage: what a person finds when it does not fit.
pub fn rebase_over(base: &Fields, current: &Fields, patch: &Fields) -> Fields {
    let null = Value::Null;
    let joined = patch.iter().map(|(field, wanted)| {
        let was = base.get(field).unwrap_or(&null);
        let is = current.get(field).unwrap_or(&null);
        let joined = match (was, wanted, is) {
            _ if wanted == was => is.clone(),
            (Value::String(was), Value::String(wanted), Value::String(is))
                if PROSE.contains(&field.as_str()) =>
            {
                merge_over(was, wanted, is).into()
            }
            _ => wanted.clone(),
        };
        (field.clone(), joined)
    });
    joined.collect()
}

/// The fields of the patch beside what stands now, where they differ.
pub fn beside(current: &Fields, patch: &Fields, revision: Revision) -> Vec<Conflict> {
    let is = |field: &str| text(current.get(field).unwrap_or(&Value::Null));
    patch
        .iter()
        .map(|(field, wanted)| (field, text(wanted)))
        .filter(|(field, wanted)| is(field) != *wanted)
        .map(|(field, yours)| Conflict {
            field: field.clone(),
            yours,
            theirs: is(field),
            base: String::new(),
            revision,
        })
        .collect()
}

/// The value of one field with both edits in it.
fn join(
    field: &str,
    base: &Fields,
    current: &Fields,
    wanted: &Value,
    revision: Revision,
) -> Result<Value, Conflict> {
    let was = base.get(field).unwrap_or(&Value::Null);
    let is = current.get(field).unwrap_or(&Value::Null);
    if is == was || is == wanted {
        return Ok(wanted.clone());
    }
    if wanted == was {
        return Ok(is.clone());
    }
    let merged = match (was, wanted, is) {
        (Value::String(was), Value::String(wanted), Value::String(is))
            if PROSE.contains(&field) =>
        {
            merge(was, wanted, is).ok()
        }
        _ => None,
    };
    merged.map(Value::String).ok_or_else(|| Conflict {
        field: field.to_owned(),
        yours: text(wanted),
        theirs: text(is),
        base: text(was),
        revision,
    })
}

/// A value as a person reads it.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(words) => {
            words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Fields {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn untouched_fields_keep_what_others_wrote() {
        let base = fields(json!({"name": "A", "notes": "n"}));
        let current = fields(json!({"name": "B", "notes": "n"}));

        let out = rebase(&base, &current, &fields(json!({"notes": "m"})), 2);

        assert_eq!(out, Ok(fields(json!({"name": "B", "notes": "m"}))));
    }

    #[test]
    fn prose_is_merged_and_names_are_not() {
        let base = fields(json!({"name": "A b c", "systemPrompt": "one two three"}));
        let current = fields(json!({"name": "X b c", "systemPrompt": "ONE two three"}));

        let prompt = rebase(&base, &current, &fields(json!({"systemPrompt": "one two THREE"})), 2);
        let name = rebase(&base, &current, &fields(json!({"name": "A b Y"})), 2);

        assert_eq!(prompt.unwrap()["systemPrompt"], "ONE two THREE");
        assert_eq!(
            name,
            Err(Conflict {
                field: "name".into(),
                yours: "A b Y".into(),
                theirs: "X b c".into(),
                base: "A b c".into(),
                revision: 2
            })
        );
    }

    #[test]
    fn a_field_sent_along_unchanged_does_not_bring_back_the_old_text() {
        let base = fields(json!({"name": "A", "notes": "n"}));
        let current = fields(json!({"name": "B", "notes": "n"}));

        let out = rebase(&base, &current, &fields(json!({"name": "A", "notes": "m"})), 2);

        assert_eq!(out, Ok(fields(json!({"name": "B", "notes": "m"}))));
    }
}
