//! What differs between two texts, word by word.
//!
//! Lines are compared first and the words inside changed lines after, so that a
//! long prompt with a few edits costs little; stretches too large for that are
//! shown as replaced whole rather than compared for minutes.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::{
    DiffOp,
    algorithms::{Capture, myers},
};

/// Where comparing word by word would cost too much: old pieces times new pieces.
const MAX_WORK: usize = 16_000_000;
/// How much unchanged text stands around a change before the rest is folded.
const CONTEXT_CHARS: usize = 160;
/// How far a fold looks for the end of a word.
const LONG_WORD: usize = 40;

/// A stretch of the old text and what stands in its place, as byte ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// In the old text.
    pub old: Range<usize>,
    /// In the new text.
    pub new: Range<usize>,
}

/// How a piece of a shown diff relates to the two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SegmentKind {
    /// In both.
    Same,
    /// In the old text only.
    Removed,
    /// In the new text only.
    Added,
    /// In both, too long to show here.
    Folded,
}

/// A piece of a shown diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// Which text it is from.
    pub kind: SegmentKind,
    /// The text; for a fold, how much is hidden.
    pub text: String,
    /// Which change it is part of, counted from 0; `null` for what stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk: Option<usize>,
}

/// One field that differs between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldDiff {
    /// The field, as a person names it.
    pub label: String,
    /// Its pieces.
    pub segments: Vec<Segment>,
}

/// The byte ranges of pieces: what `split` cuts the text into.
fn pieces(text: &str, within: Range<usize>, joined: fn(char, char) -> bool) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut last: Option<char> = None;
    for (at, letter) in text[within.clone()].char_indices() {
        let (start, end) = (within.start + at, within.start + at + letter.len_utf8());
        match (last, out.last_mut()) {
            (Some(previous), Some(piece)) if joined(previous, letter) => piece.end = end,
            _ => out.push(start..end),
        }
        last = Some(letter);
    }
    out
}

fn same_line(previous: char, _: char) -> bool {
    previous != '\n'
}

fn same_word(previous: char, letter: char) -> bool {
    let wordy = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '\u{301}';
    let blank = |letter: char| letter == ' ' || letter == '\t';
    (wordy(previous) && wordy(letter)) || (blank(previous) && blank(letter))
}

fn compare(old: &str, new: &str, whole: Hunk, joined: fn(char, char) -> bool) -> Vec<Hunk> {
    let old_pieces = pieces(old, whole.old.clone(), joined);
    let new_pieces = pieces(new, whole.new.clone(), joined);
    let old_words: Vec<&str> = old_pieces.iter().map(|range| &old[range.clone()]).collect();
    let new_words: Vec<&str> = new_pieces.iter().map(|range| &new[range.clone()]).collect();
    let prefix = old_words.iter().zip(&new_words).take_while(|(left, right)| left == right).count();
    let suffix = old_words[prefix..]
        .iter()
        .rev()
        .zip(new_words[prefix..].iter().rev())
        .take_while(|(left, right)| left == right)
        .count();
    let (old_end, new_end) = (old_words.len() - suffix, new_words.len() - suffix);
    let span = |pieces: &[Range<usize>], range: Range<usize>, around: &Range<usize>| {
        let edge = |at: usize| pieces.get(at).map_or(around.end, |piece| piece.start);
        edge(range.start)..edge(range.end)
    };
    let hunk = |old_range: Range<usize>, new_range: Range<usize>| Hunk {
        old: span(&old_pieces, old_range, &whole.old),
        new: span(&new_pieces, new_range, &whole.new),
    };
    if prefix == old_end && prefix == new_end {
        return Vec::new();
    }
    if (old_end - prefix).saturating_mul(new_end - prefix) > MAX_WORK {
        return vec![hunk(prefix..old_end, prefix..new_end)];
    }
    let mut seen = Capture::new();
    let (old_range, new_range) = (prefix..old_end, prefix..new_end);
    // This one by name, because asking for an algorithm by value brings all of them to the browser.
    let Ok(()) = myers::diff_deadline_raw(
        &mut seen,
        &old_words[..],
        old_range,
        &new_words[..],
        new_range,
        None,
    );
    let mut out: Vec<Hunk> = Vec::new();
    for op in seen.into_ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        let next = hunk(op.old_range(), op.new_range());
        match out.last_mut() {
            Some(last) if last.old.end == next.old.start && last.new.end == next.new.start => {
                last.old.end = next.old.end;
                last.new.end = next.new.end;
            }
            _ => out.push(next),
        }
    }
    out
}

/// The stretches that differ, in order, word by word.
pub fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let whole = Hunk { old: 0..old.len(), new: 0..new.len() };
    compare(old, new, whole, same_line)
        .into_iter()
        .flat_map(|block| compare(old, new, block, same_word))
        .collect()
}

/// Joins hunks that only blanks part: people read "two words changed", not "a word, a space kept, a word".
fn readable(old: &str, hunks: Vec<Hunk>) -> Vec<Hunk> {
    let mut out: Vec<Hunk> = Vec::new();
    for next in hunks {
        match out.last_mut() {
            Some(last) if old[last.old.end..next.old.start].chars().all(|letter| letter == ' ') => {
                last.old.end = next.old.end;
                last.new.end = next.new.end;
            }
            _ => out.push(next),
        }
    }
    out
}

/// The changes that make `new` out of `old`, as a person tells them apart.
fn changes(old: &str, new: &str) -> Vec<Hunk> {
    readable(old, hunks(old, new))
}

/// What `old` becomes when only some of the changes that lead to `new` are made. They are numbered as
/// in [`segments`].
pub fn accept(old: &str, new: &str, chosen: &[usize]) -> String {
    let mut out = String::with_capacity(old.len().max(new.len()));
    let mut at = 0;
    for (number, hunk) in changes(old, new).into_iter().enumerate() {
        out.push_str(&old[at..hunk.old.start]);
        out.push_str(if chosen.contains(&number) {
            &new[hunk.new]
        } else {
            &old[hunk.old.clone()]
        });
        at = hunk.old.end;
    }
    out.push_str(&old[at..]);
    out
}

/// The diff as a person reads it: long unchanged stretches are folded.
pub fn segments(old: &str, new: &str) -> Vec<Segment> {
    let hunks = changes(old, new);
    let mut out = Vec::new();
    let mut push = |kind: SegmentKind, text: &str, hunk: Option<usize>| {
        if !text.is_empty() {
            out.push(Segment { kind, text: text.to_owned(), hunk });
        }
    };
    let mut at = 0;
    let count = hunks.len();
    for (number, hunk) in hunks.iter().enumerate() {
        fold(&old[at..hunk.old.start], number > 0, true, &mut push);
        push(SegmentKind::Removed, &old[hunk.old.clone()], Some(number));
        push(SegmentKind::Added, &new[hunk.new.clone()], Some(number));
        at = hunk.old.end;
    }
    fold(&old[at..], count > 0, false, &mut push);
    out
}

/// Shows the part of an unchanged stretch that is near a change.
fn fold(
    text: &str,
    after_change: bool,
    before_change: bool,
    push: &mut impl FnMut(SegmentKind, &str, Option<usize>),
) {
    let head = if after_change { cut_at(text, CONTEXT_CHARS) } else { 0 };
    let tail = if before_change { cut_from_end(text, CONTEXT_CHARS) } else { text.len() };
    if tail <= head || text[head..tail].chars().count() < CONTEXT_CHARS {
        push(SegmentKind::Same, text, None);
        return;
    }
    push(SegmentKind::Same, &text[..head], None);
    let hidden = text[head..tail].chars().count();
    let told = format!("{} characters unchanged", super::field::grouped(hidden));
    push(SegmentKind::Folded, &told, None);
    push(SegmentKind::Same, &text[tail..], None);
}

/// Where about so many characters end, behind a whole word when there is one.
fn cut_at(text: &str, chars: usize) -> usize {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    if end == text.len() {
        return end;
    }
    let mut near = text[..end].char_indices().rev().take(LONG_WORD);
    let last = near.find(|(_, letter)| letter.is_whitespace());
    last.map_or(end, |(at, space)| at + space.len_utf8())
}

/// Where about so many characters before the end begin, with a whole word when there is one.
fn cut_from_end(text: &str, chars: usize) -> usize {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    if start == 0 || text[..start].ends_with(char::is_whitespace) {
        return start;
    }
    let mut near = text[start..].char_indices().take(LONG_WORD);
    let next = near.find(|(_, letter)| letter.is_whitespace());
    next.map_or(start, |(at, space)| start + at + space.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        segments(old, new)
            .iter()
            .map(|segment| match segment.kind {
                SegmentKind::Same => segment.text.clone(),
                SegmentKind::Removed => format!("[-{}-]", segment.text),
                SegmentKind::Added => format!("[+{}+]", segment.text),
                SegmentKind::Folded => format!("[…{}…]", segment.text),
            })
            .collect()
    }

    #[test]
    fn single_words_are_marked() {
        assert_eq!(
            shown("Be brief and kind.\nAsk once.", "Be short and kind.\nAsk twice."),
            "Be [-brief-][+short+] and kind.\nAsk [-once-][+twice+]."
        );
    }

    #[test]
    fn neighbouring_words_are_one_change() {
        assert_eq!(shown("a big red dog", "a small blue dog"), "a [-big red-][+small blue+] dog");
    }

    #[test]
    fn added_and_removed_lines_are_whole() {
        assert_eq!(shown("one\ntwo\n", "one\nand a half\ntwo\n"), "one\n[+and a half\n+]two\n");
        assert_eq!(shown("", "new"), "[+new+]");
        assert_eq!(shown("old", ""), "[-old-]");
        assert_eq!(shown("same", "same"), "same");
    }

    #[test]
    fn single_changes_can_be_accepted() {
        let (old, new) = ("Be brief and kind.\nAsk once.", "Be short and kind.\nAsk twice.\nStop.");

        assert_eq!(accept(old, new, &[0]), "Be short and kind.\nAsk once.");
        assert_eq!(accept(old, new, &[1]), "Be brief and kind.\nAsk twice.\nStop.");
        assert_eq!(accept(old, new, &[0, 1]), new);
        assert_eq!(accept(old, new, &[7]), old);
        let numbers: Vec<_> = segments(old, new).iter().filter_map(|piece| piece.hunk).collect();
        assert_eq!(numbers, [0, 0, 1, 1]);
    }

    #[test]
    fn long_unchanged_stretches_are_folded() {
        let long = "word ".repeat(500);

        let told = shown(&format!("{long}end"), &format!("{long}fin"));

        assert!(told.starts_with("[…2\u{202f}340 characters unchanged…]word"), "{told}");
        assert!(told.ends_with("[-end-][+fin+]"));
    }

    #[test]
    fn a_fold_cuts_no_word_in_two_unless_there_is_only_one() {
        let long = "wonderful\u{3000}".repeat(100);
        let told = shown(&format!("a {long} z"), &format!("b {long} y"));
        let (before, after) = told.split_once(" characters unchanged…]").unwrap();
        assert!(before.contains("wonderful\u{3000}[…"), "{told}");
        assert!(after.starts_with("wonderful\u{3000}"), "{told}");

        let one = "x".repeat(2000);
        assert!(shown(&format!("{one} a"), &format!("{one} b")).contains("unchanged…]xxx"));
    }

    #[test]
    fn two_wholly_different_prompts_of_the_greatest_size_are_compared_at_once() {
        let old: String = (0..14_000).map(|number| format!("old{number} ")).collect();
        let new: String = (0..14_000).map(|number| format!("new{number}\n")).collect();

        assert_eq!(hunks(&old, &new), [Hunk { old: 0..old.len(), new: 0..new.len() }]);
    }
}
