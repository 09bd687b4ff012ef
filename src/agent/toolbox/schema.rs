//! The schema of what a found tool is given, so that every service takes it.

use serde_json::{Map, Value};

/// Keywords that hold one schema.
const ONE: [&str; 12] = [
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];
/// Keywords that hold a list of schemas.
const LISTED: [&str; 5] = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
/// Keywords that hold schemas by name.
const NAMED: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// Says of every array that its items may be anything where nothing is said of them: some services refuse
/// all tools for one array without that.
pub fn name_items(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if is_array(schema) {
        schema.entry("items").or_insert_with(|| Map::new().into());
    }
    for (keyword, value) in schema {
        let keyword = keyword.as_str();
        match value {
            Value::Object(named) if NAMED.contains(&keyword) => {
                named.values_mut().for_each(name_items);
            }
            Value::Object(_) if ONE.contains(&keyword) => name_items(value),
            Value::Array(list) if LISTED.contains(&keyword) => {
                list.iter_mut().for_each(name_items);
            }
            // What else there is are values, which may look like a schema.
            _ => {}
        }
    }
}

fn is_array(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_array_says_something_of_its_items_and_nothing_else_is_changed() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "type": {"type": "array"},
                "pair": {"type": "array", "prefixItems": [{"type": "array"}]},
                "named": {"type": "array", "items": {"type": "string"}},
                "some": {"anyOf": [{"type": ["array", "null"]}, {"type": "null"}]},
                "deep": {"type": "object", "additionalProperties": {"type": "array"}},
                "value": {"type": "object", "default": {"type": "array"}, "enum": [{"type": "array"}]},
            },
            "$defs": {"list": {"type": "array", "items": {"type": "array"}}},
            "required": ["type"],
        });

        name_items(&mut schema);

        let expected = json!({
            "type": "object",
            "properties": {
                "type": {"type": "array", "items": {}},
                "pair": {
                    "type": "array", "prefixItems": [{"type": "array", "items": {}}], "items": {},
                },
                "named": {"type": "array", "items": {"type": "string"}},
                "some": {"anyOf": [{"type": ["array", "null"], "items": {}}, {"type": "null"}]},
                "deep": {
                    "type": "object", "additionalProperties": {"type": "array", "items": {}},
                },
                "value": {"type": "object", "default": {"type": "array"}, "enum": [{"type": "array"}]},
            },
            "$defs": {"list": {"type": "array", "items": {"type": "array", "items": {}}}},
            "required": ["type"],
        });
        assert_eq!(schema, expected);
    }
}
