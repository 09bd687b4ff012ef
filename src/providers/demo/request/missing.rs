//! What a request lacks: the question for it, and the request that a bare answer makes whole.

use super::{Edge, Request};
use crate::providers::demo::{
    clause::{Clause, SAYS},
    input_request, persona_request,
    which::Which,
    words::words,
};

/// What a request lacks.
#[derive(Clone, Debug, PartialEq)]
pub enum Missing {
    /// The new name.
    Name,
    /// The words of a new system prompt.
    Prompt,
    /// The words to add to the system prompt.
    Addition(Edge),
    /// The passage of the system prompt that should go.
    Passage,
    /// The words of a new test input.
    Input,
    /// The new words of this test input.
    Content(Which),
    /// Where these texts should be added.
    Place(Vec<String>),
}

const NO_PROMPT: &str = "I am scripted and cannot write a prompt by myself. Tell me the words, for \
    example: add 'Be concise' to the system prompt, or: replace 'a' with 'b' in the system prompt.";
/// The words of an answer that gives nothing.
const REFUSAL: &str = "no nothing none never mind nevermind cancel stop forget skip wait it that this dont do \
    not i know yes ok okay sorry hm hmm have idea";
/// The most words of a name; more are something else.
const LONGEST_NAME: usize = 8;

impl Missing {
    /// The question for it.
    pub fn question(&self) -> &'static str {
        match self {
            Self::Name => {
                "Which name should the persona have? Say for example: change the name to 'Helpful \
                 Assistant'."
            }
            Self::Prompt | Self::Addition(_) => NO_PROMPT,
            Self::Passage => {
                "Which passage should go? Say for example: remove 'Be concise' from the system prompt."
            }
            Self::Input => {
                "What should the test input say? Say for example: add a test input: 'What is 2+2?', or: \
                 add a test input about coding."
            }
            Self::Content(_) => {
                "What should the test input say instead? Say for example: change the second test input \
                 to 'What is 3+3?'"
            }
            Self::Place(_) => {
                "Where should I add that? Say for example: add 'Be concise' to the system prompt, or: \
                 add a test input: 'What is 2+2?'"
            }
        }
    }

    /// The requests that a bare answer makes whole. `told` is what the answer asks for by itself: a
    /// request of its own is no answer.
    pub fn complete(&self, text: &str, told: &[Request]) -> Vec<Request> {
        let is_of_inputs = matches!(self, Self::Input | Self::Content(_));
        let is_bare = |request: &Request| match request {
            Request::Unclear(_) => true,
            // What a persona is asked may well be what the agent would answer.
            Request::Introduce | Request::Solved(_) | Request::Greet(_) | Request::Recall(_) => {
                is_of_inputs
            }
            _ => false,
        };
        let words = words(text);
        let clause = Clause::new(text, &words);
        let is_answer = match self {
            Self::Name => told.iter().all(is_bare),
            // A text may look like requests further on.
            _ => told.first().is_some_and(is_bare),
        };
        if clause.is_only(REFUSAL) || !is_answer {
            return Vec::new();
        }
        // "it should say X".
        let said = clause.without_lead(&["it", "should", "must"]);
        let is_said = said.words.len() < words.len()
            && said.without_lead(SAYS).words.len() < said.words.len();
        let content = || if is_said { said.said() } else { clause.content() };
        let is_asked = text.trim_end().ends_with('?');
        let request = match self {
            Self::Name if words.len() > LONGEST_NAME || is_asked => None,
            Self::Name => persona_request::named(&clause),
            Self::Prompt => content().map(Request::SetPrompt),
            Self::Addition(edge) => content().map(|text| Request::AddToPrompt(text, *edge)),
            Self::Passage => content().map(|text| persona_request::replacement(&text, "")),
            Self::Input if words[0].plain == "about" || words[0].quoted.is_some() => {
                return input_request::add(&clause, 0);
            }
            Self::Input => content().map(Request::AddInput),
            Self::Content(which) => {
                content().map(|content| Request::ChangeInput { which: which.clone(), content })
            }
            // Only a noun says where, and it is looked for where the answer is read.
            Self::Place(_) => None,
        };
        request.into_iter().collect()
    }
}
