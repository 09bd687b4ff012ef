//! The keys that a server was given, taken out of whatever it says: servers like to quote them.

use std::{cmp::Reverse, sync::Arc};

use serde_json::Value;

use crate::providers::Key;

/// A variable with fewer letters is a setting and no key: hidden, it would tear holes into every text.
const MIN_KEY: usize = 8;

/// The keys that a server was given. Cheap to clone, and never printed.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Arc<[Key]>);

impl Secrets {
    /// The one key of a server behind an address.
    pub fn of_token(key: Key) -> Self {
        Self([key].into())
    }

    /// What a program's variables were read from.
    pub fn of_variables(mut keys: Vec<Key>) -> Self {
        keys.retain(|key| key.expose().len() >= MIN_KEY);
        // One may be the beginning of another.
        keys.sort_by_key(|key| Reverse(key.expose().len()));
        Self(keys.into())
    }

    /// A text without them and their pieces, and without the beginning of one where the text was cut.
    pub fn hide_in(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, key| key.hide_in(&text))
    }

    /// Takes them out of every text in a value.
    pub fn hide_in_all(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for key in self.0.iter() {
                    *text = key.hide_pieces(text);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide_in_all(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.hide_in_all(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::providers::{Demo, Pace, Providers, TimeLimits};

    fn keys(values: &[&str]) -> Vec<Key> {
        let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        let count = values.len();
        let environment = move |name: &str| values.get(name.len() - 1).cloned();
        let demo = Demo::new(Pace::AtOnce);
        let providers = Providers::new(TimeLimits::default(), demo, Arc::new(environment)).unwrap();
        (1..=count).map(|at| providers.key(&format!("env:{}", "K".repeat(at))).unwrap()).collect()
    }

    #[test]
    fn a_key_is_taken_out_whole_and_cut() {
        let secrets = Secrets::of_variables(keys(&["a-named-value"]));

        for (said, told) in [
            ("a-named-value", "…"),
            ("“a-named-value” and a-named-value.", "“…” and …."),
            ("cut: a-named-val (and more) é", "cut: … (and more) é"),
            ("a-named-valé", "…é"),
            ("at the end a-na", "at the end …"),
            ("nothing of a kind", "nothing of a kind"),
        ] {
            assert_eq!(secrets.hide_in(said), told, "{said}");
        }
        let mut value = json!({"a": ["x a-named-value", 1, null], "type": "a-na"});
        secrets.hide_in_all(&mut value);
        assert_eq!(value, json!({"a": ["x …", 1, null], "type": "a-na"}));
    }

    #[test]
    fn a_short_variable_is_a_setting_and_a_short_token_is_a_key() {
        let variables = Secrets::of_variables(keys(&["debug", "long-enough", "long-enough-too"]));
        let token = Secrets::of_token(keys(&["hunter2"]).remove(0));

        let said = "debug long-enough-too long-enough hunter2!";
        assert_eq!(variables.hide_in(said), "debug … … hunter2!");
        assert_eq!(token.hide_in(said), "debug long-enough-too long-enough …!");
    }
}
