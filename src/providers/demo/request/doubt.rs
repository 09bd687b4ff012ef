//! What says that something should not be done, or not with all of it, or that leaves open what it is done to:
//! then nothing is done, and the person is asked.

use super::{Noun, Request, Verb};
use crate::providers::demo::{
    clause::{Clause, SAYS},
    words::words,
};

/// What takes something out of what was named.
const EXCEPT: &[&str] = &[
    "except",
    "excepting",
    "exclude",
    "excluding",
    "besides",
    "apart",
    "without",
    "unless",
    "not",
    "arent",
    "isnt",
    "keep",
    "keeping",
    "leave",
    "leaving",
    "spare",
];
/// What asks about something, and does not ask for it.
const QUESTIONS: &[&str] = &[
    "should i",
    "should we",
    "would it",
    "would that",
    "what if",
    "is it",
    "was it",
    "did you",
    "do you",
    "how did",
    "how would",
];

/// Whether it takes something out of what it names: "all but the first". A script does not know what is left.
pub fn excepts(clause: &Clause<'_>) -> bool {
    clause.position_from(0, EXCEPT).is_some() || clause.has(&["but"]) || clause.says("other than")
}

/// The same of a clause with this verb. A "but" before that only goes on from what was said.
pub fn excepts_beside(clause: &Clause<'_>, verb: usize) -> bool {
    excepts(&clause.rest(verb)) || clause.part(0..verb).position_from(0, EXCEPT).is_some()
}

/// Whether what stands before a verb says that it should not be done, or asks whether it should.
pub fn is_not_meant(before: &Clause<'_>) -> bool {
    before.has(&["not", "dont", "never", "why", "whether"])
        || QUESTIONS.iter().any(|question| before.says(question))
}

/// Whether it says of some test inputs that they are not to be deleted or run: "Keep the one about fog."
pub fn spares(request: &Request) -> bool {
    let Request::Unclear(said) = request else { return false };
    let words = words(said);
    let clause = Clause::new(said, &words);
    match Verb::of(&clause) {
        None => excepts(&clause.part(0..words.len().min(2))),
        Some((Verb::Delete | Verb::Run, place)) => {
            excepts_beside(&clause, place) || is_not_meant(&clause.part(0..place))
        }
        Some((Verb::Read | Verb::Add | Verb::Change, _)) => false,
    }
}

/// Whether two things are named before what is to be there: "the name of the first test input to".
pub fn is_of_two(clause: &Clause<'_>, verb: usize, nouns: &[(Noun, usize)]) -> bool {
    const TO: &[&str] = &["to", "as", "into", "with", "by", "from"];
    let colon = clause.words.iter().position(|word| word.after == Some(':'));
    let ends = [
        clause.position_from(verb, TO),
        clause.position_from(verb, SAYS),
        colon.map(|place| place + 1),
    ];
    let Some(end) = ends.into_iter().flatten().min() else { return false };
    let mut named = nouns.iter().filter(|(_, place)| *place < end).map(|(noun, _)| *noun);
    named.next().is_some_and(|first| named.any(|other| other != first))
}
