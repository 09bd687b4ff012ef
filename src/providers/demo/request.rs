//! What people ask the persona editor's agent for, as far as a script can tell.

mod doubt;
mod missing;

use self::doubt::{excepts, excepts_beside, is_of_two, spares};
pub use self::{doubt::is_not_meant, missing::Missing};
use super::{
    arithmetic,
    clause::{self, Clause},
    improve, input_request, persona_request, recall,
    which::Which,
};
use crate::domain::enhancement::Enhancement;

/// One thing that a person asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// To say who it is and what it can do.
    Introduce,
    /// Nothing: it was thanked.
    Thanks,
    /// The persona's name.
    TellName,
    /// The persona's system prompt.
    TellPrompt,
    /// Who the persona is.
    TellPersona,
    /// A new name.
    Rename(String),
    /// More text at an end of the system prompt.
    AddToPrompt(String, Edge),
    /// A new system prompt.
    SetPrompt(String),
    /// Another text for a passage of the system prompt.
    ReplaceInPrompt {
        /// The passage.
        find: String,
        /// What takes its place.
        replace: String,
    },
    /// All test inputs.
    ListInputs,
    /// One test input in full.
    ReadInput(Which),
    /// A new test input.
    AddInput(String),
    /// Another text for a test input.
    ChangeInput {
        /// Which one.
        which: Which,
        /// Its new text.
        content: String,
    },
    /// A test input less.
    DeleteInput(Which),
    /// The persona's answers to test inputs.
    RunInputs {
        /// Which ones.
        which: Which,
        /// How many at once.
        at_once: Option<u64>,
    },
    /// Something better.
    Improve(Enhancement),
    /// Something that was said before.
    Recall(recall::Recall),
    /// Nothing: the person's name was told.
    Greet(String),
    /// A sum and its result.
    Solved(String),
    /// Something that is understood but for a piece.
    Incomplete(Missing),
    /// Anything else, as it was said.
    Unclear(String),
}

/// An end of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge {
    /// Before everything else.
    Beginning,
    /// After everything else.
    End,
}

impl Request {
    /// The look at what it is about, so that "it" can be said of that.
    pub fn look(&self) -> Option<Self> {
        match self {
            Self::TellName | Self::Rename(_) => Some(Self::TellName),
            Self::TellPrompt
            | Self::AddToPrompt(..)
            | Self::SetPrompt(_)
            | Self::ReplaceInPrompt { .. } => Some(Self::TellPrompt),
            Self::TellPersona => Some(Self::TellPersona),
            Self::ListInputs
            | Self::ReadInput(_)
            | Self::AddInput(_)
            | Self::ChangeInput { .. }
            | Self::DeleteInput(_)
            | Self::RunInputs { .. } => Some(Self::ListInputs),
            Self::Introduce
            | Self::Thanks
            | Self::Improve(_)
            | Self::Recall(_)
            | Self::Greet(_)
            | Self::Solved(_)
            | Self::Incomplete(_)
            | Self::Unclear(_) => None,
        }
    }

    /// Whether it needs one look and nothing else, so that several can be done at once.
    pub fn is_look(&self) -> bool {
        matches!(self, Self::TellName | Self::TellPrompt | Self::TellPersona | Self::ListInputs)
    }

    /// Whether it deletes or runs test inputs.
    fn takes_inputs(&self) -> bool {
        matches!(self, Self::DeleteInput(_) | Self::RunInputs { .. })
    }

    /// Whether it is about test inputs.
    pub fn is_of_inputs(&self) -> bool {
        self.look() == Some(Self::ListInputs)
    }
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verb {
    /// Show it.
    Read,
    /// Make more of it.
    Add,
    /// Make it different.
    Change,
    /// Take it away.
    Delete,
    /// Try it.
    Run,
}

/// To what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noun {
    /// The persona's name.
    Name,
    /// Its system prompt.
    Prompt,
    /// Its test inputs.
    Inputs,
}

const VERBS: &[(Verb, &[&str])] = &[
    (
        Verb::Read,
        &[
            "show", "what", "whats", "tell", "list", "display", "see", "read", "give", "print",
            "which", "view", "get", "describe", "who", "whos", "many", "have", "there", "know",
            "does",
        ],
    ),
    (Verb::Add, &["add", "append", "prepend", "include", "insert", "create", "write", "put"]),
    (
        Verb::Change,
        &[
            "change", "update", "edit", "set", "rename", "replace", "modify", "rewrite", "make",
            "turn", "reword", "rephrase", "swap",
        ],
    ),
    (Verb::Delete, &["delete", "remove", "drop", "erase"]),
    (Verb::Run, &["run", "rerun", "execute", "try"]),
];

/// Where a verb is looked for.
const VERB_REACH: usize = 10;

impl Verb {
    /// The first verb of a clause and its place.
    fn of(clause: &Clause<'_>) -> Option<(Self, usize)> {
        let near = clause.part(0..clause.words.len().min(VERB_REACH));
        near.words.iter().enumerate().find_map(|(place, word)| {
            let next = clause.words.get(place + 1).map_or("", |word| word.plain.as_str());
            match (word.plain.as_str(), next) {
                // What would be then is not asked of what is there.
                ("what", "if") => None,
                ("get", "rid") => Some((Self::Delete, place)),
                ("test", "the" | "it" | "this") if place == 0 => Some((Self::Run, place)),
                ("new" | "another", _) if place == 0 => Some((Self::Add, place)),
                ("make", "a" | "an" | "new" | "another" | "one" | "two" | "three" | "some")
                    if matches!(Noun::all(clause).first(), Some((Noun::Inputs, _))) =>
                {
                    Some((Self::Add, place))
                }
                ("give", "it" | "him" | "her") => Some((Self::Change, place)),
                ("give", _) if clause.says("give the persona") => Some((Self::Change, place)),
                (word, _) => {
                    let verb = VERBS.iter().find(|(_, names)| names.contains(&word))?;
                    Some((verb.0, place))
                }
            }
        })
    }

    /// Whether a word is a verb of a request.
    pub fn is(word: &str) -> bool {
        VERBS.iter().any(|(_, names)| names.contains(&word))
    }
}

impl Noun {
    /// The nouns of a clause and their places, up to where it says what they are about.
    pub fn all(clause: &Clause<'_>) -> Vec<(Self, usize)> {
        let end = clause.position(&["about", "regarding"]).unwrap_or(clause.words.len()).min(40);
        let named = clause.part(0..end).words.iter().enumerate().filter_map(|(place, word)| {
            let noun = match word.plain.as_str() {
                "name" | "title" => Self::Name,
                "prompt" | "instructions" => Self::Prompt,
                "input" | "inputs" | "one" | "ones" | "tests" | "test" => Self::Inputs,
                _ => return None,
            };
            Some((noun, place))
        });
        named.collect()
    }
}

/// The requests of a message, in order. `asked` is what the message may go on with.
pub fn requests(text: &str, asked: Option<&Request>) -> Vec<Request> {
    if let Some(improvements) = improve::understand(text) {
        return improvements;
    }
    let mut told = clause::read(text, asked, understand, Request::Unclear);
    if told.iter().any(spares) {
        told.retain(|one| !one.takes_inputs());
    }
    let completed = match asked {
        Some(Request::Incomplete(missing)) => missing.complete(text, &told),
        _ => Vec::new(),
    };
    if completed.is_empty() { told } else { completed }
}

/// What one clause asks for; nothing when it cannot be told. `previous` is what was asked before it.
fn understand(clause: &Clause<'_>, previous: Option<&Request>) -> Vec<Request> {
    if let Some(request) = small_talk(clause) {
        return vec![request];
    }
    if let Some(request) = recall::understand(clause) {
        return vec![request];
    }
    if let Some(request) = persona_request::naming(clause) {
        return vec![request];
    }
    let nouns = Noun::all(clause);
    if let Some(requests) = changing_too(clause, &nouns, previous) {
        return requests;
    }
    let Some((verb, place)) = Verb::of(clause) else {
        return elliptic(clause, &nouns, previous);
    };
    let found = match verb {
        Verb::Read => reading(clause, &nouns, previous),
        Verb::Add => adding(clause, place, &nouns, previous),
        Verb::Change => changing(clause, place, &nouns, previous),
        Verb::Delete => match nouns.first() {
            Some((Noun::Prompt, _)) => persona_request::remove_from_prompt(clause),
            None if is_of_prompt(previous) && !clause.quotes().is_empty() => {
                persona_request::remove_from_prompt(clause)
            }
            _ => input_request::delete(clause, &nouns, previous),
        },
        Verb::Run => input_request::run(clause, &nouns, previous),
    };
    match found.is_empty() {
        true => arithmetic::solve(clause.written()).map(Request::Solved).into_iter().collect(),
        false if verb != Verb::Read && is_not_meant(&clause.part(0..place)) => {
            vec![Request::Unclear(clause.written().to_owned())]
        }
        false if found.iter().any(Request::takes_inputs) && excepts_beside(clause, place) => {
            vec![Request::Unclear(clause.written().to_owned())]
        }
        false => found,
    }
}

/// Whether the system prompt was spoken of.
pub fn is_of_prompt(previous: Option<&Request>) -> bool {
    previous.and_then(Request::look) == Some(Request::TellPrompt)
}

/// Greetings, thanks, and questions about the agent itself.
pub fn small_talk(clause: &Clause<'_>) -> Option<Request> {
    let is_short = clause.words.len() <= 8;
    let about_itself =
        ["who are you", "what are you", "what can you do", "what do you do", "your name"]
            .iter()
            .any(|phrase| clause.says(phrase));
    let changes = clause.has(&["change", "set", "update", "rename"]);
    let wants_help = clause.says("how do i") || clause.says("how can i") || clause.says("help me");
    let is_greeting = clause.words.len() <= 3
        && (clause.has(&["hello", "hi", "hey", "help"]) || clause.says("good morning"));
    if is_short && ((about_itself && !changes) || is_greeting) || (wants_help && is_short) {
        return Some(Request::Introduce);
    }
    (is_short
        && clause.has(&["thanks", "thank"])
        && clause.quotes().is_empty()
        && clause.is_polite())
    .then_some(Request::Thanks)
}

/// The words of a clause that only asks to see what was spoken of: "show it", "list them again".
const SHOW_IT: &str = "show list display print view read see let me us it them that again now please to \
    the result";

fn reading(
    clause: &Clause<'_>,
    nouns: &[(Noun, usize)],
    previous: Option<&Request>,
) -> Vec<Request> {
    if clause.has(&["it", "them", "that", "again", "result"]) && clause.is_only(SHOW_IT) {
        return previous.and_then(Request::look).into_iter().collect();
    }
    let mut requests = Vec::new();
    for (noun, _) in nouns {
        let request = match noun {
            Noun::Name => Request::TellName,
            Noun::Prompt => Request::TellPrompt,
            Noun::Inputs => input_request::read(clause),
        };
        if !requests.contains(&request) {
            requests.push(request);
        }
    }
    let of_persona = clause.has(&["persona", "character", "called"]) || clause.says("who is this");
    if requests.is_empty() && of_persona && !clause.has(&["delete", "create", "add"]) {
        requests.push(Request::TellPersona);
    }
    requests
}

fn adding(
    clause: &Clause<'_>,
    verb: usize,
    nouns: &[(Noun, usize)],
    previous: Option<&Request>,
) -> Vec<Request> {
    let quotes: Vec<String> = clause.quotes().into_iter().map(str::to_owned).collect();
    // "one" counts something in what is to be added, where the prompt is named too.
    let of_prompt = nouns.iter().any(|(noun, _)| *noun == Noun::Prompt);
    let counts = |place: usize| of_prompt && clause.words[place].plain.starts_with("one");
    let noun = nouns.iter().find(|(noun, place)| *noun != Noun::Name && !counts(*place));
    let noun = noun.or(nouns.first());
    match (noun, previous) {
        (Some((noun, _)), Some(Request::Incomplete(Missing::Place(texts))))
            if quotes.is_empty() && clause.has(&["it", "that", "them"]) =>
        {
            adding_to(*noun, texts)
        }
        (Some((Noun::Name, noun)), _) => persona_request::rename(clause, *noun),
        (Some((Noun::Prompt, noun)), _)
            if clause.says("new prompt") || clause.says("new system prompt") =>
        {
            persona_request::change_prompt(clause, verb, *noun)
        }
        (Some((Noun::Prompt, noun)), _) => persona_request::add_to_prompt(clause, verb, *noun),
        (Some((Noun::Inputs, noun)), _) => input_request::add(clause, *noun),
        (None, _)
            if quotes.is_empty() && clause.has(&["about"]) && clause.has(&["another", "more"]) =>
        {
            input_request::add(clause, verb)
        }
        (None, _) if quotes.is_empty() => Vec::new(),
        (None, previous) => match previous.and_then(Request::look) {
            Some(Request::ListInputs) => adding_to(Noun::Inputs, &quotes),
            Some(Request::TellPrompt) => adding_to(Noun::Prompt, &quotes),
            _ => vec![Request::Incomplete(Missing::Place(quotes))],
        },
    }
}

fn adding_to(noun: Noun, texts: &[String]) -> Vec<Request> {
    match noun {
        Noun::Name => Vec::new(),
        Noun::Prompt => vec![Request::AddToPrompt(texts.join("\n\n"), Edge::End)],
        Noun::Inputs => texts.iter().cloned().map(Request::AddInput).collect(),
    }
}

fn changing(
    clause: &Clause<'_>,
    verb: usize,
    nouns: &[(Noun, usize)],
    previous: Option<&Request>,
) -> Vec<Request> {
    let is_of_it = clause.has(&["it"])
        && match clause.words[verb].plain.as_str() {
            "rename" => false,
            // "make it funnier" wishes for more than a script can do.
            "make" => clause.has(&["say"]),
            _ => true,
        };
    match nouns.first() {
        Some((Noun::Prompt, noun)) if clause.quotes().len() == 2 => {
            persona_request::change_prompt(clause, verb, *noun)
        }
        Some(_) if is_of_two(clause, verb, nouns) => {
            vec![Request::Unclear(clause.written().to_owned())]
        }
        Some((Noun::Inputs, noun)) => input_request::change(clause, *noun),
        Some((Noun::Name, noun)) => persona_request::rename(clause, *noun),
        Some((Noun::Prompt, noun)) => persona_request::change_prompt(clause, verb, *noun),
        None if is_of_it && previous.is_some_and(Request::is_of_inputs) => {
            input_request::change(clause, verb)
        }
        None => persona_request::change_it(clause, verb, previous),
    }
}

/// A clause that changes one thing more without a verb: "… and the prompt to 'X'".
fn changing_too(
    clause: &Clause<'_>,
    nouns: &[(Noun, usize)],
    previous: Option<&Request>,
) -> Option<Vec<Request>> {
    let to = clause.position(&["to", "="])?;
    let before = clause.part(0..to);
    match (previous?, nouns.first()) {
        (
            Request::Rename(_) | Request::SetPrompt(_) | Request::ChangeInput { .. },
            Some((Noun::Name | Noun::Prompt, noun)),
        ) if noun + 1 == to && before.is_only(PHRASE) => {
            Some(changing(clause, *noun, nouns, previous))
        }
        // Without quotation marks it may as well be more of the words before it.
        (Request::ChangeInput { .. }, _) if !clause.rest(to).quotes().is_empty() => {
            let which = Which::read(&before).filter(Which::is_one)?;
            let content = clause.rest(to + 1).said()?;
            Some(vec![Request::ChangeInput { which, content }])
        }
        _ => None,
    }
}

/// The words of a clause that only names what is to be shown.
const PHRASE: &str = "the its this current system prompt instructions name title test inputs input tests \
    persona personas all also my please of and too";

/// A clause without a verb goes on with what was asked before: "… and the one about food".
fn elliptic(
    clause: &Clause<'_>,
    nouns: &[(Noun, usize)],
    previous: Option<&Request>,
) -> Vec<Request> {
    if clause.words.len() > 8 {
        return Vec::new();
    }
    let says_all = clause.position(&["all", "both", "every", "everything"]) == Some(0);
    // "… but not the one about food" asks for the opposite.
    let is_meant = !excepts(clause) && !is_not_meant(clause);
    let which = Which::read(clause).filter(|_| is_meant).filter(|which| match which {
        Which::It => false,
        // "… and thanks for all" must not delete everything.
        Which::All => says_all,
        Which::At(_) | Which::BeforeLast(_) | Which::Last | Which::About(_) => true,
    });
    let is_phrase = !nouns.is_empty() && clause.is_only(PHRASE);
    let is_place = clause.without_lead(&["to", "into", "in", "as", "a"]).is_only(PHRASE);
    match (previous, which) {
        (Some(Request::Incomplete(Missing::Place(texts))), _) if is_place => {
            nouns.first().map(|(noun, _)| adding_to(*noun, texts)).unwrap_or_default()
        }
        (Some(Request::DeleteInput(_)), Some(which)) => vec![Request::DeleteInput(which)],
        (Some(Request::ReadInput(_)), Some(which)) => vec![Request::ReadInput(which)],
        (Some(Request::RunInputs { at_once, .. }), Some(which)) if !clause.has(&["at"]) => {
            vec![Request::RunInputs { which, at_once: *at_once }]
        }
        (Some(Request::ChangeInput { content, .. }), Some(which)) => {
            vec![Request::ChangeInput { which, content: content.clone() }]
        }
        (None | Some(Request::Incomplete(_)), _) if is_phrase => reading(clause, nouns, previous),
        (Some(look), _) if look.is_look() && is_phrase => reading(clause, nouns, previous),
        _ => arithmetic::solve(clause.written()).map(Request::Solved).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests;
