//! Requests to change the persona itself: its name and its system prompt.

use super::{
    clause::Clause,
    request::{Edge, Missing, Request, is_not_meant, is_of_prompt},
    which::Which,
};

const TO: &[&str] = &["to", "as", "into", "with", "by", "="];
/// What may stand before "call it X".
const WISHES: &str =
    "i id we lets want would like to please can could you should just now then also ok";
/// What may stand between "name" and a name.
const BEFORE_NAME: &[&str] = &["to", "as", "be", "is", "called", "named", "of", "="];

/// What stands between a description and the words.
const SAYING: &[&str] = &["that", "which", "says", "saying"];

/// "call it X", "name the persona X", "its name should be X", "it should be called X".
pub fn naming(clause: &Clause<'_>) -> Option<Request> {
    let named_at = clause.position(&["called", "named", "be", "call", "name"])?;
    if is_not_meant(&clause.part(0..named_at)) {
        return None;
    }
    let wished = clause.position(&["called", "named"]).filter(|place| {
        let before = clause.part(0..*place);
        before.has(&["it", "persona", "character", "him", "her", "he", "she"])
            && before.has(&["should", "must", "shall", "want", "like"])
            && !before.has(&["a", "an", "what", "who", "which", "how", "why", "not", "never"])
    });
    if let Some(place) = wished {
        return named(&clause.rest(place + 1));
    }
    let be = clause.position(&["be"]).filter(|place| {
        let before = clause.part(0..*place);
        let wish = before.words.last().map_or("", |word| word.plain.as_str());
        before.has(&["name"]) && ["should", "must", "to", "shall"].contains(&wish)
    });
    // "change the name to Be Kind" wishes for nothing but a name with that word.
    if let Some(place) = be.filter(|_| !clause.has(&["change", "set", "update", "rename"])) {
        return named(&clause.rest(place + 1));
    }
    let verb = clause.position(&["call", "name"])?;
    if !clause.part(0..verb).is_only(WISHES) {
        return None;
    }
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
    // Without "to" it may as well be a wish: "change the name a bit", "make the name longer".
    let after = || match named(&clause.rest(noun + 1)) {
        Some(Request::Rename(name)) if name.starts_with(char::is_lowercase) => None,
        named => named,
    };
    vec![name.or_else(quoted).or_else(after).unwrap_or(Request::Incomplete(Missing::Name))]
}

/// "rename it to X", "change it to X", "replace 'a' with 'b'".
pub fn change_it(clause: &Clause<'_>, verb: usize, previous: Option<&Request>) -> Vec<Request> {
    let is_rename = clause.words[verb].plain == "rename";
    let to = clause.position_from(verb, TO);
    if let ([find, replace], false) = (clause.quotes().as_slice(), is_rename) {
        // A prompt seldom asks.
        return vec![if find.ends_with('?') && !is_of_prompt(previous) {
            let (which, content) = (Which::About((*find).to_owned()), (*replace).to_owned());
            Request::ChangeInput { which, content }
        } else {
            replacement(find, replace)
        }];
    }
    let Some(to) = to else {
        let object = clause.rest(verb + 1);
        let skipped = object
            .words
            .iter()
            .take_while(|word| ["the", "this", "persona", "it"].contains(&word.plain.as_str()))
            .count();
        let name = named(&object.rest(skipped)).unwrap_or(Request::Incomplete(Missing::Name));
        return is_rename.then_some(name).into_iter().collect();
    };
    let content = clause.rest(to + 1);
    match previous {
        _ if is_rename => vec![named(&content).unwrap_or(Request::Incomplete(Missing::Name))],
        Some(Request::TellName | Request::Rename(_)) if clause.has(&["it"]) => {
            named(&content).into_iter().collect()
        }
        Some(Request::TellPrompt | Request::SetPrompt(_)) if clause.has(&["it"]) => {
            prompt(&content).map(Request::SetPrompt).into_iter().collect()
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
            let end = clause.part(0..noun).position_from(to, &["in", "inside", "within"]);
            let find = clause.part(verb + 1..to).content();
            let replace = end.and_then(|end| clause.part(to + 1..end).content());
            find.zip(replace).map(|(find, replace)| replacement(&find, &replace))
        }
        Some(to) if colon => clause.rest(to + 1).content().map(Request::SetPrompt),
        Some(to) => prompt(&clause.rest(to + 1)).map(Request::SetPrompt),
        None => clause.quotes().first().map(|text| Request::SetPrompt((*text).to_owned())),
    };
    // The answer to a wish is one more rule; only "change the prompt" asks for another one.
    let is_wish = clause.words.len() > noun + 1 || clause.words[verb].plain == "make";
    let missing = if is_wish { Missing::Addition(Edge::End) } else { Missing::Prompt };
    vec![request.unwrap_or(Request::Incomplete(missing))]
}

/// The words of a prompt: "be more concise" is a wish, and must not replace one.
fn prompt(clause: &Clause<'_>) -> Option<String> {
    let is_quoted = !clause.quotes().is_empty();
    clause.said().filter(|text| is_quoted || text.starts_with(char::is_uppercase))
}

/// "add 'X' to the system prompt".
pub fn add_to_prompt(clause: &Clause<'_>, verb: usize, noun: usize) -> Vec<Request> {
    let is_edge = |names: &[&str]| names.iter().any(|name| clause.says(&format!("the {name}")));
    let begins =
        clause.words[verb].plain == "prepend" || is_edge(&["beginning", "start", "top", "front"]);
    let edge = if begins { Edge::Beginning } else { Edge::End };
    let quotes = clause.quotes();
    if !quotes.is_empty() {
        return vec![Request::AddToPrompt(quotes.join("\n\n"), edge)];
    }
    let to = clause
        .part(0..noun)
        .words
        .iter()
        .rposition(|word| ["to", "into", "in", "of"].contains(&word.plain.as_str()));
    let before = to.filter(|to| *to > verb + 1).and_then(|to| {
        // "… at the end of the prompt".
        let names_edge = clause.words[to].plain == "of" && (begins || is_edge(&["end"]));
        clause.part(verb + 1..if names_edge { to.saturating_sub(3) } else { to }).content()
    });
    let rest = clause.rest(noun + 1);
    let request = match (clause.words[noun].after, before) {
        (Some(':'), _) => rest.content(),
        // "a rule to the prompt that …" says what comes before it says the words.
        (_, Some(before)) if is_described(&before) => {
            let said = rest.without_lead(SAYING);
            (said.words.len() < rest.words.len()).then(|| said.content()).flatten()
        }
        (_, before) => before.or_else(|| rest.content()),
    };
    let request = request.map(|text| Request::AddToPrompt(text, edge));
    vec![request.unwrap_or(Request::Incomplete(Missing::Addition(edge)))]
}

/// Whether it says what to add, and not in which words.
fn is_described(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    ["a", "an", "another", "one", "some", "something", "anything", "more"].contains(&first)
}

/// "remove 'X' from the system prompt".
pub fn remove_from_prompt(clause: &Clause<'_>) -> Vec<Request> {
    let request = clause.quotes().first().map(|find| replacement(find, ""));
    vec![request.unwrap_or(Request::Incomplete(Missing::Passage))]
}

/// Another text for a passage of the system prompt.
pub fn replacement(find: &str, replace: &str) -> Request {
    Request::ReplaceInPrompt { find: find.to_owned(), replace: replace.to_owned() }
}

/// The new name that a clause says.
pub fn named(clause: &Clause<'_>) -> Option<Request> {
    let clause = clause.without_lead(BEFORE_NAME);
    let first = clause.words.first()?;
    let is_vague = ["something", "anything", "whatever"].contains(&first.plain.as_str())
        && !clause.written().starts_with(char::is_uppercase);
    let name = clause.without_thanks().content()?;
    // A quotation is meant to the letter.
    if clause.quotes().contains(&name.as_str()) {
        return Some(Request::Rename(name));
    }
    let name = name.trim().trim_end_matches(['.', '!', '?', ',', ';', ' ']);
    let ends = [" instead", " from now on"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    (!name.is_empty() && !is_vague).then(|| Request::Rename(name.to_owned()))
}
