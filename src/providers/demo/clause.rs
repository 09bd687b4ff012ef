//! A part of a message that may be one request, and how a message falls into such parts.

use std::ops::Range;

use super::{
    request::Verb,
    words::{Word, words},
};

/// How far into a clause its verb and its object are looked for.
const REACH: usize = 40;
/// What only says that something comes.
const BEFORE_CONTENT: &[&str] = &[
    "say",
    "says",
    "saying",
    "be",
    "read",
    "reads",
    "ask",
    "asks",
    "asking",
    "this",
    "the",
    "following",
    "text",
    "just",
    "simply",
    "question",
    "content",
    "line",
    "sentence",
];
/// What says that a text comes, even one without quotation marks.
pub const SAYS: &[&str] = &["say", "says", "saying", "asks", "asking", "="];
const POLITE: &[&str] = &[
    "thanks", "thank", "you", "please", "great", "ok", "okay", "hi", "hello", "hey", "good",
    "nice", "cool", "perfect", "now", "yes", "sure", "well", "so", "much", "very", "a", "lot",
    "alright", "and", "then", "also", "but",
];

/// Words of a message that stand next to each other.
#[derive(Clone, Copy, Debug)]
pub struct Clause<'text> {
    text: &'text str,
    /// Its words.
    pub words: &'text [Word],
}

impl<'text> Clause<'text> {
    /// The clause of these words of a text.
    pub fn new(text: &'text str, words: &'text [Word]) -> Self {
        Self { text, words }
    }

    /// Where the first of these words stands, quotations left out.
    pub fn position(&self, any: &[&str]) -> Option<usize> {
        let near = &self.words[..self.words.len().min(REACH)];
        near.iter().position(|word| word.quoted.is_none() && any.contains(&word.plain.as_str()))
    }

    /// Where the first of these words stands at this place or later.
    pub fn position_from(&self, from: usize, any: &[&str]) -> Option<usize> {
        let rest = self.words.get(from..)?;
        let found = rest
            .iter()
            .position(|word| word.quoted.is_none() && any.contains(&word.plain.as_str()));
        found.map(|place| from + place)
    }

    /// Whether one of these words stands in it.
    pub fn has(&self, any: &[&str]) -> bool {
        self.position(any).is_some()
    }

    /// Whether these words stand in it, one right after the other.
    pub fn says(&self, phrase: &str) -> bool {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        let near = &self.words[..self.words.len().min(REACH)];
        near.windows(phrase.len())
            .any(|window| window.iter().map(|word| word.plain.as_str()).eq(phrase.iter().copied()))
    }

    /// Its quotations.
    pub fn quotes(&self) -> Vec<&'text str> {
        self.words.iter().filter_map(|word| word.quoted.as_deref()).collect()
    }

    /// These words of it.
    pub fn part(&self, range: Range<usize>) -> Self {
        Self { text: self.text, words: self.words.get(range).unwrap_or_default() }
    }

    /// The words from this one on.
    pub fn rest(&self, from: usize) -> Self {
        self.part(from..self.words.len())
    }

    /// The text as it was written.
    pub fn written(&self) -> &'text str {
        match (self.words.first(), self.words.last()) {
            (Some(first), Some(last)) => &self.text[first.start..last.end],
            _ => "",
        }
    }

    /// What is meant literally: the quotation, if that is all there is, or else the words themselves.
    pub fn content(&self) -> Option<String> {
        let skipped = self
            .words
            .iter()
            .take_while(|word| BEFORE_CONTENT.contains(&word.plain.as_str()))
            .count();
        if let Some(quoted) = self.words.get(skipped).and_then(|word| word.quoted.as_ref()) {
            return Some(quoted.clone());
        }
        let colon = self.words[..skipped].iter().position(|word| word.after == Some(':'));
        let rest = self.rest(colon.map_or(0, |place| place + 1)).without_thanks();
        let content = rest.written().trim();
        // Nothing between two quotation marks is nothing.
        let is_empty = content.trim_matches(['"', '\'', '“', '”', '‘', '’', '.', ' ']).is_empty();
        (!is_empty).then(|| content.to_owned())
    }

    /// The content that follows words such as "say".
    pub fn said(&self) -> Option<String> {
        self.without_lead(SAYS).content()
    }

    /// Without these words at the beginning. With a capital they begin the text that is meant.
    pub fn without_lead(&self, lead: &[&str]) -> Self {
        let leads = |word: &&Word| {
            lead.contains(&word.plain.as_str())
                && !self.text[word.start..].starts_with(char::is_uppercase)
        };
        self.rest(self.words.iter().take_while(leads).count())
    }

    /// Without a "please" at the end.
    pub fn without_thanks(&self) -> Self {
        let end = self.words.iter().rposition(|word| {
            !["please", "thanks", "pls"].contains(&word.plain.as_str()) || word.quoted.is_some()
        });
        self.part(0..end.map_or(0, |place| place + 1))
    }

    /// Whether there is nothing in it but words of this list.
    pub fn is_only(&self, list: &str) -> bool {
        self.words
            .iter()
            .all(|word| word.quoted.is_none() && list.split(' ').any(|other| other == word.plain))
    }

    /// Whether there is nothing in it but politeness.
    pub fn is_polite(&self) -> bool {
        self.words.iter().all(|word| word.quoted.is_none() && POLITE.contains(&word.plain.as_str()))
    }

    /// Whether a colon opened a text that has no quotation marks to end it.
    fn is_open(&self) -> bool {
        let colon = self.words.iter().position(|word| word.after == Some(':'));
        colon.is_some_and(|place| self.rest(place + 1).quotes().is_empty())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Border {
    /// A line or a semicolon ends.
    Line,
    /// A sentence ends.
    Sentence,
    /// "and", "then", a comma: a border only if what follows is a request of its own.
    Joint,
}

/// A clause that was found in a message.
struct Found<Request> {
    range: Range<usize>,
    previous: Option<Request>,
    requests: Vec<Request>,
    /// It has grown since its requests were read.
    has_grown: bool,
}

/// The requests of a message, in order. `asked` is what the message may go on with; `understand` reads
/// one clause after the request before it, and `unclear` is what nobody understands.
pub fn read<Request: Clone>(
    text: &str,
    asked: Option<&Request>,
    understand: impl Fn(&Clause<'_>, Option<&Request>) -> Vec<Request>,
    unclear: impl Fn(String) -> Request,
) -> Vec<Request> {
    let words = words(text);
    let clause = |range: &Range<usize>| Clause::new(text, &words[range.clone()]);
    let mut found: Vec<Found<Request>> = Vec::new();
    for (range, border) in pieces(&words) {
        let range = without_number(&words, range);
        let previous =
            found.iter().rev().find_map(|found| found.requests.last()).or(asked).cloned();
        let requests = understand(&clause(&range), previous.as_ref());
        if let Some(last) = found.last_mut() {
            let before = clause(&last.range);
            let is_understood = !last.requests.is_empty();
            if is_understood && before.words.last().is_some_and(|word| word.after == Some(':')) {
                (last.range.end, last.has_grown) = (words.len(), true);
                break;
            }
            let goes_on = match border {
                Border::Line => false,
                Border::Sentence => is_understood && before.is_open(),
                Border::Joint if requests.is_empty() => !clause(&range).is_polite(),
                Border::Joint => {
                    let whole = last.range.start..range.end;
                    !is_understood
                        && !before.is_polite()
                        && whole.len() <= REACH
                        && !understand(&clause(&whole), last.previous.as_ref()).is_empty()
                }
            };
            if goes_on {
                (last.range.end, last.has_grown) = (range.end, true);
                if !is_understood && last.range.len() <= REACH {
                    last.requests = understand(&clause(&last.range), last.previous.as_ref());
                }
                continue;
            }
        }
        found.push(Found { range, previous, requests, has_grown: false });
    }

    // Politeness is answered only where there is nothing else.
    if found.iter().any(|found| !clause(&found.range).is_polite()) {
        found.retain(|found| !clause(&found.range).is_polite());
    } else {
        found.truncate(1);
    }
    let told = found.into_iter().flat_map(|found| {
        let clause = clause(&found.range);
        let again =
            if found.has_grown { understand(&clause, found.previous.as_ref()) } else { Vec::new() };
        match (again.is_empty(), found.requests.is_empty()) {
            (false, _) => again,
            (true, false) => found.requests,
            (true, true) => vec![unclear(clause.written().to_owned())],
        }
    });
    told.collect()
}

/// The pieces between all possible borders, each with the border before it.
fn pieces(words: &[Word]) -> Vec<(Range<usize>, Border)> {
    let mut pieces = Vec::new();
    let (mut start, mut border) = (0, Border::Line);
    for (index, word) in words.iter().enumerate() {
        let is_joint = word.quoted.is_none() && matches!(word.plain.as_str(), "and" | "then" | "&");
        let after = match word.after {
            Some(';') => Some(Border::Line),
            _ if word.ends_line => Some(Border::Line),
            Some('.') if is_short_form(word) => None,
            Some('.' | '!' | '?') => Some(Border::Sentence),
            Some(',') => Some(Border::Joint),
            _ => None,
        };
        if is_joint {
            if start < index {
                pieces.push((start..index, border));
                border = Border::Joint;
            }
            start = index + 1;
        } else if let Some(after) = after {
            pieces.push((start..index + 1, border));
            (start, border) = (index + 1, after);
        }
    }
    if start < words.len() {
        pieces.push((start..words.len(), border));
    }
    pieces
}

/// Whether the full stop belongs to the word, as in "Dr." and "J.".
fn is_short_form(word: &Word) -> bool {
    let known = ["dr", "mr", "mrs", "ms", "prof", "st", "jr", "sr", "eg", "e.g", "ie", "i.e", "vs"];
    word.quoted.is_none()
        && (word.plain.chars().count() == 1 || known.contains(&word.plain.as_str()))
}

/// Without what only counts requests: "1. list …", "first list …".
fn without_number(words: &[Word], range: Range<usize>) -> Range<usize> {
    let counts = |word: &Word| {
        let is_word = ["first", "firstly", "second", "next", "finally", "lastly"];
        word.quoted.is_none()
            && (is_word.contains(&word.plain.as_str()) || word.plain.parse::<u8>().is_ok())
    };
    match &words[range.clone()] {
        [first, second, ..] if counts(first) && Verb::is(&second.plain) => {
            range.start + 1..range.end
        }
        _ => range,
    }
}
