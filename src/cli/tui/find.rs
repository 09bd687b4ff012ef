//! Words found on lines as they are shown, also where a line was broken between them.

use std::ops::Range;

use ratatui::{
    style::Style,
    text::{Line, Span},
};

/// A piece of a line, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which line.
    pub line: usize,
    /// Which bytes of it.
    pub bytes: Range<usize>,
}

/// A letter of the lines, or the place where one line ends and the next begins.
enum Letter {
    Of { letter: char, line: usize, bytes: Range<usize> },
    Broken,
}

/// Whether a text may have what is looked for: each word of it, wherever.
pub fn may_have(text: &str, query: &str) -> bool {
    let text = text.to_lowercase();
    query.split_whitespace().all(|word| text.contains(&word.to_lowercase()))
}

/// Every place at which the lines say this, as the marks that show it.
pub fn places(lines: &[Line<'_>], query: &str) -> Vec<Vec<Mark>> {
    let query: Vec<char> =
        query.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase().chars().collect();
    if query.is_empty() {
        return Vec::new();
    }
    let letters = letters(lines);
    let mut out = Vec::new();
    let mut from = 0;
    while from < letters.len() {
        match matched(&letters[from..], &query) {
            Some((marks, length)) => {
                out.push(marks);
                from += length;
            }
            None => from += 1,
        }
    }
    out
}

fn letters(lines: &[Line<'_>]) -> Vec<Letter> {
    let mut out = Vec::new();
    for (line, words) in lines.iter().enumerate() {
        let text = words.to_string();
        let indented = text.len() - text.trim_start().len();
        if line > 0 {
            out.push(Letter::Broken);
        }
        for (at, letter) in text.char_indices().filter(|(at, _)| line == 0 || *at >= indented) {
            let bytes = at..at + letter.len_utf8();
            let lower = letter.to_lowercase();
            out.extend(lower.map(|letter| Letter::Of { letter, line, bytes: bytes.clone() }));
        }
    }
    out
}

/// The marks of what is looked for when it stands at the beginning, and how many letters it takes.
fn matched(letters: &[Letter], query: &[char]) -> Option<(Vec<Mark>, usize)> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut rest = query;
    for (length, found) in letters.iter().enumerate() {
        let Some((wanted, after)) = rest.split_first() else { return Some((marks, length)) };
        match found {
            // A break stands for a blank, or for nothing in a word that was too long.
            Letter::Broken if marks.is_empty() => return None,
            Letter::Broken if *wanted == ' ' => rest = after,
            Letter::Broken => {}
            Letter::Of { letter, line, bytes } if letter == wanted => {
                match marks.last_mut().filter(|mark| mark.line == *line) {
                    Some(mark) => mark.bytes.end = bytes.end,
                    None => marks.push(Mark { line: *line, bytes: bytes.clone() }),
                }
                rest = after;
            }
            Letter::Of { .. } => return None,
        }
    }
    rest.is_empty().then_some((marks, letters.len()))
}

/// The line with what was found on it in another style.
pub fn marked(line: &Line<'static>, marks: &[Range<usize>], style: Style) -> Line<'static> {
    if marks.is_empty() {
        return line.clone();
    }
    let mut spans = Vec::new();
    let mut start = 0;
    for span in &line.spans {
        let end = start + span.content.len();
        let mut at = start;
        for mark in marks.iter().filter(|mark| mark.start < end && mark.end > start) {
            let (from, to) = (mark.start.max(start), mark.end.min(end));
            spans.push(Span::styled(span.content[at - start..from - start].to_owned(), span.style));
            let words = span.content[from - start..to - start].to_owned();
            spans.push(Span::styled(words, span.style.patch(style)));
            at = to;
        }
        spans.push(Span::styled(span.content[at - start..].to_owned(), span.style));
        start = end;
    }
    spans.retain(|span| !span.content.is_empty());
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use ratatui::style::Modifier;

    use super::*;

    fn told(lines: &[&str], query: &str) -> Vec<Vec<(usize, String)>> {
        let owned: Vec<Line<'static>> =
            lines.iter().map(|line| Line::from((*line).to_owned())).collect();
        let words = |mark: Mark| (mark.line, lines[mark.line][mark.bytes].to_owned());
        places(&owned, query)
            .into_iter()
            .map(|marks| marks.into_iter().map(words).collect())
            .collect()
    }

    #[test]
    fn words_are_found_across_lines_and_whatever_their_case() {
        let lines = ["• The Quick brown", "  fox, the quick", "", "abcdef", "ghi Ärger"];

        assert_eq!(
            told(&lines, "the quick"),
            [vec![(0, "The Quick".to_owned())], vec![(1, "the quick".to_owned())]]
        );
        assert_eq!(
            told(&lines, "brown  FOX"),
            [vec![(0, "brown".to_owned()), (1, "fox".to_owned())]]
        );
        assert_eq!(told(&lines, "efgh"), [vec![(3, "ef".to_owned()), (4, "gh".to_owned())]]);
        assert_eq!(told(&lines, "ärger"), [vec![(4, "Ärger".to_owned())]]);
        assert!(told(&lines, " ").is_empty());
    }

    #[test]
    fn what_was_found_is_marked_within_the_styles_there_are() {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let line = Line::from(vec![Span::raw("one "), Span::styled("two", bold)]);
        let found = Style::new().add_modifier(Modifier::REVERSED);

        let marked = marked(&line, std::slice::from_ref(&(2..6)), found);

        assert_eq!(
            marked,
            Line::from(vec![
                Span::raw("on"),
                Span::styled("e ", found),
                Span::styled("tw", bold.patch(found)),
                Span::styled("o", bold),
            ])
        );
    }
}
