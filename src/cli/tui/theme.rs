//! How things look: sixteen colours that read on light and on dark, or none.
//!
//! The background is the terminal's own, and no colour that drowns on black (blue) or on white
//! (yellow, the bright ones) is used. Nothing is told by colour alone.

use ratatui::style::{Color, Modifier, Style};

/// The styles of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// With the terminal's own colours.
    Coloured,
    /// Without any: bold, underlined and reversed only.
    Plain,
}

impl Theme {
    /// What `NO_COLOR` asks for: any text in it means none.
    pub fn from_no_color(no_color: Option<&std::ffi::OsStr>) -> Self {
        if no_color.is_some_and(|value| !value.is_empty()) { Self::Plain } else { Self::Coloured }
    }

    fn colour(self, colour: Color) -> Style {
        match self {
            Self::Coloured => Style::new().fg(colour),
            Self::Plain => Style::new(),
        }
    }

    /// Ordinary words.
    pub fn text(self) -> Style {
        Style::new()
    }

    /// Words beside the matter: times, keys, rules.
    pub fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The bar at the top.
    pub fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The line that a list has its cursor on.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The name of the person who writes.
    pub fn person(self) -> Style {
        self.colour(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The name of who answers.
    pub fn speaker(self) -> Style {
        self.colour(Color::Magenta).add_modifier(Modifier::BOLD)
    }

    /// Something went wrong.
    pub fn wrong(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Something went well.
    pub fn good(self) -> Style {
        self.colour(Color::Green)
    }

    /// A heading in an answer.
    pub fn heading(self) -> Style {
        self.colour(Color::Magenta).add_modifier(Modifier::BOLD)
    }

    /// Code.
    pub fn code(self) -> Style {
        self.colour(Color::Cyan)
    }

    /// A link's words.
    pub fn link(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    /// What a draft would add.
    pub fn added(self) -> Style {
        self.colour(Color::Green).add_modifier(Modifier::UNDERLINED)
    }

    /// What a draft would take away.
    pub fn removed(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::CROSSED_OUT)
    }

    /// Words that were searched for.
    pub fn found(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_takes_all_colours_away() {
        let plain = Theme::from_no_color(Some("1".as_ref()));
        for style in [plain.person(), plain.wrong(), plain.added(), plain.removed(), plain.code()] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert_eq!(Theme::from_no_color(Some("".as_ref())), Theme::Coloured);
        assert_eq!(Theme::from_no_color(None), Theme::Coloured);
    }
}
