//! A list with a cursor, of which one can see those that have some words in them.

use super::input::{Edit, Input};

/// Something that can be listed.
pub trait Listed {
    /// The words by which it is found.
    fn words(&self) -> String;

    /// Whether this is its whole name.
    fn is_called(&self, name: &str) -> bool;
}

/// A list with a cursor.
#[derive(Clone, Debug)]
pub struct List<T> {
    rows: Vec<T>,
    at: usize,
    /// What is written to see fewer.
    pub filter: Input,
}

impl<T: Listed> List<T> {
    /// A list with the cursor on the first row that fits.
    pub fn new(rows: Vec<T>, cursor: impl Fn(&T) -> bool) -> Self {
        let at = rows.iter().position(cursor).unwrap_or_default();
        Self { rows, at, filter: Input::default() }
    }

    /// The rows that are seen.
    pub fn seen(&self) -> Vec<&T> {
        let words = self.filter.text().to_lowercase();
        let fits = |row: &&T| {
            let row = row.words().to_lowercase();
            words.split_whitespace().all(|word| row.contains(word))
        };
        self.rows.iter().filter(fits).collect()
    }

    /// Where the cursor is among those.
    pub fn at(&self) -> usize {
        self.at.min(self.seen().len().saturating_sub(1))
    }

    /// The row with the cursor.
    pub fn chosen(&self) -> Option<&T> {
        self.seen().into_iter().nth(self.at())
    }

    /// Moves the cursor.
    pub fn go(&mut self, step: isize) {
        let last = self.seen().len().saturating_sub(1);
        self.at = self.at().saturating_add_signed(step).min(last);
    }

    /// Writes, to see fewer: the cursor goes to what is called like that, or else to the first.
    pub fn narrow(&mut self, edit: Edit) {
        let before = self.filter.text().to_owned();
        self.filter.edit(edit);
        let name = self.filter.text().trim();
        if self.filter.text() != before {
            self.at = self.seen().iter().position(|row| row.is_called(name)).unwrap_or_default();
        }
    }

    /// Looks at other rows, with the cursor on the one that it was on; when that is gone, where it was.
    pub fn fill(&mut self, rows: Vec<T>, is_same: impl Fn(&T, &T) -> bool)
    where
        T: Clone,
    {
        let chosen = self.chosen().cloned();
        self.rows = rows;
        let same = |row: &&T| chosen.as_ref().is_some_and(|chosen| is_same(row, chosen));
        let at = self.seen().iter().position(same);
        self.at = at.unwrap_or(self.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Listed for &'static str {
        fn words(&self) -> String {
            (*self).to_owned()
        }

        fn is_called(&self, name: &str) -> bool {
            *self == name
        }
    }

    #[test]
    fn the_cursor_stays_among_what_is_seen() {
        let mut list = List::new(vec!["one", "two", "three"], |row| *row == "two");
        assert_eq!(list.chosen(), Some(&"two"));
        list.go(5);
        assert_eq!(list.chosen(), Some(&"three"));

        list.narrow(Edit::Insert("O".into()));

        assert_eq!(list.seen(), [&"one", &"two"]);
        assert_eq!(list.chosen(), Some(&"one"));
        list.go(5);
        assert_eq!(list.chosen(), Some(&"two"));
        list.narrow(Edit::Insert("x".into()));
        assert_eq!(list.chosen(), None);
    }

    #[test]
    fn a_name_that_is_written_whole_is_chosen_before_longer_ones() {
        let mut list = List::new(vec!["big-5-5", "big-5", "small"], |row| *row == "small");

        list.narrow(Edit::Insert("big".into()));
        assert_eq!(list.chosen(), Some(&"big-5-5"));

        list.narrow(Edit::Insert("-5".into()));
        assert_eq!(list.chosen(), Some(&"big-5"));
    }

    #[test]
    fn the_cursor_stays_on_its_row_when_that_moves() {
        let mut list = List::new(vec!["one", "two", "three"], |row| *row == "two");

        list.fill(vec!["three", "one", "two"], |one, other| one == other);
        assert_eq!(list.chosen(), Some(&"two"));

        list.fill(vec!["three", "one"], |one, other| one == other);
        assert_eq!(list.chosen(), Some(&"one"), "the last one, as it is gone");
    }
}
