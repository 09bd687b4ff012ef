//! Keys: read when they are needed, shown nowhere.

use std::collections::HashSet;

use base64::{
    Engine,
    prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};

use super::{Fault, ProviderError, catalog::Environment};
use crate::domain::model::KeyRef;

/// The longest key file that is read.
const MAX_KEY_BYTES: u64 = 8 * 1024;
/// So much of a key's beginning tells something of it.
const MIN_SHOWN: usize = 4;
/// So much of a key, from wherever in it, is as good as the key.
const PIECE: usize = 8;
/// How keys begin whose first part, up to a dash, only says what they are for; and how long that part may be.
const KIND: &str = "sk-";
const MAX_KIND: usize = 16;

/// A key. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl std::fmt::Debug for Key {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Key(…)")
    }
}

impl Key {
    /// A key that was read, or opened.
    pub(super) fn new(text: String) -> Self {
        Self(text)
    }

    /// The key, for the one header it goes into.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A text with the key taken out: services like to quote it in their errors. A text that was cut
    /// may end with the key's beginning.
    pub fn hide_in(&self, text: &str) -> String {
        let mut hidden = self.hide_pieces(text);
        let begins = |end: &usize| self.0.get(..*end).is_some_and(|cut| hidden.ends_with(cut));
        if let Some(cut) = (MIN_SHOWN..self.0.len()).rev().find(begins) {
            hidden.truncate(hidden.len() - cut);
            hidden.push('…');
        }
        hidden
    }

    /// A text without the key, and without any piece of it: as it is, in base64 wherever it stands there, and as
    /// in an address. What only says what a key is for stays.
    pub fn hide_pieces(&self, text: &str) -> String {
        let (text, pieces) = (text.replace(&self.0, "…"), pieces(&self.0));
        let mut is_hidden = vec![false; text.len()];
        for (at, window) in text.as_bytes().windows(PIECE).enumerate() {
            if pieces.contains(window) {
                is_hidden[at..at + PIECE].fill(true);
            }
        }
        let (kind, mut out, mut hidden) = (self.kind(), String::new(), String::new());
        for (at, letter) in text.char_indices() {
            if is_hidden[at] {
                hidden.push(letter);
                continue;
            }
            out.push_str(instead_of(&hidden, kind));
            hidden.clear();
            out.push(letter);
        }
        out.push_str(instead_of(&hidden, kind));
        out
    }

    /// What it begins with and many others do: `sk-ant-api03-`.
    fn kind(&self) -> &str {
        let begin = self.0.get(..MAX_KIND).filter(|begin| begin.starts_with(KIND));
        begin.and_then(|begin| begin.get(..=begin.rfind('-')?)).unwrap_or_default()
    }
}

/// What is told in place of what would be hidden.
fn instead_of<'text>(hidden: &'text str, kind: &str) -> &'text str {
    if kind.contains(hidden) { hidden } else { "…" }
}

/// All pieces of a key, however it is written. A short one has none.
fn pieces(key: &str) -> HashSet<[u8; PIECE]> {
    if key.len() < PIECE {
        return HashSet::new();
    }
    let mut written = vec![key.to_owned()];
    for start in 0..3 {
        // What stands before it moves all its letters, and changes the first ones.
        let rest = &key.as_bytes()[start..];
        written.push(BASE64_STANDARD_NO_PAD.encode(rest));
        written.push(BASE64_URL_SAFE_NO_PAD.encode(rest));
    }
    for escape in [|byte: u8| format!("%{byte:02X}"), |byte: u8| format!("%{byte:02x}")] {
        let letter = |byte: u8| match byte {
            b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => escape(byte),
        };
        written.push(key.bytes().map(letter).collect());
    }
    let windows = written.iter().flat_map(|written| written.as_bytes().windows(PIECE));
    windows.filter_map(|window| window.try_into().ok()).collect()
}

/// The key behind a reference.
pub fn read(reference: &str, environment: &Environment) -> Result<Key, ProviderError> {
    let missing = |told: String| ProviderError::new(Fault::NoKey, told);
    let parsed = KeyRef::parse(reference)
        .map_err(|_| missing("the reference to the key cannot be read".into()))?;
    let (place, key) = match &parsed {
        KeyRef::Sealed => return Err(missing("a sealed key opens for its service only".into())),
        KeyRef::Env(name) => {
            let place = format!("the variable {name}");
            let key = environment(name).ok_or_else(|| missing(format!("{place} is not set")))?;
            (place, key)
        }
        KeyRef::File(path) => {
            let place = format!("the file {path}");
            let unread = |error| missing(format!("{place} cannot be read ({error})"));
            let about = std::fs::metadata(path).map_err(unread)?;
            // A device may have no end, and a pipe no beginning.
            if !about.is_file() || about.len() > MAX_KEY_BYTES {
                return Err(missing(format!("{place} is not one with a key in it")));
            }
            let key = std::fs::read_to_string(path).map_err(unread)?;
            (place, key)
        }
    };
    let key = key.trim();
    // What cannot stand in a header is no key.
    if key.is_empty() || key.bytes().any(|byte| !(0x21..0x7f).contains(&byte)) {
        return Err(missing(format!("{place} holds no key")));
    }
    Ok(Key::new(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_a_variable_or_a_file_and_is_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "sk-from-file\n").unwrap();
        let environment = |name: &str| (name == "MY_KEY").then(|| " sk-from-env ".to_owned());

        let from_env = read("env:MY_KEY", &environment).unwrap();
        let from_file = read(&format!("file:{}", file.display()), &environment).unwrap();

        assert_eq!(from_env.expose(), "sk-from-env");
        assert_eq!(from_file.expose(), "sk-from-file");
        assert_eq!(format!("{from_env:?}"), "Key(…)");
        assert_eq!(from_env.hide_in("bad key sk-from-env!"), "bad key …!");
        assert_eq!(from_env.hide_in("sk-from-env is cut: sk-from-en"), "… is cut: …");
        for bad in ["env:OTHER", "file:/does/not/exist", "sk-itself"] {
            assert_eq!(read(bad, &environment).unwrap_err().fault, Fault::NoKey, "{bad}");
        }
    }

    #[test]
    fn every_piece_of_a_key_is_hidden_however_it_is_written() {
        let text = "sk-ant-api03-Ab+Cd/Ef=Gh~Ij?Kl>Mn-0123456789";
        let key = Key::new(text.to_owned());
        let upper = "sk-ant-api03-Ab%2BCd%2FEf%3DGh~Ij%3FKl%3EMn-0123456789";

        assert_eq!(key.hide_in("It ends with -0123456789."), "It ends with ….");
        assert_eq!(key.hide_in("Ab+Cd/Ef, then é3456789, 9"), "…, then é3456789, 9");
        assert_eq!(key.hide_in("is it sk-ant-api03-Ab+?"), "is it …?");
        assert_eq!(key.hide_in(&format!("?key={upper}&x=1")), "?key=…&x=1");
        let lower = upper.replace("%2B", "%2b").replace("%2F", "%2f").replace("%3D", "%3d");
        assert!(!key.hide_in(&lower).contains("%2b"), "{}", key.hide_in(&lower));
        for before in ["", "x", "me", "me:", "user:"] {
            let whole = format!("{before}{text}");
            for packed in
                [BASE64_STANDARD_NO_PAD.encode(&whole), BASE64_URL_SAFE_NO_PAD.encode(&whole)]
            {
                let told = key.hide_in(&format!("Basic {packed}="));
                let left = told.trim_start_matches("Basic ").chars().count();
                // What stands before it, and a letter or two that it shares with its neighbours.
                assert!(told.contains('…') && left <= 16, "{told}");
            }
        }
        // What is the same in the keys of others says nothing.
        let wanted = "Keys begin with sk-ant-api03- here.";
        assert_eq!(key.hide_in(wanted), wanted);
        assert_eq!(
            Key::new("short".to_owned()).hide_in("shor, c2hvcnQ, short"),
            "shor, c2hvcnQ, …"
        );
    }
}
