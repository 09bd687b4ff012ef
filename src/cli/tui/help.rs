//! The keys, as the help shows them. `docs/terminal.md` has the same.

use crossterm::event::{KeyCode, KeyEvent};

use super::typing::letter;

/// A key and what it does; a heading has no key.
pub const KEYS: [(&str, &str); 43] = [
    ("", "Everywhere"),
    ("Ctrl-C", "Stop the answer and keep it; again: leave"),
    ("F1 or ?", "These keys (? while nothing is written)"),
    ("F2 or Ctrl-O", "Sessions: switch, begin, describe, delete"),
    ("F3 or Ctrl-T", "Another model, or persona:ID"),
    ("F4 or Ctrl-R", "Review drafts"),
    ("Ctrl-F", "Search in the conversation"),
    ("Ctrl-Y", "Copy the last answer"),
    ("PgUp PgDn", "Scroll by pages; the wheel and Ctrl-Up, Ctrl-Down by lines"),
    ("Ctrl-Home Ctrl-End", "To the beginning, to the end"),
    ("F5", "Leave the mouse to the terminal, to select text"),
    ("F6", "Hide what is wrong with tools"),
    ("Ctrl-L Ctrl-Z", "Draw everything anew; back to the shell for a while"),
    ("", "While writing"),
    ("Enter", "Send"),
    ("Alt-Enter or Ctrl-J", "A new line"),
    ("Up Down", "Another line, or what was written before"),
    ("Ctrl-A Ctrl-E", "To the beginning or the end of the line"),
    ("Alt-B Alt-F", "A word back or on (Ctrl-Left, Ctrl-Right)"),
    ("Ctrl-W Ctrl-U Ctrl-K", "Delete the word, all before, all behind"),
    ("Esc", "Read: select messages"),
    ("Ctrl-D", "Leave, when nothing is written"),
    ("/help", "/model /new /describe /sessions /drafts /undo /search /copy /delete /exit"),
    ("", "While reading"),
    ("j k", "Next message, last message"),
    ("y", "Copy the message"),
    ("c", "Copy the code in it"),
    ("t", "Show thoughts and tools whole, or short again"),
    ("/ n N", "Search; further up, further down"),
    ("g G", "To the beginning, to the end"),
    ("Enter or Esc", "Write again"),
    ("", "Drafts"),
    ("j k", "Next draft, last draft"),
    ("a", "Accept what is chosen"),
    ("r", "Reject, with a reason"),
    ("e", "Accept in your own words"),
    ("h l Space", "Go to a change; choose it or not"),
    ("u", "Take your last decision back"),
    ("", "Sessions"),
    ("Enter", "Open"),
    ("n e d", "Begin, describe, delete"),
    ("/", "See fewer"),
    ("Esc", "Close"),
];

/// Where the help is scrolled to by a key; nothing when the key closes it.
pub fn scroll(key: KeyEvent, from: u16) -> Option<u16> {
    // In a narrow window a key takes up to three lines.
    let last = u16::try_from(3 * KEYS.len()).unwrap_or(u16::MAX);
    let from = from.min(last);
    match (key.code, letter(key)) {
        (KeyCode::Down, _) | (_, Some('j')) => Some(from.saturating_add(1)),
        (KeyCode::Up, _) | (_, Some('k')) => Some(from.saturating_sub(1)),
        (KeyCode::PageDown, _) | (_, Some(' ')) => Some(from.saturating_add(10)),
        (KeyCode::PageUp, _) => Some(from.saturating_sub(10)),
        _ => None,
    }
}
