//! Keys: read when they are needed, shown nowhere.

use super::{Fault, ProviderError, catalog::Environment};
use crate::domain::model::KeyRef;

/// The longest key file that is read.
const MAX_KEY_BYTES: u64 = 8 * 1024;
/// So much of a key's beginning tells something of it.
const MIN_SHOWN: usize = 4;

/// A key. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl std::fmt::Debug for Key {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Key(…)")
    }
}

impl Key {
    /// A key that was sealed.
    pub(super) fn new(key: String) -> Self {
        Self(key)
    }

    /// The key, for the one header it goes into.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A text with the key taken out: services like to quote it in their errors. A text that was cut
    /// may end with the key's beginning.
    pub fn hide_in(&self, text: &str) -> String {
        let mut hidden = text.replace(&self.0, "…");
        let cut = (MIN_SHOWN..self.0.len()).rev().find(|end| hidden.ends_with(&self.0[..*end]));
        if let Some(cut) = cut {
            hidden.truncate(hidden.len() - cut);
            hidden.push('…');
        }
        hidden
    }
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
    Ok(Key(key.to_owned()))
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
}
