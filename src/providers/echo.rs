//! Keys that a service says in its answers: taken out before anybody hears them, also where one comes in
//! pieces.

use serde_json::Value;

use super::{ModelEvent, keys::Key};
use crate::domain::message::Carried;

/// What is shorter opens nothing worth hiding: people write `none` or `ollama` where no key is needed. Nor is any
/// other letter than those of ASCII sent in a header.
const SHORTEST: usize = 16;
/// What stands in place of a key.
const INSTEAD: &str = "…";

/// Listens to an answer for the key that was sent for it.
pub struct Echo<'key> {
    /// The key, if there is one that could be quoted.
    key: Option<&'key str>,
    /// The end of what came last, as long as it could be the beginning of the key.
    held: Option<ModelEvent>,
}

impl<'key> Echo<'key> {
    /// Listens for this key.
    pub fn of(key: Option<&'key Key>) -> Self {
        let key = key.map(Key::expose).filter(|key| key.len() >= SHORTEST && key.is_ascii());
        Self { key, held: None }
    }

    /// What may be told now: what was held back, and this, each without the key.
    pub fn hear(&mut self, event: ModelEvent) -> impl Iterator<Item = ModelEvent> + use<> {
        let Some(key) = self.key else { return [None, Some(event)].into_iter().flatten() };
        let told = match event {
            ModelEvent::Text(text) => self.joined(key, text, ModelEvent::Text),
            ModelEvent::Reasoning(text) => self.joined(key, text, ModelEvent::Reasoning),
            ModelEvent::ToolCall { name, input, carried } => {
                let input = match input {
                    Ok(value) => Ok(hidden_in(key, value)),
                    Err(text) => Err(text.replace(key, INSTEAD)),
                };
                let (name, carried) = (name.replace(key, INSTEAD), without(key, carried));
                [self.rest(), Some(ModelEvent::ToolCall { name, input, carried })]
            }
            ModelEvent::PartEnd(carried) => {
                let carried = carried.map(|carried| without(key, carried));
                [self.rest(), Some(ModelEvent::PartEnd(carried))]
            }
            // It says nothing, and may come amid a word.
            event @ (ModelEvent::Usage(_) | ModelEvent::Retrying { .. }) => [None, Some(event)],
            event @ ModelEvent::Stop(_) => [self.rest(), Some(event)],
        };
        told.into_iter().flatten()
    }

    /// What was held back when nothing more comes. More than half of a key is one that was cut off.
    pub fn rest(&mut self) -> Option<ModelEvent> {
        let half = self.key.map_or(0, str::len) / 2;
        let shown = |text: String| if text.len() > half { INSTEAD.to_owned() } else { text };
        match self.held.take()? {
            ModelEvent::Text(text) => Some(ModelEvent::Text(shown(text))),
            ModelEvent::Reasoning(text) => Some(ModelEvent::Reasoning(shown(text))),
            other => Some(other),
        }
    }

    /// What may be told of more words or thoughts, after what was held back of others.
    fn joined(
        &mut self,
        key: &str,
        text: String,
        kind: fn(String) -> ModelEvent,
    ) -> [Option<ModelEvent>; 2] {
        let (before, mut text) = match (self.held.take(), kind(String::new())) {
            (Some(ModelEvent::Text(held)), ModelEvent::Text(_))
            | (Some(ModelEvent::Reasoning(held)), ModelEvent::Reasoning(_)) => (None, held + &text),
            (other, _) => {
                self.held = other;
                (self.rest(), text)
            }
        };
        if text.contains(key) {
            text = text.replace(key, INSTEAD);
        }
        let begun = (1..key.len()).rev().find(|length| text.ends_with(&key[..*length]));
        if let Some(length) = begun {
            self.held = Some(kind(text.split_off(text.len() - length)));
        }
        [before, (!text.is_empty()).then(|| kind(text))]
    }
}

/// A value without the key in any of its texts.
fn hidden_in(key: &str, value: Value) -> Value {
    match value {
        Value::String(text) if text.contains(key) => Value::String(text.replace(key, INSTEAD)),
        Value::Array(all) => all.into_iter().map(|one| hidden_in(key, one)).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields.map(|(name, one)| (name.replace(key, INSTEAD), hidden_in(key, one))).collect()
        }
        other => other,
    }
}

fn without(key: &str, carried: Carried) -> Carried {
    let Carried { service, model, id, data } = carried;
    let id = id.map(|id| id.replace(key, INSTEAD));
    Carried { service, model, id, data: data.map(|data| hidden_in(key, data)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::run::StopReason;

    const KEY: &str = "sk-c4n4ry-0123456789";

    fn told(key: &str, events: Vec<ModelEvent>) -> Vec<ModelEvent> {
        let key = Key::new(key.into());
        let mut echo = Echo::of(Some(&key));
        let mut out: Vec<ModelEvent> =
            events.into_iter().flat_map(|event| echo.hear(event).collect::<Vec<_>>()).collect();
        out.extend(echo.rest());
        out
    }

    fn text(words: &str) -> ModelEvent {
        ModelEvent::Text(words.into())
    }

    fn thought(words: &str) -> ModelEvent {
        ModelEvent::Reasoning(words.into())
    }

    #[test]
    fn a_key_is_taken_out_wherever_it_is_cut() {
        for cut in 1..KEY.len() {
            let pieces = vec![
                text("It is "),
                text(&KEY[..cut]),
                ModelEvent::Usage(Default::default()),
                text(&format!("{}!", &KEY[cut..])),
                ModelEvent::PartEnd(None),
            ];
            let expected = [
                text("It is "),
                ModelEvent::Usage(Default::default()),
                text("…!"),
                ModelEvent::PartEnd(None),
            ];
            assert_eq!(told(KEY, pieces), expected, "cut after {cut}");
        }
        let letters = KEY.chars().map(|letter| thought(&letter.to_string())).collect();
        assert_eq!(told(KEY, letters), [thought("…")]);
        assert_eq!(told(KEY, vec![text(&format!("{KEY}{KEY}, {KEY}"))]), [text("……, …")]);
    }

    #[test]
    fn what_only_begins_like_a_key_is_told_as_it_was() {
        let stop = || ModelEvent::Stop(StopReason::EndTurn);

        assert_eq!(
            told(KEY, vec![text("Yes"), text(", it is"), text(" so."), stop()]),
            [text("Ye"), text("s, it i"), text("s so."), stop()]
        );
        // Keys begin alike; more than half of one is told by nobody by chance.
        assert_eq!(told(KEY, vec![text("sk-c4n4ry-"), stop()]), [text("sk-c4n4ry-"), stop()]);
        assert_eq!(told(KEY, vec![text("sk-c4n4ry-0"), stop()]), [text("…"), stop()]);
        assert_eq!(
            told(KEY, vec![thought("sk-"), text("c4n4ry")]),
            [thought("sk-"), text("c4n4ry")]
        );
        // A word that stands where no key is needed is a word.
        assert_eq!(told("ollama", vec![text("I am ollama.")]), [text("I am ollama.")]);
    }

    #[test]
    fn a_key_is_taken_out_of_calls_and_of_what_comes_with_a_part() {
        let carried = |said: &str| Carried {
            service: "openai".into(),
            model: "m".into(),
            id: Some(format!("id-{said}")),
            data: Some(json!([{"signature": said}])),
        };
        let call = |said: &str| ModelEvent::ToolCall {
            name: "write".into(),
            input: Ok(json!({"path": "a", said: [1, {"deep": format!("({said})")}]})),
            carried: carried(said),
        };
        let broken = |said: &str| ModelEvent::ToolCall {
            name: said.into(),
            input: Err(format!("{{\"{said}")),
            carried: Carried::default(),
        };
        let end = |said: &str| ModelEvent::PartEnd(Some(carried(said)));

        assert_eq!(
            told(KEY, vec![call(KEY), broken(KEY), end(KEY)]),
            [call("…"), broken("…"), end("…")]
        );
    }
}
