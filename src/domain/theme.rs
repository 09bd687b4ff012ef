//! Light or dark, as the system says or as a person chose.

use serde::{Deserialize, Serialize};

/// The name of the cookie that remembers the choice.
pub const COOKIE: &str = "theme";

/// Which colours a page has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// All of them, in the order of the switch.
    pub const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// The word in the cookie and on the page.
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The choice in a `Cookie` header, if there is one.
    pub fn from_cookies(header: &str) -> Self {
        let chosen = header
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == COOKIE)
            .map_or("", |(_, value)| value);
        Self::from_word(chosen).unwrap_or_default()
    }

    /// The theme with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_theme_is_read_from_among_other_cookies() {
        assert_eq!(Theme::from_cookies("a=b; theme=dark; c=d"), Theme::Dark);
        assert_eq!(Theme::from_cookies("theme=neon"), Theme::System);
        assert_eq!(Theme::from_cookies(""), Theme::System);
    }
}
