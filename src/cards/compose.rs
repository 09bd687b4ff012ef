//! What a card says, as a persona: read leniently, since most cards keep only some of the rules.

use serde_json::{Map, Value};

use super::{Card, CardError};
use crate::domain::{
    field::TextField,
    persona::{APPEARANCE, NAME, NOTES, PersonaFields, SYSTEM_PROMPT},
    test_input::MAX_HISTORY_CHARS,
};

/// The newest version that is known.
const KNOWN_VERSION: f64 = 3.0;
/// The most greetings.
const MAX_GREETINGS: usize = 100;
/// What a card calls whoever it speaks with.
const USER: &str = "the user";

type Fields = Map<String, Value>;

/// The persona that a card stands for.
pub fn card(object: &Fields) -> Result<Card, CardError> {
    if object.get("spec").and_then(Value::as_str).is_some_and(|spec| spec.starts_with("lorebook")) {
        return Err(CardError::OnlyBook);
    }
    let data = object.get("data").and_then(Value::as_object).unwrap_or(object);
    let (name, nickname) =
        (line(text(data, &["name", "char_name"])), line(text(data, &["nickname"])));
    let called = if nickname.is_empty() { name.clone() } else { nickname.clone() };
    let mut page = Page { called, left: Vec::new() };
    let prompt = page.prompt(data);
    let greetings = page.greetings(data);
    if name.is_empty() && prompt.is_empty() && greetings.is_empty() {
        return Err(CardError::NoCard);
    }
    let version = object.get("spec_version");
    let version = version.and_then(|told| told.as_f64().or_else(|| told.as_str()?.parse().ok()));
    if version.is_some_and(|version| version >= KNOWN_VERSION + 1.0) {
        page.left.push("The card is of a later version than is known here.".into());
    }
    let notes = page.notes(data, &nickname);
    let appearance = page.spoken(text(data, &["appearance"]));
    let opening = match prompt.is_empty() {
        false => prompt,
        true if name.is_empty() => String::new(),
        true => format!("You are {name}."),
    };
    let persona = PersonaFields {
        name: if name.is_empty() { "Unnamed".into() } else { name },
        system_prompt: page.fit(&SYSTEM_PROMPT, opening),
        appearance: page.fit(&APPEARANCE, appearance),
        notes: page.fit(&NOTES, notes),
        ..PersonaFields::default()
    };
    Ok(Card { persona, greetings, left: page.left })
}

/// The first of these fields that says something.
fn text<'card>(data: &'card Fields, names: &[&str]) -> &'card str {
    let texts = names.iter().filter_map(|name| data.get(*name).and_then(Value::as_str));
    texts.map(str::trim).find(|text| !text.is_empty()).unwrap_or_default()
}

/// The texts of a list, or the one text that stands in its place.
fn list<'card>(data: &'card Fields, name: &str) -> Vec<&'card str> {
    let one = data.get(name).into_iter();
    let all =
        one.flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice));
    all.filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty()).collect()
}

/// A text on one line, as long as a name may be.
fn line(text: &str) -> String {
    let plain = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words: Vec<&str> = plain.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(NAME.max_chars).collect::<String>().trim().to_owned()
}

/// A card on its way to a persona.
struct Page {
    /// What it is called where it is spoken of.
    called: String,
    /// What was left out.
    left: Vec<String>,
}

impl Page {
    /// The system prompt: what the card says of the character, under headings.
    fn prompt(&mut self, data: &Fields) -> String {
        let mut parts = vec![self.spoken(text(data, &["system_prompt"]))];
        for (heading, names) in [
            ("Description", &["description", "char_persona"][..]),
            ("Personality", &["personality"]),
            ("Scenario", &["scenario", "world_scenario"]),
            ("Examples", &["mes_example", "example_dialogue"]),
        ] {
            parts.push(headed(heading, self.spoken(text(data, names))));
        }
        let (book, last) = (self.book(data), text(data, &["post_history_instructions"]));
        parts.push(headed("Background", book));
        parts.push(headed("Instructions", self.spoken(last)));
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let is_told = text(data, &["system_prompt"]).is_empty() && !parts.is_empty();
        match is_told && !self.called.is_empty() {
            true => format!("You are {}.\n\n{}", self.called, parts.join("\n\n")),
            false => parts.join("\n\n"),
        }
    }

    /// The entries of the card's book that are in use, in their order.
    fn book(&mut self, data: &Fields) -> String {
        let entries = data.get("character_book").and_then(|book| book.get("entries"));
        // Some write the list as an object by number.
        let entries: Vec<&Fields> = match entries {
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_object).collect(),
            Some(Value::Object(all)) => all.values().filter_map(Value::as_object).collect(),
            _ => Vec::new(),
        };
        let is_off = |entry: &&Fields| entry.get("enabled") == Some(&Value::Bool(false));
        let (off, mut on): (Vec<&Fields>, Vec<&Fields>) = entries.into_iter().partition(is_off);
        if !off.is_empty() {
            self.left.push(match off.len() {
                1 => "One entry of its book is switched off.".into(),
                many => format!("{many} entries of its book are switched off."),
            });
        }
        let order = |entry: &&Fields| entry.get("insertion_order").and_then(Value::as_i64);
        on.sort_by_key(order);
        let shown = on.into_iter().filter_map(|entry| {
            // What a program is told about an entry stands in lines of its own.
            let content = text(entry, &["content"]).lines();
            let content: Vec<&str> = content.filter(|line| !line.starts_with("@@")).collect();
            let content = self.spoken(content.join("\n").trim());
            let keys = line(&list(entry, "keys").join(", "));
            let title = if keys.is_empty() { line(text(entry, &["name"])) } else { keys };
            (!content.is_empty()).then(|| match title.is_empty() {
                true => content,
                false => format!("### {title}\n\n{content}"),
            })
        });
        shown.collect::<Vec<_>>().join("\n\n")
    }

    /// What it may say first.
    fn greetings(&mut self, data: &Fields) -> Vec<String> {
        let first = text(data, &["first_mes", "char_greeting"]);
        let others = ["alternate_greetings", "group_only_greetings"].map(|name| list(data, name));
        let mut greetings: Vec<String> = Vec::new();
        for greeting in std::iter::once(first).chain(others.into_iter().flatten()) {
            let greeting = self.spoken(greeting);
            if greetings.len() == MAX_GREETINGS {
                self.left.push(format!("Only {MAX_GREETINGS} of its greetings were taken."));
                break;
            }
            if !greeting.is_empty() && !greetings.contains(&greeting) {
                greetings.push(greeting.chars().take(MAX_HISTORY_CHARS).collect());
            }
        }
        greetings
    }

    /// What the card tells people, and no model.
    fn notes(&self, data: &Fields, nickname: &str) -> String {
        let creator = line(text(data, &["creator"]));
        let facts = [
            ("Nickname", nickname.to_owned()),
            ("Creator", creator),
            ("Version", line(text(data, &["character_version"]))),
            ("Tags", list(data, "tags").join(", ")),
            ("Source", list(data, "source").join(", ")),
        ];
        let facts: Vec<String> = facts
            .into_iter()
            .filter(|(_, fact)| !fact.is_empty())
            .map(|(name, fact)| format!("{name}: {fact}"))
            .collect();
        let more = data
            .get("extensions")
            .filter(|more| more.as_object().is_some_and(|more| !more.is_empty()));
        let more = more.map(|more| format!("Extensions: {more}")).unwrap_or_default();
        let parts = [text(data, &["creator_notes"]).to_owned(), facts.join("\n"), more];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        plain(&parts.join("\n\n"))
    }

    /// A text as the persona is told it: whom it speaks of stands there by name, and what is for other
    /// programs is left out. Macros that choose at random stay as they are.
    fn spoken(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        // Longer than any field: a name for every macro must not make it longer without end.
        let cut: String = text.chars().take(SYSTEM_PROMPT.max_chars + 1).collect();
        let mut rest = cut.as_str();
        while let Some(at) = rest.find("{{") {
            let Some(end) = rest[at..].find("}}").map(|end| at + end) else { break };
            out.push_str(&rest[..at]);
            let (whole, name) = (&rest[at..end + 2], rest[at + 2..end].trim().to_lowercase());
            match name.as_str() {
                "char" => out.push_str(&self.called),
                "user" => out.push_str(USER),
                "original" => {}
                name if ["//", "comment:", "hidden_key:"]
                    .iter()
                    .any(|way| name.starts_with(way)) => {}
                _ => out.push_str(whole),
            }
            rest = &rest[end + 2..];
        }
        out.push_str(rest);
        let out = out.replace("<USER>", USER).replace("<BOT>", &self.called);
        plain(&out)
    }

    /// As much of a text as its field takes.
    fn fit(&mut self, field: &TextField, text: String) -> String {
        let chars = text.chars().count();
        if chars <= field.max_chars {
            return text;
        }
        self.left.push(format!("{} is cut: the card has more than fits.", field.label));
        text.chars().take(field.max_chars).collect()
    }
}

fn headed(heading: &str, text: String) -> String {
    if text.is_empty() { text } else { format!("## {heading}\n\n{text}") }
}

/// A text as every field takes it.
fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\0', "\u{fffd}").trim().to_owned()
}
