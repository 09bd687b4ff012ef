//! Which keys write, and where they move the cursor: those of shells and of forms alike.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::input::{Edit, Step};

/// The key with Ctrl, as a letter.
pub fn control(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            Some(letter.to_ascii_lowercase())
        }
        _ => None,
    }
}

/// The key without Ctrl and Alt, as a letter.
pub fn letter(key: KeyEvent) -> Option<char> {
    let held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(letter) if !held => Some(letter),
        _ => None,
    }
}

/// Whether the key begins a new line where Enter alone sends.
pub fn breaks_line(key: KeyEvent) -> bool {
    let held = key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
    (key.code == KeyCode::Enter && held) || control(key) == Some('j')
}

/// What a key does to a text.
pub fn edit(key: KeyEvent) -> Option<Edit> {
    let word = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let step = |far: Step, near: Step| if word { far } else { near };
    if let Some(letter) = control(key).filter(|_| !alt) {
        return match letter {
            'a' => Some(Edit::Go(Step::LineStart)),
            'e' => Some(Edit::Go(Step::LineEnd)),
            'b' => Some(Edit::Go(Step::Left)),
            'd' => Some(Edit::Delete(Step::Right)),
            'h' => Some(Edit::Delete(Step::Left)),
            'w' => Some(Edit::Delete(Step::WordLeft)),
            'u' => Some(Edit::Delete(Step::LineStart)),
            'k' => Some(Edit::Delete(Step::LineEnd)),
            _ => None,
        };
    }
    match key.code {
        KeyCode::Char('b') if alt => Some(Edit::Go(Step::WordLeft)),
        KeyCode::Char('f') if alt => Some(Edit::Go(Step::WordRight)),
        KeyCode::Char('d') if alt => Some(Edit::Delete(Step::WordRight)),
        KeyCode::Char(letter) if !word => Some(Edit::Insert(letter.to_string())),
        KeyCode::Backspace => Some(Edit::Delete(step(Step::WordLeft, Step::Left))),
        KeyCode::Delete => Some(Edit::Delete(step(Step::WordRight, Step::Right))),
        KeyCode::Left => Some(Edit::Go(step(Step::WordLeft, Step::Left))),
        KeyCode::Right => Some(Edit::Go(step(Step::WordRight, Step::Right))),
        KeyCode::Home => Some(Edit::Go(step(Step::Start, Step::LineStart))),
        KeyCode::End => Some(Edit::Go(step(Step::End, Step::LineEnd))),
        _ => None,
    }
}
