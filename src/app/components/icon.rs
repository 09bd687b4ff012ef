//! Icons, drawn with lines of one weight.

use leptos::prelude::*;

/// The icons there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    /// Several people.
    People,
    /// An open book.
    Book,
    /// A bin.
    Bin,
    /// A tray.
    Inbox,
    /// A speech bubble.
    Talk,
    /// A cog.
    Settings,
    /// A plus.
    Plus,
    /// A magnifying glass.
    Search,
    /// Two sheets.
    Copy,
    /// A clock that turns back.
    History,
    /// An arrow up.
    Up,
    /// An arrow down.
    Down,
    /// A tick.
    Check,
    /// A cross.
    Close,
    /// Three lines.
    Menu,
    /// An arrow that turns back.
    Undo,
    /// A picture in its frame.
    Picture,
    /// A triangle that points on.
    Run,
    /// A square.
    Stop,
    /// Bars below each other.
    Trace,
    /// Columns beside each other.
    Plot,
}

impl Icon {
    fn strokes(self) -> &'static str {
        match self {
            Self::People => {
                "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20c.4-3.6 3-5.5 6.5-5.5s6.1 1.9 6.5 5.5M16 4.4a3.5 3.5 0 0 1 0 6.3M18.2 15c2 .8 3.1 2.5 3.3 5"
            }
            Self::Book => {
                "M12 6.5C10 5 7 4.6 3.5 5v13.5c3.5-.4 6.5 0 8.5 1.5 2-1.5 5-1.9 8.5-1.5V5C17 4.6 14 5 12 6.5ZM12 6.5V20"
            }
            Self::Bin => "M4 7h16M9.5 7V4.5h5V7M6.5 7l.8 12.5h9.4L17.5 7M10 11v5M14 11v5",
            Self::Inbox => "M4 13.5 6.5 5h11l2.5 8.5v6H4zM4 13.5h5l1 2.5h4l1-2.5h5",
            Self::Talk => "M4 5h16v11h-9l-4.5 4v-4H4zM8 9h8M8 12.5h5",
            Self::Settings => {
                "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM12 2.5v3M12 18.5v3M2.5 12h3M18.5 12h3M5.3 5.3l2.1 2.1M16.6 16.6l2.1 2.1M18.7 5.3l-2.1 2.1M7.4 16.6l-2.1 2.1"
            }
            Self::Plus => "M12 5v14M5 12h14",
            Self::Search => "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM15.5 15.5 20.5 20.5",
            Self::Copy => "M8.5 8.5h11v11h-11zM15.5 8.5v-4h-11v11h4",
            Self::History => "M4 12a8 8 0 1 0 2.5-5.8L4 8.5M4 4v4.5h4.5M12 8v4.5l3 2",
            Self::Up => "M12 19V5M6 11l6-6 6 6",
            Self::Down => "M12 5v14M6 13l6 6 6-6",
            Self::Check => "M5 12.5l4.5 4.5L19 7.5",
            Self::Close => "M6 6l12 12M18 6 6 18",
            Self::Menu => "M4 7h16M4 12h16M4 17h16",
            Self::Picture => "M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M15 9.5a.8.8 0 1 0 0-.1Z",
            Self::Run => "M7 4.5v15l12-7.5z",
            Self::Stop => "M6 6h12v12H6z",
            Self::Trace => "M4 6h9M8 12h8M13 18h7",
            Self::Plot => "M5 20v-8M12 20V4M19 20v-5",
            Self::Undo => "M4 9h10a5.5 5.5 0 0 1 0 11h-4M8 5 4 9l4 4",
        }
    }
}

/// Shows an icon. It says nothing to screen readers: its button or link does.
#[component]
pub fn Glyph(
    /// Which one.
    icon: Icon,
) -> impl IntoView {
    view! {
        <svg class="glyph" viewBox="0 0 24 24" aria-hidden="true">
            <path d=icon.strokes()/>
        </svg>
    }
}
