//! What a model is asked while nobody waits: a title for a chat, or what roleplay needs to know of a
//! persona. Both are drawn from the given words alone.

use serde_json::json;

use super::{plan::usage, story::Story};
use crate::{
    domain::{run::StopReason, tokens::estimate},
    providers::{Ask, ModelEvent},
};

/// How the two requests begin.
const TITLE: &str = "# Name a conversation";
const ROLEPLAY: &str = "# Draw roleplay data";
/// How many words a title has.
const TITLE_WORDS: usize = 6;
/// Words that no title ends with.
const LEAD_ON: [&str; 17] = [
    "a", "an", "and", "any", "at", "by", "for", "from", "in", "my", "of", "on", "or", "the", "to",
    "with", "your",
];
/// How many letters a summary has at most.
const SUMMARY_CHARS: usize = 280;

/// The answer to a request that no person made; `None` for all others.
pub fn answer(ask: &Ask<'_>) -> Option<Vec<ModelEvent>> {
    let words = Story::read(ask.turns).text;
    let text = if ask.system.starts_with(TITLE) {
        title(words)
    } else if ask.system.starts_with(ROLEPLAY) {
        roleplay_data(words)
    } else {
        return None;
    };
    let usage = usage(ask, estimate(&text));
    Some(vec![
        ModelEvent::Text(text),
        ModelEvent::PartEnd(None),
        ModelEvent::Usage(usage),
        ModelEvent::Stop(StopReason::EndTurn),
    ])
}

/// The first words that the person said.
fn title(conversation: &str) -> String {
    let said = conversation.split_once("Person: ").map_or(conversation, |(_, said)| said);
    let sentence = said.split(['.', '!', '?', '\n']).next().unwrap_or_default();
    let all: Vec<&str> = sentence.split_whitespace().collect();
    let mut words = &all[..all.len().min(TITLE_WORDS)];
    while let [rest @ .., last] = words
        && words.len() < all.len()
        && !rest.is_empty()
        && LEAD_ON.contains(last)
    {
        words = rest;
    }
    words.join(" ").trim_end_matches([',', ';', ':']).to_owned()
}

fn roleplay_data(persona: &str) -> String {
    let field = |name: &str| persona.lines().find_map(|line| line.strip_prefix(name));
    let name = field("Name: ").unwrap_or("the persona").trim();
    let appearance = field("Appearance: ").map(str::trim);
    let appearance =
        appearance.map_or_else(|| format!("{name}, as one imagines them"), str::to_owned);
    let prompt = persona.split_once("\n---\n").map_or("", |(_, prompt)| prompt);
    let lines = prompt.lines().map(str::trim);
    let prose: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '-', '*', '|'])).collect();
    let prose: String = prose.join(" ").chars().take(SUMMARY_CHARS).collect();
    let summary = match prose.rfind(['.', '!', '?']) {
        Some(end) => prose[..=end].to_owned(),
        None => prose,
    };
    let summary = if summary.is_empty() { name.to_owned() } else { summary };
    json!({"appearance": appearance, "summary": summary}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::demo::rehearsal::{ask, user};

    fn told(system: &str, words: &str) -> Option<String> {
        let events = answer(&ask(system, &[user(words)], &[]))?;
        events.into_iter().find_map(|event| match event {
            ModelEvent::Text(text) => Some(text),
            _ => None,
        })
    }

    #[test]
    fn a_chat_is_named_by_what_was_first_said() {
        let title =
            told("# Name a conversation\n", "Person: Is there a room, by any chance, for two?");

        assert_eq!(title.as_deref(), Some("Is there a room"));
        assert_eq!(told("You are an innkeeper.", "Person: Hi"), None);
    }

    #[test]
    fn roleplay_data_is_drawn_from_the_prompt() {
        let persona = "Name: Ann\nAppearance: tall\n\n---\n\n# Ann\n\nYou keep an inn. You laugh";

        let data = told("# Draw roleplay data\n", persona).unwrap();

        assert_eq!(data, r#"{"appearance":"tall","summary":"You keep an inn."}"#);
    }
}
