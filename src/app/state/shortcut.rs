//! The keys that work everywhere, and what they do.

/// Something a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortcut {
    /// Open the palette.
    Palette,
    /// Show the keys.
    Help,
    /// Save now.
    Save,
    /// Go to the search field of the page.
    Find,
    /// Close what is open.
    Close,
}

/// A line of the help.
pub struct KeyHelp {
    /// The keys.
    pub keys: &'static str,
    /// What they do.
    pub does: &'static str,
}

/// What the help shows.
pub const HELP: [KeyHelp; 7] = [
    KeyHelp { keys: "Ctrl K", does: "Go to a persona or a page" },
    KeyHelp { keys: "Ctrl S", does: "Save now (it saves by itself, too)" },
    KeyHelp { keys: "/", does: "Search on this page" },
    KeyHelp { keys: "?", does: "Show these keys" },
    KeyHelp { keys: "Tab", does: "Go on to the next field or button" },
    KeyHelp { keys: "Enter", does: "Choose what is marked" },
    KeyHelp { keys: "Esc", does: "Close what is open" },
];

/// What a key asks for. While one types, only keys with Ctrl (or ⌘) are ours.
pub fn shortcut(key: &str, ctrl: bool, typing: bool) -> Option<Shortcut> {
    match (key, ctrl) {
        ("k" | "K", true) => Some(Shortcut::Palette),
        ("s" | "S", true) => Some(Shortcut::Save),
        ("?", false) if !typing => Some(Shortcut::Help),
        ("/", false) if !typing => Some(Shortcut::Find),
        ("Escape", false) => Some(Shortcut::Close),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_keys_are_left_to_whoever_types() {
        assert_eq!(shortcut("?", false, false), Some(Shortcut::Help));
        assert_eq!(shortcut("?", false, true), None);
        assert_eq!(shortcut("/", false, true), None);
        assert_eq!(shortcut("k", true, true), Some(Shortcut::Palette));
        assert_eq!(shortcut("s", true, true), Some(Shortcut::Save));
        assert_eq!(shortcut("Escape", false, true), Some(Shortcut::Close));
        assert_eq!(shortcut("k", false, false), None);
    }
}
