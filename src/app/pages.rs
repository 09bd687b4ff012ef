//! The pages, one file each.

pub mod audit;
pub mod bin;
pub mod conflict;
pub mod inbox;
pub mod not_found;
pub mod persona;
pub mod personas;
pub mod settings;

use leptos::prelude::*;

/// The pages that need no program in the browser: the server renders them, and the browser shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedPage {
    /// Everything that was done.
    Audit,
    /// What was deleted.
    Bin,
    /// What a plain form could not save.
    Conflict,
    /// What waits for a decision.
    Inbox,
    /// What a person sets.
    Settings,
}

impl ServedPage {
    /// Whether it lists what others change, so that it is loaded again when they do.
    pub fn is_live(self) -> bool {
        match self {
            Self::Audit | Self::Bin | Self::Inbox => true,
            Self::Conflict | Self::Settings => false,
        }
    }

    /// The page itself. Only the server asks for it, so that none of it is sent to the browser.
    pub fn render(self) -> AnyView {
        match self {
            Self::Audit => audit::AuditPage().into_any(),
            Self::Bin => bin::BinPage().into_any(),
            Self::Conflict => conflict::ConflictPage().into_any(),
            Self::Inbox => inbox::InboxPage().into_any(),
            Self::Settings => settings::SettingsPage().into_any(),
        }
    }
}
