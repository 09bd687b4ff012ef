//! Requests about test inputs.

use super::{
    clause::Clause,
    request::{Noun, Request},
    topic,
    which::Which,
};

const TO: &[&str] = &["to", "into", "with", "by", "say", "says"];
/// The most test inputs that one request makes.
const MOST: usize = 5;

/// "show me all test inputs", "show me the test input about math".
pub fn read(clause: &Clause<'_>) -> Request {
    let is_one = clause.has(&["input", "one"]) || clause.says("the test");
    match Which::read(clause) {
        Some(which @ (Which::At(_) | Which::Last | Which::About(_))) if is_one => {
            Request::ReadInput(which)
        }
        _ => Request::ListInputs,
    }
}

/// "add a test input: 'X'", "add a new one about X".
pub fn add(clause: &Clause<'_>, noun: usize) -> Vec<Request> {
    let quotes = clause.quotes();
    let about = clause.position(&["about", "on", "regarding", "for"]);
    if let ([topic], Some(about)) = (quotes.as_slice(), about)
        && clause.words.get(about + 1).is_some_and(|word| word.quoted.is_some())
    {
        return vec![Request::AddInput(topic::question(topic, 0))];
    }
    if !quotes.is_empty() {
        return quotes.iter().map(|quote| Request::AddInput((*quote).to_owned())).collect();
    }
    let colon = clause.words.iter().position(|word| word.after == Some(':'));
    if let Some(content) = colon.and_then(|place| clause.rest(place + 1).content()) {
        return vec![Request::AddInput(content)];
    }
    if let Some(about) = about.map(|place| clause.rest(place + 1).without_thanks()) {
        let about = about.written().trim_end_matches(['.', '!', '?', ',', ' ']);
        if !about.is_empty() {
            return (0..count(clause))
                .map(|turn| Request::AddInput(topic::question(about, turn)))
                .collect();
        }
    }
    let after = clause.position_from(noun, &["says", "saying", "asks", "asking", "that", "with"]);
    let after = after.unwrap_or_else(|| {
        let is_pair = clause.words.get(noun + 1).is_some_and(|word| word.plain == "input");
        noun + usize::from(is_pair)
    });
    match clause.rest(after + 1).content() {
        Some(content) if content.contains(' ') => vec![Request::AddInput(content)],
        _ => vec![Request::Incomplete(
            "What should the test input say? Say for example: add a test input: 'What is 2+2?', or: \
             add a test input about coding.",
        )],
    }
}

/// How many are wanted.
fn count(clause: &Clause<'_>) -> usize {
    let numbers: [&[&str]; MOST] =
        [&["a", "one"], &["two", "2"], &["three", "3", "some"], &["four", "4"], &["five", "5"]];
    let end = clause.position(&["about"]).unwrap_or(clause.words.len());
    let start = clause.part(0..end);
    numbers.iter().rposition(|names| start.has(names)).map_or(1, |place| place + 1)
}

/// "change the test input about math to 'X'".
pub fn change(clause: &Clause<'_>, noun: usize) -> Vec<Request> {
    let quote = clause.words.iter().rposition(|word| word.quoted.is_some());
    let to = match quote {
        // The last "to" before the quotation: what it is about may have one too.
        Some(quote) => (0..quote).rev().find(|place| {
            TO.contains(&clause.words[*place].plain.as_str())
                && clause.words[*place].quoted.is_none()
        }),
        None => clause.position_from(noun, TO),
    };
    let colon = clause.words.iter().position(|word| word.after == Some(':'));
    let Some(to) = to.or(colon) else { return vec![Request::Incomplete(NO_CONTENT)] };
    let which = Which::read(&clause.part(0..to)).unwrap_or(Which::It);
    let content = clause.rest(to + 1).content();
    vec![
        content.map_or(Request::Incomplete(NO_CONTENT), |content| Request::ChangeInput {
            which,
            content,
        }),
    ]
}

const NO_CONTENT: &str = "What should the test input say instead? Say for example: change the second \
    test input to 'What is 3+3?'";

/// "delete the test input about math", "delete the last one".
pub fn delete(
    clause: &Clause<'_>,
    nouns: &[(Noun, usize)],
    previous: Option<&Request>,
) -> Vec<Request> {
    let is_of_inputs = matches!(nouns.first(), Some((Noun::Inputs, _)));
    let follows = previous.is_some_and(Request::is_of_inputs);
    match Which::read(clause) {
        Some(which) if is_of_inputs || follows => vec![Request::DeleteInput(which)],
        Some(which @ (Which::At(_) | Which::Last)) if clause.words.len() <= 4 => {
            vec![Request::DeleteInput(which)]
        }
        None if is_of_inputs => vec![Request::DeleteInput(Which::It)],
        _ => Vec::new(),
    }
}

/// "run the test inputs", "run all tests, 3 at once".
pub fn run(clause: &Clause<'_>, nouns: &[(Noun, usize)]) -> Vec<Request> {
    let is_of_inputs = nouns.iter().any(|(noun, _)| *noun == Noun::Inputs)
        || (clause.has(&["them", "all", "everything", "it"]) && clause.words.len() <= 8);
    if !is_of_inputs {
        return Vec::new();
    }
    let at =
        clause.position(&["at"]).filter(|_| clause.says("at once") || clause.says("at a time"));
    let number = at.and_then(|at| {
        let place = at.checked_sub(1)?;
        Some((place, number(&clause.words[place].plain)?))
    });
    let (end, at_once) = match number {
        Some((place, number)) => (place, Some(number)),
        None => (clause.words.len(), None),
    };
    let which = match Which::read(&clause.part(0..end)) {
        Some(Which::It) if clause.has(&["it", "that"]) => Which::It,
        Some(Which::It) | None => Which::All,
        Some(which) => which,
    };
    vec![Request::RunInputs { which, at_once }]
}

fn number(word: &str) -> Option<u64> {
    match word {
        "one" => Some(1),
        "two" => Some(2),
        "three" => Some(3),
        "four" => Some(4),
        "five" => Some(5),
        digits => digits.parse().ok(),
    }
}
