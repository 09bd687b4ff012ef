//! A persona's answer to a person: in the tone of its prompt, about what was said.

use super::{
    arithmetic,
    clause::Clause,
    plan::Answer,
    recall,
    request::{Request, requests},
    story::Story,
    voice::{hash, voice},
    words::words,
};
use crate::providers::Ask;

/// What the first answer of a conversation says at its end.
const HONEST: &str = "(Demo, scripted: add a key in Settings for a real model.)";
/// What no persona of the demo should be clever about.
const GRAVE: &[&str] = &[
    "died",
    "death",
    "funeral",
    "suicide",
    "kill",
    "pills",
    "cancer",
    "hurts",
    "abuse",
    "overdose",
    "depressed",
    "miscarriage",
];
/// How many words of a sentence are repeated.
const QUOTED_WORDS: usize = 9;
/// The most words of a name; more are something else.
const LONGEST_NAME: usize = 6;

/// What the persona says.
pub fn answer(ask: &Ask<'_>, story: &Story<'_>) -> Answer {
    let mut text = speak(ask.system, story);
    if story.said_before.is_none() {
        text = format!("{text}\n\n{HONEST}");
    }
    Answer { text, calls: Vec::new() }
}

fn speak(prompt: &str, story: &Story<'_>) -> String {
    let voice = voice(prompt);
    let mut dice = hash(&[prompt, story.text]);
    let mut pick = |sentences: [&'static str; 4]| {
        let side = usize::try_from(dice % 4).unwrap_or_default();
        dice /= 4;
        sentences[side]
    };
    let (opening, middle, closing) =
        (pick(voice.openings), pick(voice.middles), pick(voice.closings));

    if let Some(sum) = arithmetic::solve(story.text) {
        return format!("{sum}. That much is certain. {closing}");
    }
    if greets(story.text) {
        let name = own_name(prompt).map(|name| format!(" I am {name}.")).unwrap_or_default();
        return format!("Hello.{name} What is on your mind?");
    }
    let asked = requests(story.text, None);
    if let [Request::Recall(what)] = asked.as_slice() {
        return format!("{} {closing}", recall::tell(*what, story));
    }
    if let [Request::Greet(name)] = asked.as_slice() {
        return format!("It is good to meet you, {name}. {closing}");
    }
    let subject = subject(story.text);
    if mentions(story.text, GRAVE) {
        return format!(
            "You say {subject}, and I do not want to be quick with words about that. Someone who \
             knows you, or a doctor, can do more here than I can. I am listening, if you want to say \
             more."
        );
    }
    format!("{} {middle} {closing}", capitalised(&opening.replace("{}", &subject)))
}

/// Whether somebody says hello, or asks who is there, and nothing else.
fn greets(text: &str) -> bool {
    let words = words(text);
    let clause = Clause::new(text, &words);
    let says_hello = clause.position(&["hello", "hi", "hey", "greetings"]) == Some(0);
    let asks = ["who are you", "what is your name", "whats your name"];
    words.len() <= 8
        && (asks.iter().any(|phrase| clause.says(phrase)) || (says_hello && words.len() <= 3))
}

/// What a prompt calls its persona: its heading, or "You are …".
fn own_name(prompt: &str) -> Option<&str> {
    let heading = prompt.trim_start().strip_prefix("# ");
    let told = || prompt.split_once("You are ").map(|(_, rest)| rest);
    let name = heading.or_else(told)?.split([',', '.', ';', ':', '\n']).next()?.trim();
    (!name.is_empty() && name.split_whitespace().count() <= LONGEST_NAME).then_some(name)
}

fn mentions(text: &str, words: &[&str]) -> bool {
    let lower = text.to_lowercase();
    lower.split(|letter: char| !letter.is_alphanumeric()).any(|word| words.contains(&word))
}

/// What was said, in the person's own words: the first sentence, or its beginning.
fn subject(text: &str) -> String {
    let sentence = text.split(['.', '!', '?', '\n', ':', ';']).map(str::trim);
    let sentence = sentence.into_iter().find(|sentence| !sentence.is_empty()).unwrap_or_default();
    let words: Vec<&str> = sentence.split_whitespace().collect();
    match words.len() {
        0 => "that".into(),
        count if count <= QUOTED_WORDS => format!("“{}”", words.join(" ")),
        _ => format!("“{} …”", words[..QUOTED_WORDS].join(" ")),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        domain::{
            message::{PartBody, Role},
            run::GO_ON,
        },
        providers::demo::{
            plan::plan,
            rehearsal::{ask, chat, chat_after, turn, user, words},
        },
    };

    const SKEPTIC: &str = "# Skeptic\n\nYou test claims so that people can rely on what survives.";
    const OPTIMIST: &str = "# Optimist\n\nYou look for what can still be done.";

    #[test]
    fn a_persona_speaks_in_its_own_tone_about_what_was_said() {
        let question = "People who eat breakfast weigh less. Right?";

        assert_eq!(
            chat(SKEPTIC, question),
            "“People who eat breakfast weigh less”, you say. I would like to see what that rests on. What would we \
             expect to see if it were not so? Where does the claim come from?\n\n(Demo, scripted: \
             add a key in Settings for a real model.)"
        );
        assert_eq!(
            chat(OPTIMIST, question),
            "There is more room in “People who eat breakfast weigh less” than it seems at first. Small steps count, \
             even those that nobody sees. What would make tomorrow a little easier?\n\n(Demo, \
             scripted: add a key in Settings for a real model.)"
        );
    }

    #[test]
    fn different_questions_get_different_answers_and_the_same_gets_the_same() {
        let questions =
            ["Where do I start?", "I lost my job.", "Is the Moon hollow?", "Tell me of Paris."];
        let mut answers: Vec<String> = questions.map(|question| chat(OPTIMIST, question)).to_vec();
        assert_eq!(chat(OPTIMIST, questions[0]), answers[0]);

        answers.sort();
        answers.dedup();

        assert_eq!(answers.len(), questions.len());
    }

    #[test]
    fn sums_are_right_and_only_the_first_answer_confesses() {
        assert_eq!(
            chat(OPTIMIST, "What is 2+2?"),
            "2+2 = 4. That much is certain. I would love to hear what you do next.\n\n(Demo, \
             scripted: add a key in Settings for a real model.)"
        );
        assert_eq!(
            chat_after(OPTIMIST, &["What is 2+2?"], "And what is 3*3?"),
            "3*3 = 9. That much is certain. I would love to hear what you do next."
        );
    }

    #[test]
    fn an_answer_that_broke_off_goes_on_where_it_did() {
        let question = "Where do I start?";
        let whole = chat(OPTIMIST, question);
        for (at, _) in whole.char_indices() {
            let begun = turn(Role::Assistant, PartBody::Text(whole[..at].into()));
            let turns = [user(question), begun, user(GO_ON)];

            let rest = words(&plan(&ask(OPTIMIST, &turns, &[])));

            assert_eq!(format!("{}{rest}", &whole[..at]), whole);
        }
    }

    #[test]
    fn what_was_said_in_the_chat_is_remembered() {
        let name = chat_after(OPTIMIST, &["Hi, my name is Ann."], "What is my name?");

        assert!(name.starts_with("Your name is Ann"), "{name}");
    }

    #[test]
    fn a_greeting_is_answered_with_a_greeting_and_a_name() {
        for (prompt, said, answer) in [
            (OPTIMIST, "Hello, who are you?", "Hello. I am Optimist. What is on your mind?"),
            ("You are Ann, a coach.", "Hi!", "Hello. I am Ann. What is on your mind?"),
            ("Be brief.", "hey there", "Hello. What is on your mind?"),
        ] {
            assert!(chat(prompt, said).starts_with(answer), "{said}");
        }
        let question = "Hi, is the Moon hollow?";
        assert!(!chat(OPTIMIST, question).starts_with("Hello."), "{question}");
    }

    #[test]
    fn grave_matters_are_not_cheered_up() {
        let answer = chat(OPTIMIST, "My father died on Sunday.");

        assert!(answer.starts_with("You say “My father died on Sunday”, and I do not"), "{answer}");
    }
}
