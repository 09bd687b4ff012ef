//! Requests about test inputs.

use super::{
    clause::Clause,
    request::{Missing, Noun, Request},
    topic,
    which::{Which, number},
};

const TO: &[&str] = &["to", "into", "with", "by", "say", "says", "="];
const AS: &[&str] = &["as"];
const TO_OR_AS: &[&str] = &["as", "to", "into", "with", "by", "say", "says", "="];
/// What begins a description of a test input rather than its words.
const DESCRIBES: &[&str] =
    &["that", "with", "where", "when", "who", "whose", "which", "in", "of", "to", "from"];
/// What comes before what a test input is about.
const ABOUT: &[&str] = &["about", "on", "regarding", "for"];
/// What stands between what one test input is about and "about" for the next: "… and a test input about".
const ANOTHER: &[&str] = &[
    "a", "an", "one", "another", "two", "three", "four", "five", "some", "new", "more", "test",
    "tests", "input", "inputs", "ones",
];
/// The most test inputs that one request makes.
const MOST: usize = 5;

/// "show me all test inputs", "show me the test input about math".
pub fn read(clause: &Clause<'_>) -> Request {
    let is_one = clause.has(&["input", "one"]) || clause.says("the test");
    match Which::read(clause) {
        Some(which) if is_one && which.is_one() => Request::ReadInput(which),
        _ => Request::ListInputs,
    }
}

/// "add a test input: 'X'", "add a new one about X".
pub fn add(clause: &Clause<'_>, noun: usize) -> Vec<Request> {
    let quotes = clause.quotes();
    let about = clause.position(ABOUT);
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
    if let Some(about) = about {
        let made = made_about(clause, about);
        if !made.is_empty() {
            return made;
        }
    }
    let is_pair = clause.words.get(noun + 1).is_some_and(|word| word.plain == "input");
    let rest = clause.rest(noun + 1 + usize::from(is_pair));
    // "that says X", "which asks X".
    let says = rest.position(&["says", "saying", "asks", "asking"]).filter(|place| *place < 2);
    let told = rest.rest(says.map_or(0, |place| place + 1));
    let describes = told.words.first().is_some_and(|word| DESCRIBES.contains(&word.plain.as_str()));
    let content = told.without_lead(&["that", "with"]).content().filter(|content| {
        let is_text = content.starts_with(char::is_uppercase) || content.ends_with('?');
        content.contains(' ') && (is_text || !describes)
    });
    vec![content.map_or(Request::Incomplete(Missing::Input), Request::AddInput)]
}

/// New ones by what they are about: "two about math and one about fog".
fn made_about(clause: &Clause<'_>, about: usize) -> Vec<Request> {
    let (mut made, mut next) = (Vec::new(), Some((0, about)));
    while let Some((from, about)) = next {
        next = next_about(clause, about);
        let end = next.map_or(clause.words.len(), |(start, _)| start);
        // The "and" before the next one.
        let is_joint = end < clause.words.len() && is_and(&clause.words[end - 1].plain);
        let topic = clause.part(about + 1..end - usize::from(is_joint)).without_thanks();
        let topic = topic.written().trim_end_matches(['.', '!', '?', ',', ' ']);
        if !topic.is_empty() {
            let turns = 0..count(&clause.part(from..about));
            made.extend(turns.map(|turn| Request::AddInput(topic::question(topic, turn))));
        }
    }
    made
}

/// Where a further one begins to be named, and where its "about" stands.
fn next_about(clause: &Clause<'_>, about: usize) -> Option<(usize, usize)> {
    let is = |place: usize, any: &[&str]| any.contains(&clause.words[place].plain.as_str());
    let places = about + 1..clause.words.len();
    places.filter(|place| is(*place, ABOUT)).find_map(|next| {
        let named = (about + 1..next).rev().take_while(|place| is(*place, ANOTHER)).count();
        let (start, before) = (next - named, &clause.words[next - named - 1]);
        let is_joint = is_and(&before.plain) || before.after == Some(',');
        (named > 0 && is_joint).then_some((start, next))
    })
}

fn is_and(word: &str) -> bool {
    matches!(word, "and" | "&")
}

/// How many are wanted, as it is said before what they are about.
fn count(start: &Clause<'_>) -> usize {
    let numbers: [&[&str]; MOST] =
        [&["a", "one"], &["two", "2"], &["three", "3", "some"], &["four", "4"], &["five", "5"]];
    numbers.iter().rposition(|names| start.has(names)).map_or(1, |place| place + 1)
}

/// "change the test input about math to 'X'".
pub fn change(clause: &Clause<'_>, noun: usize) -> Vec<Request> {
    let quote = clause.words.iter().rposition(|word| word.quoted.is_some());
    let place = |names: &[&str]| match quote {
        // The last "to" before the quotation: what it is about may have one too.
        Some(quote) => clause
            .part(0..quote)
            .words
            .iter()
            .rposition(|word| word.quoted.is_none() && names.contains(&word.plain.as_str())),
        None => clause.position_from(noun, names),
    };
    let is_reworded = clause.has(&["rewrite", "reword", "rephrase"]);
    let to = place(if is_reworded { TO_OR_AS } else { TO }).or_else(|| place(AS));
    let colon = clause.words.iter().position(|word| word.after == Some(':'));
    let to = to.or(colon);
    let which = Which::read(&clause.part(0..to.unwrap_or(clause.words.len())));
    let which = which.unwrap_or(Which::It);
    vec![match to.and_then(|to| clause.rest(to + 1).said()) {
        Some(content) => Request::ChangeInput { which, content },
        None => Request::Incomplete(Missing::Content(which)),
    }]
}

/// "delete the test input about math", "delete the last one".
pub fn delete(
    clause: &Clause<'_>,
    nouns: &[(Noun, usize)],
    previous: Option<&Request>,
) -> Vec<Request> {
    let is_of_inputs = matches!(nouns.first(), Some((Noun::Inputs, _)));
    let follows = previous.is_some_and(Request::is_of_inputs);
    let each = Which::each(clause);
    let is_clear = is_of_inputs
        || follows
        || !clause.quotes().is_empty()
        || (clause.words.len() <= 4 && matches!(each.as_slice(), [Which::At(_) | Which::Last]));
    match each.as_slice() {
        [] if is_of_inputs => vec![Request::DeleteInput(Which::It)],
        _ if is_clear => each.into_iter().map(Request::DeleteInput).collect(),
        _ => Vec::new(),
    }
}

/// "run the test inputs", "run all tests, 3 at once".
pub fn run(
    clause: &Clause<'_>,
    nouns: &[(Noun, usize)],
    previous: Option<&Request>,
) -> Vec<Request> {
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
    let each = match Which::each(&clause.part(0..end)) {
        each if each.is_empty() => vec![Which::All],
        each => each,
    };
    // Where no test input was spoken of, "it" is the persona.
    let is_input = clause.has(&["it", "that"]) && previous.is_some_and(Request::is_of_inputs);
    let meant = |which| if which == Which::It && !is_input { Which::All } else { which };
    each.into_iter().map(|which| Request::RunInputs { which: meant(which), at_once }).collect()
}
