//! Styled text broken into lines that fit, by what is shown and not by how many bytes it has.

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use super::clean::{Cell, cells, width};

/// Where a line may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// Between words, and in a word only when it is longer than a line.
    Words,
    /// Anywhere: every blank counts, as in code.
    Anywhere,
}

/// Words in one style. They must be clean.
pub type Piece = (String, Style);

/// What stands before the first line and before those that follow.
#[derive(Clone, Debug, Default)]
pub struct Margin {
    /// Before the first.
    pub first: Vec<Piece>,
    /// Before the others.
    pub rest: Vec<Piece>,
}

impl Margin {
    /// The columns that are left for words in so many; at least a few, however deep things are nested.
    fn room(&self, columns: usize) -> usize {
        let taken = |pieces: &[Piece]| pieces.iter().map(|(text, _)| width(text)).sum::<usize>();
        columns.saturating_sub(taken(&self.first).max(taken(&self.rest))).max(1)
    }
}

/// A letter on a line that grows.
#[derive(Clone)]
struct Placed<'a> {
    cell: Cell<'a>,
    style: Style,
}

impl Placed<'_> {
    fn is_blank(&self) -> bool {
        self.cell.shown == " "
    }

    /// Whether a line may end behind it: blanks, dashes, and scripts that part no words.
    fn ends_word(&self) -> bool {
        self.is_blank() || self.cell.width > 1 || matches!(&*self.cell.shown, "-" | "/" | "—" | "–")
    }
}

/// Breaks pieces into lines of so many columns. No piece gives no line.
pub fn wrap(
    pieces: &[Piece],
    columns: usize,
    margin: &Margin,
    breaks: Breaks,
) -> Vec<Line<'static>> {
    let room = margin.room(columns);
    let mut lines = Lines { margin, out: Vec::new() };
    let mut line: Vec<Placed<'_>> = Vec::new();
    let mut used = 0;
    // Blanks at which a line was broken are not shown; those that somebody began a line with are.
    let mut after_break = false;
    for (text, style) in pieces {
        for mut cell in cells(text) {
            if cell.shown == "\n" {
                lines.push(&line);
                line.clear();
                (used, after_break) = (0, false);
                continue;
            }
            if cell.width > room {
                cell = Cell { shown: "…".into(), width: 1, ..cell };
            }
            let placed = Placed { cell, style: *style };
            if breaks == Breaks::Words && line.is_empty() && after_break && placed.is_blank() {
                continue;
            }
            if used + placed.cell.width > room {
                let tail = match breaks {
                    Breaks::Words if placed.is_blank() => Vec::new(),
                    Breaks::Words => {
                        let cut = line.iter().rposition(Placed::ends_word).map_or(0, |at| at + 1);
                        if cut == 0 { Vec::new() } else { line.split_off(cut) }
                    }
                    Breaks::Anywhere => Vec::new(),
                };
                if breaks == Breaks::Words {
                    while line.last().is_some_and(Placed::is_blank) {
                        line.pop();
                    }
                }
                lines.push(&line);
                line = tail;
                used = line.iter().map(|placed| placed.cell.width).sum();
                after_break = true;
                // A wide letter may be too much even behind the word that was carried over.
                if used + placed.cell.width > room {
                    lines.push(&line);
                    line.clear();
                    used = 0;
                }
                if breaks == Breaks::Words && line.is_empty() && placed.is_blank() {
                    continue;
                }
            }
            used += placed.cell.width;
            line.push(placed);
        }
    }
    if !line.is_empty() || lines.out.is_empty() && !pieces.is_empty() {
        lines.push(&line);
    }
    lines.out
}

/// Lines as they are finished, each with its margin.
struct Lines<'a> {
    margin: &'a Margin,
    out: Vec<Line<'static>>,
}

impl Lines<'_> {
    fn push(&mut self, line: &[Placed<'_>]) {
        let margin = if self.out.is_empty() { &self.margin.first } else { &self.margin.rest };
        let mut spans: Vec<Span<'static>> =
            margin.iter().map(|(text, style)| Span::styled(text.clone(), *style)).collect();
        let mut words: Vec<Span<'static>> = Vec::new();
        for Placed { cell, style } in line {
            match words.last_mut() {
                Some(span) if span.style == *style => span.content.to_mut().push_str(&cell.shown),
                _ => words.push(Span::styled(cell.shown.clone().into_owned(), *style)),
            }
        }
        spans.append(&mut words);
        self.out.push(Line::from(spans));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli::tui::clean::clean;

    fn told(text: &str, columns: usize, breaks: Breaks) -> Vec<String> {
        let pieces = [(text.to_owned(), Style::default())];
        let lines = wrap(&pieces, columns, &Margin::default(), breaks);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(
            told("Be brief and kind, please.", 10, Breaks::Words),
            ["Be brief", "and kind,", "please."]
        );
        assert_eq!(told("exactly ten", 7, Breaks::Words), ["exactly", "ten"]);
        assert_eq!(told("a\n\nb\n", 10, Breaks::Words), ["a", "", "b"]);
        assert_eq!(told("  kept, then   many", 8, Breaks::Words), ["  kept,", "then", "many"]);
    }

    #[test]
    fn a_word_that_is_longer_than_a_line_is_cut() {
        assert_eq!(told("see abcdefghijkl", 5, Breaks::Words), ["see", "abcde", "fghij", "kl"]);
        assert_eq!(told("日本語です", 5, Breaks::Words), ["日本", "語で", "す"]);
        assert_eq!(told("-abcd日", 5, Breaks::Words), ["-", "abcd", "日"]);
    }

    #[test]
    fn code_keeps_its_blanks() {
        assert_eq!(told("  if x:  y", 6, Breaks::Anywhere), ["  if x", ":  y"]);
    }

    #[test]
    fn margins_stand_before_every_line() {
        let pieces = [("one two three".to_owned(), Style::default())];
        let piece = |text: &str| vec![(text.to_owned(), Style::default())];
        let margin = Margin { first: piece("- "), rest: piece("  ") };

        let lines = wrap(&pieces, 8, &margin, Breaks::Words);

        let told: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["- one", "  two", "  three"]);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_there_is_room(text in any::<String>(), columns in 2_usize..30) {
            for breaks in [Breaks::Words, Breaks::Anywhere] {
                for line in told(&clean(&text), columns, breaks) {
                    prop_assert!(width(&line) <= columns, "{line:?}");
                    prop_assert!(!line.chars().any(char::is_control), "{line:?}");
                }
            }
        }
    }
}
