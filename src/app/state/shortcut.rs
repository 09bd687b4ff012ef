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
    /// Go to the bar in which one talks.
    Talk,
    /// Go from card to card, or do something with one: with a draft, or a message of a chat.
    Card(char),
}

/// A line of the help.
pub struct KeyHelp {
    /// The keys.
    pub keys: &'static str,
    /// What they do.
    pub does: &'static str,
}

/// What the help shows.
pub const HELP: [KeyHelp; 14] = [
    KeyHelp { keys: "Ctrl K", does: "Go to anything by its words" },
    KeyHelp { keys: "Ctrl S", does: "Save now (it saves by itself, too)" },
    KeyHelp { keys: "/", does: "Search on this page" },
    KeyHelp { keys: "Ctrl /", does: "Talk to whoever listens on this page" },
    KeyHelp { keys: "j k", does: "Go to the next or the previous draft, or message of a chat" },
    KeyHelp { keys: "a e r", does: "Accept, edit or reject the draft with the cursor" },
    KeyHelp {
        keys: "h l e r t",
        does: "In a chat: the answer before or after, edit, again, test input",
    },
    KeyHelp { keys: "+ − ← ↑ → ↓", does: "On the map of a chat: larger, smaller, move" },
    KeyHelp {
        keys: "← → Home End",
        does: "On the edge of the conversation: wider, narrower, as far as it goes",
    },
    KeyHelp { keys: "?", does: "Show these keys" },
    KeyHelp { keys: "Tab", does: "Go on to the next field or button" },
    KeyHelp { keys: "Enter", does: "Choose what is marked, or send what stands in the bar" },
    KeyHelp { keys: "Shift Enter", does: "Begin a new line in the bar" },
    KeyHelp { keys: "Esc", does: "Close what is open" },
];

/// What a key asks for. While one types, only keys with Ctrl (or ⌘) are ours.
pub fn shortcut(key: &str, ctrl: bool, typing: bool) -> Option<Shortcut> {
    match (key, ctrl) {
        ("k" | "K", true) => Some(Shortcut::Palette),
        ("s" | "S", true) => Some(Shortcut::Save),
        ("?", false) if !typing => Some(Shortcut::Help),
        ("/", false) if !typing => Some(Shortcut::Find),
        ("/", true) => Some(Shortcut::Talk),
        ("Escape", false) => Some(Shortcut::Close),
        ("j" | "k" | "a" | "e" | "r" | "h" | "l" | "t", false) if !typing => {
            key.chars().next().map(Shortcut::Card)
        }
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
        assert_eq!(shortcut("k", false, false), Some(Shortcut::Card('k')));
        assert_eq!(shortcut("k", false, true), None);
        assert_eq!(shortcut("/", true, true), Some(Shortcut::Talk));
        assert_eq!(shortcut("x", false, false), None);
    }
}
