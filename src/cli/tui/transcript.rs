//! The conversation as it is scrolled through.
//!
//! Only what is seen is laid out, and what was laid out is kept until it changes; the place is kept as
//! a message and a line of it, so that nothing above or below ever has to be counted.

mod search;

use std::ops::Range;

use ratatui::text::Line;
use search::Found;
pub use search::Towards;

use crate::domain::{
    id::MessageId,
    message::{Message, Role},
};

use super::{
    entry::{Details, Ending, Entry},
    find::{marked, places},
    theme::Theme,
};

/// A line of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    entry: usize,
    line: usize,
}

/// What the window keeps to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// The end, also when it moves on.
    #[default]
    End,
    /// This line at the top.
    Top(At),
}

/// Where the window is to go before it is drawn again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wish {
    #[default]
    Stay,
    /// So many lines down, or up when negative.
    Lines(isize),
    /// To where this line is seen.
    See(At),
}

/// A conversation, laid out as far as it is seen.
#[derive(Clone, Debug)]
pub struct Transcript {
    entries: Vec<Entry>,
    laid: Vec<Option<Vec<Line<'static>>>>,
    columns: usize,
    rows: usize,
    theme: Theme,
    details: Details,
    place: Place,
    wish: Wish,
    top: At,
    selected: Option<usize>,
    found: Option<Found>,
}

/// A line that is seen.
pub struct Seen {
    /// The line, with what was searched for marked on it.
    pub line: Line<'static>,
    /// Whether its message is the selected one.
    pub selected: bool,
}

impl Transcript {
    /// An empty conversation.
    pub fn new(theme: Theme) -> Self {
        Self {
            entries: Vec::new(),
            laid: Vec::new(),
            columns: 80,
            rows: 24,
            theme,
            details: Details::default(),
            place: Place::End,
            wish: Wish::Stay,
            top: At::default(),
            selected: None,
            found: None,
        }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was said yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The message that comes last.
    pub fn last(&self) -> Option<&Message> {
        self.entries.last().map(|entry| &entry.message)
    }

    /// The messages, the oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.entries.iter().map(|entry| &entry.message)
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: Message) {
        self.entries.push(Entry::new(message));
        self.laid.push(None);
    }

    /// Adds older messages before all others. What is seen stays where it is.
    pub fn prepend(&mut self, messages: Vec<Message>) {
        self.insert(0, messages);
    }

    /// Adds the messages that are not there yet, each before the next one that is: those that nobody has
    /// named yet come last. Says how many there were.
    pub fn weave_in(&mut self, messages: Vec<Message>, unnamed: &MessageId) -> usize {
        let mut before = self.position(unnamed).unwrap_or(self.entries.len());
        let mut woven = 0;
        for message in messages.into_iter().rev() {
            match self.position(&message.id) {
                Some(at) => before = at,
                None => {
                    self.insert(before, vec![message]);
                    woven += 1;
                }
            }
        }
        woven
    }

    fn insert(&mut self, at: usize, messages: Vec<Message>) {
        let count = messages.len();
        self.entries.splice(at..at, messages.into_iter().map(Entry::kept));
        self.laid.splice(at..at, std::iter::repeat_n(None, count));
        let moved = |entry: usize| if entry >= at { entry + count } else { entry };
        self.top.entry = moved(self.top.entry);
        if let Place::Top(top) = &mut self.place {
            top.entry = moved(top.entry);
        }
        if let Wish::See(line) = &mut self.wish {
            line.entry = moved(line.entry);
        }
        self.selected = self.selected.map(moved);
        if let Some(found) = &mut self.found {
            found.entry = moved(found.entry);
        }
    }

    /// Takes a message away again.
    pub fn remove(&mut self, id: &MessageId) {
        if let Some(at) = self.position(id) {
            self.entries.remove(at);
            self.laid.remove(at);
            self.selected = self.selected.filter(|selected| *selected < self.entries.len());
            self.found = None;
        }
    }

    fn position(&self, id: &MessageId) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.message.id == *id)
    }

    /// Changes a message that is there.
    pub fn change(&mut self, id: &MessageId, change: impl FnOnce(&mut Message)) {
        if let Some(at) = self.position(id) {
            change(&mut self.entries[at].message);
            self.laid[at] = None;
        }
    }

    /// Says how an answer ended.
    pub fn end(&mut self, id: &MessageId, ending: Option<Ending>) {
        if let Some(at) = self.position(id) {
            self.entries[at].ending = ending;
            self.laid[at] = None;
        }
    }

    /// Goes so many lines down, or up.
    pub fn scroll(&mut self, lines: isize) {
        let before = if let Wish::Lines(before) = self.wish { before } else { 0 };
        self.wish = Wish::Lines(before.saturating_add(lines));
    }

    /// Goes so many windows down, or up; a line of the last one stays in sight.
    pub fn page(&mut self, pages: isize) {
        let rows = isize::try_from(self.rows.saturating_sub(1).max(1)).unwrap_or(isize::MAX);
        self.scroll(pages.saturating_mul(rows));
    }

    /// Goes to the first line.
    pub fn to_start(&mut self) {
        // No line of it is left to go up, and still that is what is wished for.
        self.wish = Wish::Lines(0);
        self.place = Place::Top(At::default());
    }

    /// Goes to the last line and stays there.
    pub fn to_end(&mut self) {
        self.wish = Wish::Stay;
        self.place = Place::End;
    }

    /// Whether the end is kept in sight.
    pub fn follows(&self) -> bool {
        self.place == Place::End
    }

    /// Whether the first line is seen.
    pub fn at_start(&self) -> bool {
        self.top == At::default()
    }

    /// Whether somebody wants to see what stands further up.
    pub fn goes_up(&self) -> bool {
        match self.wish {
            Wish::Stay => false,
            Wish::Lines(lines) => lines <= 0,
            Wish::See(at) => at <= self.top,
        }
    }

    /// Shows thoughts and tools whole, or as a line each again.
    pub fn toggle_details(&mut self) {
        self.details = match self.details {
            Details::Folded => Details::Open,
            Details::Open => Details::Folded,
        };
        self.laid.fill(None);
    }

    /// Selects the message that is so many further down, or up; the last one that is seen at first, and
    /// then, as with none further, what is seen stays where it is.
    pub fn select(&mut self, step: isize) {
        let Some(last) = self.entries.len().checked_sub(1) else { return };
        let Some(selected) = self.selected else {
            self.selected = Some(self.last_seen().min(last));
            return;
        };
        if step != 0 {
            let to = selected.saturating_add_signed(step).min(last);
            self.selected = Some(to);
            self.wish = Wish::See(At { entry: to, line: 0 });
        }
    }

    /// Selects nothing, and forgets what was looked for.
    pub fn unselect(&mut self) {
        self.selected = None;
        self.found = None;
    }

    /// The selected message, or else the last answer.
    pub fn selected(&self) -> Option<&Message> {
        let selected = self.selected.and_then(|at| self.entries.get(at));
        let answer = || self.entries.iter().rfind(|entry| entry.message.role == Role::Assistant);
        selected.or_else(answer).map(|entry| &entry.message)
    }

    /// The last message of which something is seen.
    pub fn last_seen(&self) -> usize {
        let mut left = self.rows;
        let mut entry = self.top.entry;
        let mut skipped = self.top.line;
        while let Some(Some(lines)) = self.laid.get(entry) {
            let height = lines.len() - skipped.min(lines.len());
            if height >= left {
                break;
            }
            left -= height;
            skipped = 0;
            entry += 1;
        }
        entry.min(self.entries.len().saturating_sub(1))
    }

    fn lay(&mut self, entry: usize) -> &[Line<'static>] {
        let (columns, theme, details) = (self.columns, self.theme, self.details);
        let (Some(laid), Some(entry)) = (self.laid.get_mut(entry), self.entries.get(entry)) else {
            return &[];
        };
        laid.get_or_insert_with(|| entry.lines(columns, theme, details))
    }

    fn height(&mut self, entry: usize) -> usize {
        self.lay(entry).len()
    }

    /// Makes ready what is seen in a window of this size.
    pub fn settle(&mut self, columns: usize, rows: usize) {
        self.rows = rows.max(1);
        if columns != self.columns {
            self.reflow(columns);
        }
        let end = self.bottom();
        let top = match self.place {
            Place::End => end,
            Place::Top(at) => At { line: at.line.min(self.height(at.entry)), ..at }.min(end),
        };
        let top = match std::mem::take(&mut self.wish) {
            Wish::Stay => top,
            Wish::Lines(lines) => self.moved(top, lines),
            Wish::See(at) if at >= top && at < self.moved_far(top, self.rows) => top,
            Wish::See(at) => {
                let third = isize::try_from(self.rows / 3).unwrap_or_default();
                self.moved(at, -third)
            }
        };
        self.place = if top >= end { Place::End } else { Place::Top(top) };
        self.top = top.min(end);
        let last = self.moved_far(self.top, self.rows).entry;
        for entry in self.top.entry..=last {
            self.lay(entry);
        }
    }

    /// Lays all out anew in other columns, with the same words at the top.
    fn reflow(&mut self, columns: usize) {
        let before = self.height(self.top.entry).max(1);
        self.columns = columns;
        self.laid.fill(None);
        if let Place::Top(at) = self.place {
            let after = self.height(at.entry);
            self.place = Place::Top(At { line: at.line * after / before, ..at });
        }
    }

    /// The line at the top when the last line is at the bottom.
    fn bottom(&mut self) -> At {
        let mut left = self.rows;
        for entry in (0..self.entries.len()).rev() {
            let height = self.height(entry);
            if height >= left {
                return At { entry, line: height - left };
            }
            left -= height;
        }
        At::default()
    }

    /// So many lines further down or up, and not beyond either end.
    fn moved(&mut self, from: At, lines: isize) -> At {
        let mut at = from;
        if lines >= 0 {
            return self.moved_far(at, lines.unsigned_abs()).min(self.bottom());
        }
        let mut left = lines.unsigned_abs();
        while left > at.line && at.entry > 0 {
            left -= at.line;
            at.entry -= 1;
            at.line = self.height(at.entry);
        }
        at.line = at.line.saturating_sub(left);
        at.min(self.bottom())
    }

    /// So many lines further down; behind all when there are not so many.
    fn moved_far(&mut self, from: At, lines: usize) -> At {
        let mut at = from;
        let mut left = lines;
        while at.entry < self.entries.len() {
            let rest = self.height(at.entry).saturating_sub(at.line);
            if left < rest {
                at.line += left;
                return at;
            }
            left -= rest;
            at = At { entry: at.entry + 1, line: 0 };
        }
        at
    }

    /// The lines that are seen, from the top. Only what is settled can be seen.
    pub fn seen(&self) -> Vec<Seen> {
        let mut out = Vec::with_capacity(self.rows);
        let mut skipped = self.top.line;
        for (entry, laid) in self.laid.iter().enumerate().skip(self.top.entry) {
            let Some(lines) = laid else { break };
            let marks = match &self.found {
                Some(found) => places(lines, &found.query).concat(),
                None => Vec::new(),
            };
            for (number, line) in lines.iter().enumerate().skip(skipped) {
                if out.len() == self.rows {
                    return out;
                }
                let here = marks.iter().filter(|mark| mark.line == number);
                let here: Vec<Range<usize>> = here.map(|mark| mark.bytes.clone()).collect();
                let line = marked(line, &here, self.theme.found());
                let blank = number + 1 == lines.len();
                out.push(Seen { line, selected: self.selected == Some(entry) && !blank });
            }
            skipped = 0;
        }
        out
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
