//! Requests to change the persona itself: its name and its system prompt.

use super::{clause::Clause, request::Request};

const TO: &[&str] = &["to", "as", "into", "with", "by"];
const NO_NAME: &str = "Which name should the persona have? Say for example: change the name to \
    'Helpful Assistant'.";
const NO_PROMPT: &str = "I am scripted and cannot write a prompt by myself. Tell me the words, for \
    example: add 'Be concise' to the system prompt, or: replace 'a' with 'b' in the system prompt.";

/// "call it X", "name the persona X", "its name should be X".
pub fn naming(clause: &Clause<'_>) -> Option<Request> {
    let be = clause.position(&["be"]).filter(|place| {
        let before = clause.part(0..*place);
        let wish = before.words.last().map_or("", |word| word.plain.as_str());
        before.has(&["name"]) && ["should", "must", "to", "shall"].contains(&wish)
    });
    // "change the name to Be Kind" wishes for nothing but a name with that word.
    if let Some(place) = be.filter(|_| !clause.has(&["change", "set", "update", "rename"])) {
        return named(&clause.rest(place + 1));
    }
    let verb = clause.position(&["call", "name"]).filter(|place| *place < 3)?;
    let object = clause.rest(verb + 1);
    let plain = |place: usize| object.words.get(place).map_or("", |word| word.plain.as_str());
    let skipped = match (plain(0), plain(1)) {
        ("it" | "him" | "her" | "them", _) => 1,
        ("the" | "this", "persona" | "character") => 2,
        _ => return None,
    };
    named(&object.rest(skipped))
}

/// "change the name to X".
pub fn rename(clause: &Clause<'_>, noun: usize) -> Vec<Request> {
    let colon = (clause.words[noun].after == Some(':')).then_some(noun);
    let from = clause.position_from(noun, &["from"]).unwrap_or(noun);
    let to = colon.or_else(|| clause.position_from(from, TO));
    let name = to.and_then(|to| named(&clause.rest(to + 1)));
    let quoted = || clause.quotes().first().map(|name| Request::Rename((*name).to_owned()));
    let after = || named(&clause.rest(noun + 1));
    vec![name.or_else(quoted).or_else(after).unwrap_or(Request::Incomplete(NO_NAME))]
}

/// "rename it to X", "change it to X", "replace 'a' with 'b'".
pub fn change_it(clause: &Clause<'_>, verb: usize, previous: Option<&Request>) -> Vec<Request> {
    let is_rename = clause.words[verb].plain == "rename";
    let to = clause.position_from(verb, TO);
    if let ([find, replace], false) = (clause.quotes().as_slice(), is_rename) {
        return vec![replacement(find, replace)];
    }
    let Some(to) = to else {
        let object = clause.rest(verb + 1);
        let skipped = object
            .words
            .iter()
            .take_while(|word| ["the", "this", "persona", "it"].contains(&word.plain.as_str()))
            .count();
        let name = named(&object.rest(skipped)).filter(|_| is_rename);
        return name.or(is_rename.then_some(Request::Incomplete(NO_NAME))).into_iter().collect();
    };
    let content = clause.rest(to + 1);
    match previous {
        _ if is_rename => vec![named(&content).unwrap_or(Request::Incomplete(NO_NAME))],
        Some(Request::TellName | Request::Rename(_)) if clause.has(&["it"]) => {
            named(&content).into_iter().collect()
        }
        Some(Request::TellPrompt | Request::SetPrompt(_)) if clause.has(&["it"]) => {
            content.content().map(Request::SetPrompt).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// "set the system prompt to X", "replace 'a' with 'b' in the prompt".
pub fn change_prompt(clause: &Clause<'_>, verb: usize, noun: usize) -> Vec<Request> {
    if let [find, replace] = clause.quotes().as_slice() {
        return vec![replacement(find, replace)];
    }
    let colon = clause.words[noun].after == Some(':');
    let to = if colon { Some(noun) } else { clause.position_from(verb + 1, TO) };
    let request = match to {
        Some(to) if to < noun => {
            let end = clause.position_from(to, &["in", "inside", "within"]).unwrap_or(noun);
            let find = clause.part(verb + 1..to).content();
            let replace = clause.part(to + 1..end.min(noun)).content();
            find.zip(replace).map(|(find, replace)| replacement(&find, &replace))
        }
        Some(to) => {
            let content = clause.rest(to + 1).content();
            // "to be more concise" is a wish, not a prompt, and must not replace one.
            let is_text = |text: &String| {
                colon || !clause.quotes().is_empty() || text.starts_with(char::is_uppercase)
            };
            content.filter(is_text).map(Request::SetPrompt)
        }
        None => clause.quotes().first().map(|text| Request::SetPrompt((*text).to_owned())),
    };
    vec![request.unwrap_or(Request::Incomplete(NO_PROMPT))]
}

/// "add 'X' to the system prompt".
pub fn add_to_prompt(clause: &Clause<'_>, verb: usize, noun: usize) -> Vec<Request> {
    let quotes = clause.quotes();
    if !quotes.is_empty() {
        return vec![Request::AddToPrompt(quotes.join("\n\n"))];
    }
    let to = clause
        .part(0..noun)
        .words
        .iter()
        .rposition(|word| ["to", "into", "in", "of"].contains(&word.plain.as_str()));
    let before = to.filter(|to| *to > verb + 1).and_then(|to| {
        let end = if clause.part(0..to).says("the end") { to.saturating_sub(3) } else { to };
        clause.part(verb + 1..end).content()
    });
    let after = clause.rest(noun + 1).content();
    let request = match clause.words[noun].after {
        Some(':') => after,
        _ => before.or(after),
    };
    let request = request.map(Request::AddToPrompt);
    vec![request.unwrap_or(Request::Incomplete(NO_PROMPT))]
}

/// "remove 'X' from the system prompt".
pub fn remove_from_prompt(clause: &Clause<'_>) -> Vec<Request> {
    let request = clause.quotes().first().map(|find| replacement(find, ""));
    vec![request.unwrap_or(Request::Incomplete(
        "Which passage should go? Say for example: remove 'Be concise' from the system prompt.",
    ))]
}

fn replacement(find: &str, replace: &str) -> Request {
    Request::ReplaceInPrompt { find: find.to_owned(), replace: replace.to_owned() }
}

fn named(clause: &Clause<'_>) -> Option<Request> {
    let name = clause.words.first().and_then(|word| word.quoted.clone());
    let name = name.or_else(|| clause.without_thanks().content())?;
    let name = name.trim().trim_end_matches(['.', '!', '?', ',', ';', ' ']);
    (!name.is_empty()).then(|| Request::Rename(name.to_owned()))
}
