//! What was typed, as terms.

use crate::store::{Term, words};

/// So much of what was typed is read.
const MAX_CHARS: usize = 1_000;
/// So many terms are looked for.
const MAX_TERMS: usize = 16;

/// Fewer letters than this are no beginning of a word in the middle of a question.
const LEAST_CHARS: usize = 3;

/// The terms of a question. A word with marks inside, such as `well-known`, is a phrase, and so is what
/// stands in quotes; the last word may go on, unless a quote was closed after it.
pub fn parse(text: &str) -> Vec<Term> {
    read(text).into_iter().map(|(term, _)| term).collect()
}

/// The same with every word as a beginning, for a question that nothing answers as it was typed; `None` where
/// that asks for nothing more. What stands in quotes is meant as it is, and a letter or two begin too much.
pub fn widened(text: &str) -> Option<Vec<Term>> {
    let mut wider = false;
    let terms = read(text).into_iter().map(|(mut term, is_quoted)| {
        let last = term.words.last().map_or(0, |word| word.chars().count());
        if !is_quoted && !term.is_prefix && last >= LEAST_CHARS {
            (term.is_prefix, wider) = (true, true);
        }
        term
    });
    let terms = terms.collect();
    wider.then_some(terms)
}

/// The terms, each with whether it stands in quotes.
fn read(text: &str) -> Vec<(Term, bool)> {
    let read: String = text.chars().take(MAX_CHARS).collect();
    let plain = read.replace(['“', '”', '„', '«', '»'], "\"");
    let parts: Vec<&str> = plain.split('"').collect();
    let mut terms = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let is_quoted = number % 2 == 1;
        let is_last = number + 1 == parts.len();
        let phrases: Vec<&str> =
            if is_quoted { vec![*part] } else { part.split_whitespace().collect() };
        for phrase in phrases {
            let words: Vec<String> = words(phrase).map(|word| word.folded).collect();
            if !words.is_empty() {
                terms.push((Term { words, is_prefix: is_last }, is_quoted));
            }
        }
    }
    // Of the words after the last quote, only the last may go on.
    let count = terms.len();
    for (term, _) in terms.iter_mut().take(count.saturating_sub(1)) {
        term.is_prefix = false;
    }
    terms.truncate(MAX_TERMS);
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(terms: Vec<Term>) -> Vec<String> {
        let term = |term: Term| {
            format!("{}{}", term.words.join("+"), if term.is_prefix { "*" } else { "" })
        };
        terms.into_iter().map(term).collect()
    }

    fn told(text: &str) -> Vec<String> {
        written(parse(text))
    }

    #[test]
    fn every_word_can_be_a_beginning_but_not_a_quoted_or_a_short_one() {
        let wider = |text: &str| widened(text).map(written);

        assert_eq!(wider("pla writ"), Some(vec!["pla*".into(), "writ*".into()]));
        assert_eq!(
            wider("to \"plain writer\" abo well-kno no"),
            Some(vec![
                "to".into(),
                "plain+writer".into(),
                "abo*".into(),
                "well+kno*".into(),
                "no*".into()
            ])
        );
        for nothing_more in ["writ", "to be", "\"plain writer\"", ""] {
            assert_eq!(wider(nothing_more), None, "{nothing_more}");
        }
    }

    #[test]
    fn words_phrases_and_the_beginning_of_the_last_word_are_told_apart() {
        assert_eq!(told("Plain  writ"), ["plain", "writ*"]);
        assert_eq!(told("\"plain writer\" now"), ["plain+writer", "now*"]);
        assert_eq!(told("now \"plain writer\""), ["now", "plain+writer"]);
        assert_eq!(told("now “plain wri"), ["now", "plain+wri*"]);
        assert_eq!(told("well-known don't"), ["well+known", "don+t*"]);
        assert_eq!(told("日本 go"), ["日+本", "go*"]);
    }

    #[test]
    fn nothing_that_is_typed_means_anything_else() {
        assert_eq!(
            told("title:x AND (y* OR NEAR -z ^w)"),
            ["title+x", "and", "y", "or", "near", "z", "w*"]
        );
        for nothing in ["", " ", "\"", "\"\"", "*", "()", ":", "🙂", "\0", "' \\ ; --"] {
            assert_eq!(told(nothing), Vec::<String>::new(), "{nothing:?}");
        }
        assert!(told(&"a ".repeat(10_000)).len() <= MAX_TERMS);
        assert_eq!(told(&"x".repeat(10_000)).len(), 1);
    }
}
