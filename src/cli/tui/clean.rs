//! Text that is safe to put on a terminal, whoever wrote it.
//!
//! The one rule of the screen: nothing that a model, a tool or the clipboard wrote gets there without
//! having gone through [`clean`], and what is laid out is laid out in the [`cells`] of this file.

use std::{borrow::Cow, iter::Peekable, str::Chars};

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How far the end of a terminal's command is looked for; beyond, it is text that begins oddly.
const LONGEST_COMMAND: usize = 2048;
/// The most marks that one letter may carry: more of them write over the lines around it.
const MOST_MARKS: usize = 4;

const ESCAPE: char = '\u{1b}';
const JOINER: char = '\u{200d}';
const AS_EMOJI: char = '\u{fe0f}';

/// The text without commands to a terminal and without characters that move what stands around them.
/// Whole commands go; a control character that is alone is shown as a symbol, so that nothing hides.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(cleaned(text, More::Never).0)
}

/// The same for a text that comes in pieces: a command may begin in one and end in another.
#[derive(Clone, Debug, Default)]
pub struct Cleaning {
    held: String,
}

impl Cleaning {
    /// What can be shown now that this piece is here.
    pub fn add(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let (shown, held) = cleaned(&self.held, More::Later);
        self.held = held;
        shown
    }

    /// What is left when nothing more comes.
    pub fn end(&mut self) -> String {
        cleaned(&std::mem::take(&mut self.held), More::Never).0
    }
}

/// Whether more of a text follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum More {
    Never,
    Later,
}

/// What a command to a terminal is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Odd {
    /// It may be one when more of it is there.
    Unfinished,
    /// It is none.
    Text,
}

/// The text as it is shown, and what of it may become a command when more follows.
fn cleaned(text: &str, more: More) -> (String, String) {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        let read = match letter {
            ESCAPE => command(&rest),
            // The same commands, begun by one character instead of two.
            '\u{9b}' => control_sequence(rest.clone()),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => string(rest.clone()),
            '\r' if rest.peek().is_none() => Err(Odd::Unfinished),
            _ => Err(Odd::Text),
        };
        match read {
            Ok(after) => {
                rest = after;
                continue;
            }
            Err(Odd::Unfinished) if more == More::Later => {
                return (out, std::iter::once(letter).chain(rest).collect());
            }
            Err(_) => {}
        }
        match letter {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            '\r' => {
                rest.next_if_eq(&'\n');
                out.push('\n');
            }
            '\u{2028}' | '\u{2029}' => out.push('\n'),
            ESCAPE => out.push('␛'),
            '\u{7f}' => out.push('␡'),
            low if low < ' ' => {
                out.push(char::from_u32(0x2400 + u32::from(low)).unwrap_or('�'));
            }
            other if is_harmless(other) => out.push(other),
            _ => {}
        }
    }
    (out, String::new())
}

/// One line of it: breaks become spaces.
pub fn clean_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a character may stay as it is.
fn is_harmless(letter: char) -> bool {
    match letter {
        '\n' => true,
        // Directions, invisible characters, and marks of byte order.
        '\u{61c}' | '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' => false,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => false,
        '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => false,
        other => !other.is_control(),
    }
}

/// What follows a command that an escape began.
fn command<'a>(rest: &Peekable<Chars<'a>>) -> Result<Peekable<Chars<'a>>, Odd> {
    let mut rest = rest.clone();
    match rest.next().ok_or(Odd::Unfinished)? {
        '[' => control_sequence(rest),
        ']' | 'P' | 'X' | '^' | '_' => string(rest),
        ' '..='/' => {
            rest.find(|letter| !(' '..='/').contains(letter)).ok_or(Odd::Unfinished)?;
            Ok(rest)
        }
        '0'..='~' => Ok(rest),
        _ => Err(Odd::Text),
    }
}

/// Behind the letter that ends a sequence such as `[1;31m`.
fn control_sequence(mut rest: Peekable<Chars<'_>>) -> Result<Peekable<Chars<'_>>, Odd> {
    for _ in 0..LONGEST_COMMAND {
        match rest.next().ok_or(Odd::Unfinished)? {
            ' '..='?' => {}
            '@'..='~' => return Ok(rest),
            _ => return Err(Odd::Text),
        }
    }
    Err(Odd::Text)
}

/// Behind the end of a string for the terminal: a title, a link, what is to be copied.
fn string(mut rest: Peekable<Chars<'_>>) -> Result<Peekable<Chars<'_>>, Odd> {
    for _ in 0..LONGEST_COMMAND {
        match rest.next().ok_or(Odd::Unfinished)? {
            '\u{7}' | '\u{9c}' => return Ok(rest),
            ESCAPE => {
                let ends = rest.next().ok_or(Odd::Unfinished)? == '\\';
                return if ends { Ok(rest) } else { Err(Odd::Text) };
            }
            _ => {}
        }
    }
    Err(Odd::Text)
}

/// One letter as it is shown, with all its marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Where it begins in the text.
    pub at: usize,
    /// What is shown of it.
    pub shown: Cow<'a, str>,
    /// How many columns that takes.
    pub width: usize,
}

/// The letters of a text that is clean, as they are shown.
pub fn cells(text: &str) -> impl Iterator<Item = Cell<'_>> {
    text.grapheme_indices(true).map(|(at, letter)| {
        let shown = agreed(letter);
        let width = UnicodeWidthStr::width(&*shown);
        Cell { at, shown, width }
    })
}

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { cells(text).map(|cell| cell.width).sum() }
}

/// The beginning of a text that fits, with `…` where something is left out.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return cells(text).map(|cell| cell.shown).collect();
    }
    let mut out = String::new();
    let mut used = 1;
    for cell in cells(text) {
        used += cell.width;
        if used > columns {
            break;
        }
        out.push_str(&cell.shown);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// The same in just so many columns.
pub fn padded(text: &str, columns: usize) -> String {
    let text = fit(text, columns);
    let gap = " ".repeat(columns.saturating_sub(width(&text)));
    text + &gap
}

/// The letter as all terminals agree how wide it is. They quarrel about emoji that are joined, tinted
/// or asked for by a mark, so these are shown apart and plain; what is copied or sent keeps them.
fn agreed(letter: &str) -> Cow<'_, str> {
    if letter.len() == 1 || letter.chars().nth(1).is_none() {
        return Cow::Borrowed(letter);
    }
    let joined = letter.contains(JOINER) && letter.chars().any(is_pictorial);
    let mut marks = 0;
    let kept = |character: &char| match *character {
        JOINER => !joined,
        AS_EMOJI | '\u{fe0e}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{20e3}' => false,
        mark if unicode_width::UnicodeWidthChar::width(mark) == Some(0) => {
            marks += 1;
            marks <= MOST_MARKS
        }
        _ => true,
    };
    Cow::Owned(letter.chars().filter(kept).collect())
}

/// Whether a character is one of those that emoji are made of.
fn is_pictorial(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_a_terminal_go_and_their_words_stay() {
        for (written, shown) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}words", "words"),
            ("\u{1b}]8;;https://a.example\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]52;c;ZXZpbA==\u{7}copied", "copied"),
            ("\u{1b}Pq#0;2\u{1b}\\picture", "picture"),
            ("\u{9b}2Jgone", "gone"),
            ("\u{1b}(Bset", "set"),
            ("\u{1b}cwhole", "whole"),
            ("one\r\ntwo\rthree", "one\ntwo\nthree"),
            ("a\tb", "a    b"),
            ("bell\u{7}, back\u{8}, nothing\0", "bell␇, back␈, nothing␀"),
            ("\u{202e}evil\u{202c}", "evil"),
            ("zero\u{200b}width\u{feff}", "zerowidth"),
        ] {
            assert_eq!(clean(written), shown, "{written:?}");
        }
    }

    #[test]
    fn a_command_without_an_end_hides_nothing() {
        assert_eq!(clean("\u{1b}]0;and all that follows"), "␛]0;and all that follows");
        assert_eq!(clean("\u{1b}[12"), "␛[12");
        assert_eq!(clean("end\u{1b}"), "end␛");
    }

    #[test]
    fn a_command_that_comes_in_pieces_goes_as_well() {
        let written = "one\r\n\u{1b}]0;title\u{1b}\\two \u{1b}[1;31mthree\u{9b}2J\u{1b}(B, four";
        for length in 1..=5 {
            let letters: Vec<char> = written.chars().collect();
            let mut cleaning = Cleaning::default();
            let mut shown = String::new();
            for piece in letters.chunks(length) {
                shown.push_str(&cleaning.add(&piece.iter().collect::<String>()));
            }
            shown.push_str(&cleaning.end());
            assert_eq!(shown, clean(written), "{length}");
        }
        let mut open = Cleaning::default();
        assert_eq!(open.add("a\u{1b}]0;and all"), "a");
        assert_eq!(open.end(), "␛]0;and all", "what has no end hides nothing");
    }

    #[test]
    fn letters_have_the_width_that_all_terminals_give_them() {
        assert_eq!(width("abc"), 3);
        assert_eq!(width("日本"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("👍🏽"), 2, "a tint is left out");
        assert_eq!(width("❤\u{fe0f}"), 1, "so is the wish for colour");
        assert_eq!(width("👨\u{200d}👩\u{200d}👧"), 6, "a family stands side by side");
        assert_eq!(width("🇩🇪"), 2);
    }

    #[test]
    fn a_letter_carries_only_so_many_marks() {
        let heaped = format!("z{}", "\u{301}".repeat(50));

        let shown: Vec<_> = cells(&heaped).collect();

        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0].shown.chars().count(), 1 + MOST_MARKS);
    }

    #[test]
    fn what_does_not_fit_is_left_out_at_a_letter() {
        assert_eq!(fit("Greenroom", 20), "Greenroom");
        assert_eq!(fit("Greenroom", 6), "Green…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("words", 0), "");
    }
}
