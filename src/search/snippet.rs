//! The passage of a text that fits best, in pieces: what was looked for is marked.

use std::{collections::HashSet, ops::Range};

use pulldown_cmark::{Event, Options, Parser};

use crate::{
    domain::search::{Piece, Texts},
    store::{Term, Word, words},
};

/// How long a passage is, in bytes.
const PASSAGE_BYTES: usize = 240;
/// How much of it stands before the first match.
const LEAD_BYTES: usize = 60;
/// So many matches are looked at.
const MAX_MATCHES: usize = 500;

/// A stretch of a text that a term fits.
struct Match {
    range: Range<usize>,
    term: usize,
}

/// The passage of the body that fits best, or else of the secondary text, or else how they begin.
pub fn snippet(texts: &Texts, terms: &[Term]) -> Vec<Piece> {
    let candidates = [&texts.body, &texts.secondary];
    for text in candidates {
        let found = matches(text, terms);
        if !found.is_empty() {
            return passage(text, &found);
        }
    }
    let begun = candidates.into_iter().find(|text| !text.trim().is_empty());
    begun.map(|text| passage(text, &[])).unwrap_or_default()
}

fn matches(text: &str, terms: &[Term]) -> Vec<Match> {
    let words: Vec<Word> = words(text).collect();
    let mut found: Vec<Match> = Vec::new();
    for at in 0..words.len() {
        let fitting = (0..terms.len()).filter(|term| terms[*term].fits(&words[at..]));
        let longest = fitting.max_by_key(|term| terms[*term].words.len());
        let Some(term) = longest else { continue };
        let last = at + terms[term].words.len() - 1;
        let range = words[at].range.start..words[last].range.end;
        if found.last().is_none_or(|before| before.range.end <= range.start) {
            found.push(Match { range, term });
        }
        if found.len() == MAX_MATCHES {
            break;
        }
    }
    found
}

/// The passage with the most different terms in it, the first of those.
fn passage(text: &str, found: &[Match]) -> Vec<Piece> {
    let terms_from = |from: usize| {
        let end = found[from].range.start + PASSAGE_BYTES - LEAD_BYTES;
        let near = found[from..].iter().take_while(|other| other.range.end <= end);
        near.map(|other| other.term).collect::<HashSet<_>>().len()
    };
    // Of equals, `max_by_key` takes the last: from behind that is the first.
    let best = (0..found.len()).rev().max_by_key(|from| terms_from(*from));
    let first = best.map_or(0, |best| found[best].range.start);
    let (start, end) = bounds(text, first);
    let mut pieces = Vec::new();
    if !text[..start].trim().is_empty() {
        push(&mut pieces, "…", false);
    }
    let words = words_of(text, start..end);
    let mut at = start;
    let inside = found.iter().filter(|one| one.range.start >= start && one.range.end <= end);
    for Match { range, .. } in inside {
        push_words(&mut pieces, text, at..range.start, &words);
        push(&mut pieces, &text[range.clone()], true);
        at = range.end;
    }
    push_words(&mut pieces, text, at..start + text[start..end].trim_end().len(), &words);
    if !text[end..].trim().is_empty() {
        push(&mut pieces, "…", false);
    }
    pieces
}

/// Where the passage around a place begins and ends: at spaces, where there are some near.
fn bounds(text: &str, around: usize) -> (usize, usize) {
    let mut start = text.floor_char_boundary(around.saturating_sub(LEAD_BYTES));
    if start > 0 {
        let space = text[start..around].find(char::is_whitespace);
        start = space.map_or(start, |space| start + space);
    }
    start += text[start..].len() - text[start..].trim_start().len();
    let end = text.floor_char_boundary((start + PASSAGE_BYTES).min(text.len()));
    if end == text.len() {
        return (start.min(end), end);
    }
    let space = text[start..end].rfind(char::is_whitespace).map(|space| start + space);
    (start, space.filter(|space| *space > around + LEAD_BYTES).unwrap_or(end))
}

/// Where a passage of markdown says something: all but the marks.
fn words_of(text: &str, passage: Range<usize>) -> Vec<Range<usize>> {
    let from = text[..passage.start].rfind('\n').map_or(0, |end| end + 1);
    let to = text[passage.end..].find('\n').map_or(text.len(), |end| passage.end + end);
    let parser = Parser::new_ext(&text[from..to], Options::ENABLE_WIKILINKS);
    let words = parser.into_offset_iter().filter_map(|(event, range)| {
        let range = from + range.start..from + range.end;
        match event {
            Event::Text(_) | Event::Html(_) | Event::InlineHtml(_) => Some(range),
            Event::Code(_) => {
                let ticks = |end: &str| end.len() - end.trim_start_matches('`').len();
                let length = ticks(&text[range.clone()]);
                Some(range.start + length..(range.end - length).max(range.start + length))
            }
            _ => None,
        }
    });
    let inside = words.map(|range| range.start.max(passage.start)..range.end.min(passage.end));
    let inside: Vec<Range<usize>> = inside.filter(|range| !range.is_empty()).collect();
    // What consists of marks only is shown as it is.
    if inside.is_empty() { vec![passage] } else { inside }
}

/// Adds what a stretch of a text says.
fn push_words(pieces: &mut Vec<Piece>, text: &str, stretch: Range<usize>, words: &[Range<usize>]) {
    let mut at = stretch.start;
    let between = |pieces: &mut Vec<Piece>, gap: &str| {
        if gap.contains(char::is_whitespace) {
            push(pieces, " ", false);
        }
    };
    for range in words {
        let range = range.start.max(at)..range.end.min(stretch.end);
        if !range.is_empty() {
            between(pieces, &text[at..range.start]);
            push(pieces, &text[range.clone()], false);
            at = range.end;
        }
    }
    between(pieces, &text[at..stretch.end]);
}

/// Adds a piece, on one line.
fn push(pieces: &mut Vec<Piece>, text: &str, marked: bool) {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        let space = letter.is_whitespace() || letter.is_control();
        match (space, line.ends_with(' ')) {
            (true, true) => {}
            (true, false) => line.push(' '),
            (false, _) => line.push(letter),
        }
    }
    match pieces.last_mut() {
        Some(last) if last.marked == marked => {
            let joined = last.text.ends_with([' ', '…']) && line.starts_with(' ');
            last.text.push_str(if joined { line.trim_start() } else { &line });
        }
        None if line.trim().is_empty() => {}
        _ if line.is_empty() => {}
        _ => pieces.push(Piece { text: line, marked }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str, terms: &[(&str, bool)]) -> String {
        let terms: Vec<Term> = terms
            .iter()
            .map(|(words, is_prefix)| Term {
                words: words.split(' ').map(str::to_owned).collect(),
                is_prefix: *is_prefix,
            })
            .collect();
        let texts = Texts { body: body.into(), secondary: "beside".into(), ..Texts::default() };
        let piece = |piece: Piece| match piece.marked {
            true => format!("[{}]", piece.text),
            false => piece.text,
        };
        snippet(&texts, &terms).into_iter().map(piece).collect()
    }

    #[test]
    fn what_was_looked_for_is_marked_on_one_line() {
        assert_eq!(
            shown("# A\n\nPlain words,\nplainly.", &[("plain", true)]),
            "A [Plain] words, [plainly]."
        );
        assert_eq!(shown("Crème brûlée", &[("creme brulee", false)]), "[Crème brûlée]");
        assert_eq!(shown("plain and plainly", &[("plain", false)]), "[plain] and plainly");
        assert_eq!(shown("nothing of it", &[("besides", true)]), "nothing of it");
        assert_eq!(shown("", &[("beside", false)]), "[beside]");
    }

    #[test]
    fn marks_are_not_shown_unless_they_were_looked_for() {
        let body = "## Boats\n\nSee [[Harbour|the old harbour]], **then** `row` to\n\
                    [the isle](https://isle.test/plain).\n\n- one\n- two < three\n";
        assert_eq!(
            shown(body, &[("row", false)]),
            "Boats See the old harbour, then [row] to the isle. one two < three"
        );
        let linked = shown(body, &[("harbour", false)]);
        assert!(linked.contains("See [Harbour]the old [harbour], then"), "{linked}");
        assert!(shown(body, &[("isle test", false)]).contains("[isle.test]"));
        assert_eq!(shown("[[Fog]]", &[("fog", false)]), "[Fog]");
        assert_eq!(shown("---", &[("x", false)]), "---");
    }

    #[test]
    fn the_passage_with_the_most_terms_is_shown() {
        let text = format!("one {} one two {}", "filler ".repeat(100), "more ".repeat(100));

        let shown = shown(&text, &[("one", false), ("two", false)]);

        assert!(shown.starts_with("…filler") && shown.ends_with("…"), "{shown}");
        assert!(shown.contains("[one] [two]"), "{shown}");
        assert!(shown.len() < 300);
    }

    #[test]
    fn odd_texts_do_no_harm() {
        for body in
            ["é".repeat(1000), "🙂".repeat(500), format!("x{}", " ".repeat(900)), "\0".into()]
        {
            shown(&body, &[("x", true), ("é", true)]);
            shown(&format!("{body} needle {body}"), &[("needle", false)]);
        }
    }
}
