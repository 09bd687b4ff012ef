//! The pages, one file each.

pub mod account;
pub mod audit;
pub mod bin;
pub mod chat;
pub mod chats;
pub mod conflict;
pub mod gallery;
pub mod inbox;
pub mod knowledge;
pub mod not_found;
pub mod page;
pub mod people;
pub mod persona;
pub mod persona_workbench;
pub mod personas;
pub mod playground;
pub mod published;
pub mod reference;
pub mod roleplay;
pub mod search;
pub mod session;
pub mod settings;
pub mod sign_in;
pub mod task;
pub mod terminal;
pub mod terminals;
pub mod trace;
pub mod traces;
pub mod usage;

use leptos::prelude::*;

/// The pages that need no program in the browser: the server renders them, and the browser shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedPage {
    /// Everything that was done.
    Audit,
    /// What was deleted.
    Bin,
    /// One chat.
    Chat,
    /// All chats.
    Chats,
    /// What a plain form could not save.
    Conflict,
    /// Pictures, and asking for them.
    Gallery,
    /// What waits for a decision.
    Inbox,
    /// The lists of pages, refs and tasks.
    Knowledge,
    /// A page of knowledge.
    Page,
    /// The sessions of a persona's playground.
    Playground,
    /// A text from elsewhere.
    Ref,
    /// What roleplay knows of a persona.
    Roleplay,
    /// Searching everything.
    Search,
    /// A session of the playground.
    Session,
    /// What a person sets.
    Settings,
    /// Something to do.
    Task,
    /// A session of the terminal.
    Terminal,
    /// All sessions of the terminal.
    Terminals,
    /// What a run did.
    Trace,
    /// All runs.
    Traces,
    /// What runs took.
    Usage,
    /// What can be made of a persona, beside its editor.
    Workbench,
}

impl ServedPage {
    /// Whether it shows what others change, so that it is loaded again when they do. What somebody is
    /// writing there stays.
    pub fn is_live(self) -> bool {
        match self {
            Self::Audit
            | Self::Bin
            | Self::Chat
            | Self::Chats
            | Self::Gallery
            | Self::Inbox
            | Self::Knowledge
            | Self::Page
            | Self::Playground
            | Self::Ref
            | Self::Session
            | Self::Task
            | Self::Terminal
            | Self::Terminals
            | Self::Trace
            | Self::Traces
            | Self::Workbench => true,
            // What one asked for, or sets, stays as it is.
            Self::Conflict | Self::Roleplay | Self::Search | Self::Settings | Self::Usage => false,
        }
    }

    /// The page itself. Only the server asks for it, so that none of it is sent to the browser.
    pub fn render(self) -> AnyView {
        match self {
            Self::Audit => audit::AuditPage().into_any(),
            Self::Bin => bin::BinPage().into_any(),
            Self::Chat => chat::ChatPage().into_any(),
            Self::Chats => chats::ChatsPage().into_any(),
            Self::Conflict => conflict::ConflictPage().into_any(),
            Self::Gallery => gallery::GalleryPage().into_any(),
            Self::Inbox => inbox::InboxPage().into_any(),
            Self::Knowledge => knowledge::KnowledgePage().into_any(),
            Self::Page => page::PagePage().into_any(),
            Self::Playground => playground::PlaygroundPage().into_any(),
            Self::Ref => reference::RefPage().into_any(),
            Self::Roleplay => roleplay::RoleplayPage().into_any(),
            Self::Search => search::SearchPage().into_any(),
            Self::Session => session::SessionPage().into_any(),
            Self::Settings => settings::SettingsPage().into_any(),
            Self::Task => task::TaskPage().into_any(),
            Self::Terminal => terminal::TerminalPage().into_any(),
            Self::Terminals => terminals::TerminalsPage().into_any(),
            Self::Trace => trace::TracePage().into_any(),
            Self::Traces => traces::TracesPage().into_any(),
            Self::Usage => usage::UsagePage().into_any(),
            Self::Workbench => persona_workbench::PersonaWorkbench().into_any(),
        }
    }
}
