//! Thoughts that stand in front of the words, in tags: so tell them servers that nobody told how to part
//! the two.

use crate::providers::dialect::writing::Writing;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Parts the thoughts at the beginning of an answer from the words behind them, however they are cut.
#[derive(Default)]
pub struct ThinkTags {
    place: Place,
    /// What may yet become a tag.
    held: String,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Nothing but space was said.
    #[default]
    Start,
    /// Right behind the opening tag: the space there is no thought.
    Opened,
    Thoughts,
    /// Right behind the closing tag: the space there belongs to nobody.
    Closed,
    Words,
}

impl ThinkTags {
    /// More of what the model said.
    pub fn take(&mut self, piece: &str, writing: &mut Writing) {
        self.held.push_str(piece);
        loop {
            let held = self.held.as_str();
            let (kept, next) = match self.place {
                Place::Start => {
                    let said = held.trim_start();
                    if let Some(rest) = said.strip_prefix(OPEN) {
                        (rest.len(), Place::Opened)
                    } else if OPEN.starts_with(said) {
                        return;
                    } else {
                        (held.len(), Place::Words)
                    }
                }
                Place::Opened | Place::Closed if held.trim_start().is_empty() => {
                    self.held.clear();
                    return;
                }
                Place::Opened => (held.trim_start().len(), Place::Thoughts),
                Place::Closed => (held.trim_start().len(), Place::Words),
                Place::Thoughts => {
                    let end = held.find(CLOSE).unwrap_or_else(|| whole(held));
                    writing.thought(&held[..end]);
                    match held[end..].strip_prefix(CLOSE) {
                        Some(rest) => (rest.len(), Place::Closed),
                        None => {
                            self.held.drain(..end);
                            return;
                        }
                    }
                }
                Place::Words => {
                    writing.text(held);
                    self.held.clear();
                    return;
                }
            };
            let done = held.len() - kept;
            self.held.drain(..done);
            self.place = next;
        }
    }

    /// There is nothing more to come.
    pub fn end(&mut self, writing: &mut Writing) {
        match self.place {
            Place::Opened | Place::Thoughts => writing.thought(&self.held),
            Place::Start | Place::Closed | Place::Words => writing.text(&self.held),
        }
        self.held.clear();
    }
}

/// How much of a thought is no beginning of the closing tag.
fn whole(held: &str) -> usize {
    let begun = (1..CLOSE.len()).rev().find(|count| held.ends_with(&CLOSE[..*count]));
    held.len() - begun.unwrap_or_default()
}
