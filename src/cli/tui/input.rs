//! The field at the bottom in which a person writes: several lines, words to jump over, and what was
//! written before.

use std::ops::Range;

use super::clean::{cells, clean, width};

/// The most that is remembered of what was written.
const MOST_REMEMBERED: usize = 500;

/// A text with a cursor. What is in it is clean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    text: String,
    /// Where the cursor stands, in bytes; always between two letters.
    cursor: usize,
    /// What was written before, the oldest first.
    written: Vec<String>,
    /// Which of those is shown, and what was being written instead.
    looking_at: Option<(usize, String)>,
    /// The column that going up and down keeps to.
    column: Option<usize>,
}

/// What can be done to the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Writes a text at the cursor.
    Insert(String),
    /// Takes away what the cursor would go over.
    Delete(Step),
    /// Moves the cursor.
    Go(Step),
}

/// How far the cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// One letter back.
    Left,
    /// One letter on.
    Right,
    /// To the beginning of the word.
    WordLeft,
    /// Behind the word.
    WordRight,
    /// To the beginning of the line.
    LineStart,
    /// To the end of the line.
    LineEnd,
    /// To the beginning of all.
    Start,
    /// To the end of all.
    End,
}

/// The text as it stands in a field of some width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its lines.
    pub rows: Vec<String>,
    /// The line of the cursor.
    pub row: usize,
    /// The column of the cursor.
    pub column: usize,
}

impl Input {
    /// A field with a text in it.
    pub fn with(text: &str) -> Self {
        let text = clean(text).into_owned();
        Self { cursor: text.len(), text, ..Self::default() }
    }

    /// What is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Fills in what was written before.
    pub fn remember(&mut self, text: &str) {
        let text = clean(text).into_owned();
        if !text.trim().is_empty() && self.written.last() != Some(&text) {
            self.written.push(text);
        }
        let over = self.written.len().saturating_sub(MOST_REMEMBERED);
        self.written.drain(..over);
    }

    /// Takes what is written and remembers it.
    pub fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.remember(&text);
        self.clear();
        text
    }

    /// Empties the field.
    pub fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
        self.looking_at = None;
        self.column = None;
    }

    /// Writes something else into it.
    pub fn replace(&mut self, text: &str) {
        self.text = clean(text).into_owned();
        self.cursor = self.text.len();
        self.column = None;
    }

    /// Changes the text or moves the cursor.
    pub fn edit(&mut self, edit: Edit) {
        self.column = None;
        match edit {
            Edit::Insert(text) => {
                let text = clean(&text);
                self.text.insert_str(self.cursor, &text);
                self.cursor += text.len();
                // What was written may have joined with what stood there: an accent, an emoji.
                self.cursor = self.edge_from(self.cursor);
            }
            Edit::Delete(step) => {
                let to = self.target(step);
                let (from, to) = (self.cursor.min(to), self.cursor.max(to));
                self.text.replace_range(from..to, "");
                self.cursor = self.edge_from(from);
            }
            Edit::Go(step) => self.cursor = self.target(step),
        }
    }

    /// Goes a line up, or back in what was written before.
    pub fn up(&mut self, columns: usize) {
        if !self.go_row(columns, -1) {
            self.look(self.looking_at.as_ref().map_or(self.written.len(), |(at, _)| *at), -1);
        }
    }

    /// Goes a line down, or forth in what was written before.
    pub fn down(&mut self, columns: usize) {
        if !self.go_row(columns, 1)
            && let Some((at, _)) = &self.looking_at
        {
            self.look(*at, 1);
        }
    }

    fn look(&mut self, from: usize, step: isize) {
        let Some(to) = from.checked_add_signed(step) else { return };
        let own = match self.looking_at.take() {
            Some((_, own)) => own,
            None => self.text.clone(),
        };
        match self.written.get(to).cloned() {
            Some(text) => {
                self.replace(&text);
                self.looking_at = Some((to, own));
            }
            None => self.replace(&own),
        }
    }

    /// The first place between two letters from here on.
    fn edge_from(&self, from: usize) -> usize {
        let edges = cells(&self.text).map(|cell| cell.at);
        edges.chain([self.text.len()]).find(|at| *at >= from).unwrap_or(self.text.len())
    }

    fn target(&self, step: Step) -> usize {
        let (before, after) = self.text.split_at(self.cursor);
        match step {
            Step::Left => cells(before).last().map_or(0, |cell| cell.at),
            Step::Right => {
                let next = cells(after).nth(1).map_or(after.len(), |cell| cell.at);
                self.cursor + next
            }
            Step::WordLeft => {
                let word = before.trim_end_matches(|letter: char| !letter.is_alphanumeric());
                word.trim_end_matches(char::is_alphanumeric).len()
            }
            Step::WordRight => {
                let word = after.trim_start_matches(|letter: char| !letter.is_alphanumeric());
                self.edge_from(
                    self.text.len() - word.trim_start_matches(char::is_alphanumeric).len(),
                )
            }
            Step::LineStart => before.rfind('\n').map_or(0, |at| at + 1),
            Step::LineEnd => after.find('\n').map_or(self.text.len(), |at| self.cursor + at),
            Step::Start => 0,
            Step::End => self.text.len(),
        }
    }

    /// Goes to the line above or below in a field of some width. Says whether there is one.
    fn go_row(&mut self, columns: usize, step: isize) -> bool {
        let rows = self.rows(columns);
        let here = rows.iter().rposition(|row| row.start <= self.cursor).unwrap_or_default();
        let Some(row) = here.checked_add_signed(step).and_then(|to| rows.get(to)) else {
            return false;
        };
        let start = rows[here].start;
        let goal = self.column.unwrap_or_else(|| width(&self.text[start..self.cursor]));
        let (mut used, mut at) = (0, row.start);
        for cell in cells(&self.text[row.clone()]) {
            if used > goal {
                break;
            }
            at = row.start + cell.at;
            used += cell.width;
        }
        // Where a line is broken, its end is the beginning of the next one.
        let ends = row.end == self.text.len() || self.text[row.end..].starts_with('\n');
        self.cursor = if used <= goal && ends { row.end } else { at };
        self.column = Some(goal);
        true
    }

    /// The lines of the text in a field of some width, as ranges of bytes.
    fn rows(&self, columns: usize) -> Vec<Range<usize>> {
        let columns = columns.max(2);
        let mut rows = Vec::new();
        let mut start = 0;
        for line in self.text.split('\n') {
            let (begin, mut row, mut used, mut word) = (start, start, 0, start);
            let mut wide = false;
            for cell in cells(line) {
                let at = begin + cell.at;
                if std::mem::replace(&mut wide, cell.width > 1) {
                    word = at;
                }
                // Blanks hang over the edge: nobody needs to see them there.
                if cell.shown == " " {
                    word = at + 1;
                    used += 1;
                    continue;
                }
                if used + cell.width > columns && at > row {
                    let cut = if word > row { word } else { at };
                    rows.push(row..cut);
                    used = width(&self.text[cut..at]);
                    row = cut;
                }
                used += cell.width;
            }
            rows.push(row..begin + line.len());
            start = begin + line.len() + 1;
        }
        rows
    }

    /// The text as it stands in a field of some width.
    pub fn shown(&self, columns: usize) -> Shown {
        let rows = self.rows(columns);
        let row = rows.iter().rposition(|row| row.start <= self.cursor).unwrap_or_default();
        let column = width(&self.text[rows[row].start..self.cursor]).min(columns);
        let text = |row: &Range<usize>| {
            cells(&self.text[row.clone()]).map(|cell| cell.shown).collect::<String>()
        };
        Shown { rows: rows.iter().map(text).collect(), row, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Input {
        let mut input = Input::default();
        for letter in text.chars() {
            input.edit(Edit::Insert(letter.to_string()));
        }
        input
    }

    /// The text with `|` where the cursor stands.
    fn told(input: &Input) -> String {
        let (before, after) = input.text.split_at(input.cursor);
        format!("{before}|{after}")
    }

    #[test]
    fn the_cursor_goes_by_letters_words_and_lines() {
        let mut input = typed("Two words\nand 日本e\u{301}");

        for (step, expected) in [
            (Step::Left, "Two words\nand 日本|e\u{301}"),
            (Step::Left, "Two words\nand 日|本e\u{301}"),
            (Step::WordLeft, "Two words\nand |日本e\u{301}"),
            (Step::WordLeft, "Two words\n|and 日本e\u{301}"),
            (Step::LineEnd, "Two words\nand 日本e\u{301}|"),
            (Step::LineStart, "Two words\n|and 日本e\u{301}"),
            (Step::Left, "Two words|\nand 日本e\u{301}"),
            (Step::Start, "|Two words\nand 日本e\u{301}"),
            (Step::WordRight, "Two| words\nand 日本e\u{301}"),
            (Step::Right, "Two |words\nand 日本e\u{301}"),
            (Step::End, "Two words\nand 日本e\u{301}|"),
            (Step::Right, "Two words\nand 日本e\u{301}|"),
        ] {
            input.edit(Edit::Go(step));
            assert_eq!(told(&input), expected, "{step:?}");
        }
    }

    #[test]
    fn letters_and_words_are_taken_away_whole() {
        let mut input = typed("Good old e\u{301}");
        for (step, expected) in [
            (Step::Left, "Good old |"),
            (Step::WordLeft, "Good |"),
            (Step::LineStart, "|"),
            (Step::Left, "|"),
        ] {
            input.edit(Edit::Delete(step));
            assert_eq!(told(&input), expected, "{step:?}");
        }
    }

    #[test]
    fn what_is_pasted_is_clean() {
        let mut input = typed("ab");
        input.edit(Edit::Go(Step::Left));

        input.edit(Edit::Insert("1\r\n\u{1b}[31m2".into()));

        assert_eq!(told(&input), "a1\n2|b");
    }

    #[test]
    fn long_lines_are_broken_and_the_cursor_keeps_its_column() {
        let mut input = typed("one two three\nfour");
        let shown = input.shown(8);
        assert_eq!(
            shown,
            Shown {
                rows: vec!["one two ".into(), "three".into(), "four".into()],
                row: 2,
                column: 4,
            }
        );

        input.up(8);
        assert_eq!(told(&input), "one two thre|e\nfour");
        input.up(8);
        assert_eq!(told(&input), "one |two three\nfour");
        input.down(8);
        input.down(8);
        assert_eq!(told(&input), "one two three\nfour|");
    }

    #[test]
    fn a_word_that_is_longer_than_the_field_goes_on_below() {
        assert_eq!(typed("abcdefgh").shown(3).rows, ["abc", "def", "gh"]);
        assert_eq!(typed("日本語").shown(4).rows, ["日本", "語"]);
        assert_eq!(typed("a\n").shown(3).rows, ["a", ""]);
        assert_eq!(Input::default().shown(0).rows, [""]);
    }

    #[test]
    fn what_was_written_comes_back_and_what_was_begun_is_kept() {
        let mut input = typed("first");
        assert_eq!(input.take(), "first");
        input.edit(Edit::Insert("second".into()));
        input.take();
        input.edit(Edit::Insert("begun".into()));

        let mut seen = Vec::new();
        for go in [Input::up, Input::up, Input::up, Input::down, Input::down, Input::down] {
            go(&mut input, 40);
            seen.push(input.text().to_owned());
        }

        assert_eq!(seen, ["second", "first", "first", "second", "begun", "begun"]);
    }
}
