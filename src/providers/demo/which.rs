//! Which test input is meant: by its place, or by what it is about.

use super::{clause::Clause, topic};

/// Which test input is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Which {
    /// The one at this place, from zero.
    At(usize),
    /// The last one.
    Last,
    /// The one so many places before the last.
    BeforeLast(usize),
    /// The one about this.
    About(String),
    /// All of them.
    All,
    /// The one that was spoken of.
    It,
}

/// A test input, as the tool lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The identifier.
    pub id: String,
    /// What it says; `None` when it was deleted since the list was read.
    pub content: Option<String>,
}

const ORDINALS: &[&[&str]] = &[
    &["first", "1st", "#1", "1"],
    &["second", "2nd", "#2", "2"],
    &["third", "3rd", "#3", "3"],
    &["fourth", "4th", "#4", "4"],
    &["fifth", "5th", "#5", "5"],
    &["sixth", "6th", "#6", "6"],
    &["seventh", "7th", "#7", "7"],
    &["eighth", "8th", "#8", "8"],
    &["ninth", "9th", "#9", "9"],
    &["tenth", "10th", "#10", "10"],
];
/// The most that are meant by "the first two" and the like.
const MOST: u64 = 10;
const NOUNS: &[&str] = &["one", "ones", "test", "tests", "input", "inputs"];
/// Words before the noun that say nothing about the test input.
const EMPTY: &[&str] = &[
    "test", "the", "my", "this", "that", "these", "those", "whole", "current", "existing", "old",
    "new", "other", "persona", "personas", "its", "of", "number", "no", "only", "full", "same",
    "a", "an", "to", "for", "from", "me", "wrong", "please",
];

impl Which {
    /// Reads which one the clause means, if it says so.
    pub fn read(clause: &Clause<'_>) -> Option<Self> {
        if let Some(quoted) = clause.quotes().first() {
            return Some(Self::About((*quoted).to_owned()));
        }
        if let Some(place) =
            clause.position(&["about", "regarding", "concerning", "mentioning", "on"])
        {
            let end = clause.position_from(place, &["so"]).unwrap_or(clause.words.len());
            let about = clause.part(place + 1..end).without_thanks();
            let about = about.written().trim_matches(|letter: char| !letter.is_alphanumeric());
            return (!about.is_empty()).then(|| Self::About(about.to_owned()));
        }
        if clause.has(&["all", "every", "everything", "each", "them", "both"]) {
            return Some(Self::All);
        }
        if clause.has(&["last", "latest", "newest", "final"]) {
            return Some(Self::Last);
        }
        if let Some(place) = ORDINALS.iter().position(|names| clause.has(names)) {
            return Some(Self::At(place));
        }
        if let Some(about) = adjective(clause) {
            return Some(Self::About(about));
        }
        clause.has(&["it", "that", "this", "one", "input", "test"]).then_some(Self::It)
    }

    /// Reads all that the clause means: "the ones about math and fog" are two, and so are "the last two".
    pub fn each(clause: &Clause<'_>) -> Vec<Self> {
        if let Some(several) = several(clause) {
            return several;
        }
        let is_plural = clause.quotes().is_empty() && clause.has(&["ones", "inputs", "tests"]);
        match Self::read(clause) {
            Some(Self::About(about)) if is_plural => {
                let parts = about.split([',', '&']).flat_map(|part| part.split(" and "));
                let parts = parts.map(str::trim).filter(|part| !part.is_empty());
                parts.map(|part| Self::About(part.to_owned())).collect()
            }
            which => which.into_iter().collect(),
        }
    }

    /// The places in the list of those that are meant.
    pub fn places(&self, inputs: &[Input]) -> Vec<usize> {
        let there = || (0..inputs.len()).filter(|place| inputs[*place].content.is_some());
        let content = |place: usize| inputs[place].content.as_deref().unwrap_or_default();
        match self {
            Self::At(place) => there().filter(|other| other == place).collect(),
            Self::Last => there().next_back().into_iter().collect(),
            Self::BeforeLast(places) => there().rev().nth(*places).into_iter().collect(),
            Self::All | Self::It => there().collect(),
            Self::About(about) => {
                let same: Vec<usize> =
                    there().filter(|place| content(*place).trim() == about.trim()).collect();
                if !same.is_empty() {
                    return same;
                }
                there().filter(|place| topic::is_about(content(*place), about)).collect()
            }
        }
    }

    /// Whether it says which one.
    pub fn is_one(&self) -> bool {
        match self {
            Self::At(_) | Self::Last | Self::BeforeLast(_) | Self::About(_) => true,
            Self::All | Self::It => false,
        }
    }

    /// How it is called in a sentence.
    pub fn tell(&self) -> String {
        match self {
            Self::At(place) => format!("number {}", place + 1),
            Self::Last => "the last one".into(),
            Self::BeforeLast(places) => format!("the last one but {places}"),
            Self::About(about) => format!("“{about}”"),
            Self::All => "all of them".into(),
            Self::It => "that".into(),
        }
    }
}

/// "the first two", "the last 3", in their order.
fn several(clause: &Clause<'_>) -> Option<Vec<Which>> {
    let end = clause.position(&["first", "last"])?;
    let count =
        number(&clause.words.get(end + 1)?.plain).filter(|count| (2..=MOST).contains(count))?;
    let places = 0..usize::try_from(count).ok()?;
    Some(match clause.words[end].plain.as_str() {
        "first" => places.map(Which::At).collect(),
        _ => {
            let before = places.rev().filter(|place| *place > 0).map(Which::BeforeLast);
            before.chain([Which::Last]).collect()
        }
    })
}

/// A number in digits, or in letters up to five.
pub fn number(word: &str) -> Option<u64> {
    match word {
        "one" => Some(1),
        "two" => Some(2),
        "three" => Some(3),
        "four" => Some(4),
        "five" => Some(5),
        digits => digits.parse().ok(),
    }
}

/// "the math one", "the short test input".
fn adjective(clause: &Clause<'_>) -> Option<String> {
    let the = clause.position(&["the", "my", "that", "this"])?;
    let noun = clause.position_from(the, NOUNS)?;
    let between = clause.part(the + 1..noun);
    let words: Vec<&str> = between
        .words
        .iter()
        .map(|word| word.plain.as_str())
        .filter(|word| !EMPTY.contains(word))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}
