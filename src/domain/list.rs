//! A page of a long list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many rows a page has when nobody says otherwise.
pub const PAGE_SIZE: u32 = 50;
/// The most rows a page may have.
pub const MAX_PAGE_SIZE: u32 = 200;

/// Some rows, and where to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Send it as `after` to get the next page; `null` on the last one.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// A page of at most `limit` of these rows, which are one more than that when there are further
    /// ones. `cursor` says where to go on after a row.
    pub fn cut(mut rows: Vec<T>, limit: u32, cursor: impl Fn(&T) -> String) -> Self {
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next = rows.last().filter(|_| more).map(cursor);
        Self { items: rows, next }
    }

    /// The same page with its rows made into something else.
    pub fn map<U>(self, make: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(make).collect(), next: self.next }
    }
}

/// Where a list that is sorted by time goes on: after this moment and this row.
pub fn cursor(at: i64, id: &str) -> String {
    format!("{at}_{id}")
}

/// The moment and the row of a cursor; without one, or with one that is not ours, the beginning.
pub fn parse_cursor(cursor: Option<&str>) -> (i64, &str) {
    let parsed = cursor.and_then(|cursor| cursor.split_once('_')).and_then(|(at, id)| {
        let ours = super::id::is_wellformed(id);
        Some((at.parse().ok()?, id)).filter(|_| ours)
    });
    parsed.unwrap_or((i64::MAX, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_knows_whether_there_is_another() {
        let page = |rows: Vec<i32>| Page::cut(rows, 2, |row| row.to_string());

        assert_eq!(page(vec![1, 2, 3]), Page { items: vec![1, 2], next: Some("2".into()) });
        assert_eq!(page(vec![1, 2]), Page { items: vec![1, 2], next: None });
    }

    #[test]
    fn a_cursor_that_is_not_ours_is_the_beginning() {
        assert_eq!(parse_cursor(Some(&cursor(7, "a"))), (7, "a"));
        for odd in ["", "x", "7_", "x_a", "7_a\0b"] {
            assert_eq!(parse_cursor(Some(odd)), (i64::MAX, ""), "{odd:?}");
        }
    }
}
