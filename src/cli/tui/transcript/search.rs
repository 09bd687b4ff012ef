//! Looking for words in the conversation: upwards from what is seen, and around the end.

use super::{
    super::{
        entry::Details,
        find::{Mark, may_have, places},
    },
    At, Transcript, Wish,
};

/// In which direction something is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// Up, to what was said before.
    Older,
    /// Down, to what was said after.
    Newer,
}

/// What is looked for, and the place that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) query: String,
    pub(super) entry: usize,
    pub(super) number: usize,
}

impl Transcript {
    /// Whether something was looked for and found.
    pub fn has_found(&self) -> bool {
        self.found.is_some()
    }

    /// Looks for words from a message upwards, that one included. Says whether they are there. Thoughts and
    /// tools are shown whole when it is only there that they stand.
    pub fn find(&mut self, query: &str, from: usize) -> bool {
        self.found = None;
        if self.find_in_sight(query, from) {
            return true;
        }
        let may = self.entries.iter().any(|entry| may_have(&entry.words(), query));
        if self.details == Details::Open || !may {
            return false;
        }
        self.toggle_details();
        let is_found = self.find_in_sight(query, from);
        if !is_found {
            self.toggle_details();
        }
        is_found
    }

    fn find_in_sight(&mut self, query: &str, from: usize) -> bool {
        let around = (0..=from).rev().chain((from + 1..self.entries.len()).rev());
        for entry in around.collect::<Vec<_>>() {
            if let Some(number) = self.places(entry, query).len().checked_sub(1) {
                self.show(query.to_owned(), entry, number);
                return true;
            }
        }
        false
    }

    /// Whether what was found is said further up, too.
    pub fn has_older(&mut self) -> bool {
        let Some(Found { query, entry, number }) = self.found.clone() else { return false };
        number > 0 || (0..entry).rev().any(|entry| !self.places(entry, &query).is_empty())
    }

    /// Goes to the next place of what was looked for, around the end if need be. Says whether there is one.
    pub fn find_next(&mut self, towards: Towards) -> bool {
        let Some(Found { query, entry, number }) = self.found.clone() else { return false };
        let here = self.places(entry, &query).len();
        let beside = match towards {
            Towards::Older => number.checked_sub(1),
            Towards::Newer => Some(number + 1).filter(|next| *next < here),
        };
        if let Some(number) = beside {
            self.show(query, entry, number);
            return true;
        }
        let count = self.entries.len();
        for step in 1..=count {
            let entry = match towards {
                Towards::Older => (entry + count - step) % count,
                Towards::Newer => (entry + step) % count,
            };
            if let Some(last) = self.places(entry, &query).len().checked_sub(1) {
                let number = if towards == Towards::Older { last } else { 0 };
                self.show(query, entry, number);
                return true;
            }
        }
        false
    }

    fn places(&mut self, entry: usize, query: &str) -> Vec<Vec<Mark>> {
        let may = self.entries.get(entry).is_some_and(|entry| may_have(&entry.words(), query));
        if may { places(self.lay(entry), query) } else { Vec::new() }
    }

    fn show(&mut self, query: String, entry: usize, number: usize) {
        let marks = self.places(entry, &query);
        let line = marks.get(number).and_then(|marks| marks.first()).map_or(0, |mark| mark.line);
        self.wish = Wish::See(At { entry, line });
        self.selected = Some(entry);
        self.found = Some(Found { query, entry, number });
    }
}
