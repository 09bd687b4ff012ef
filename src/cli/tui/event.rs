//! What happens to the screen, and what it wants done.

use crossterm::event::KeyEvent;

use crate::{
    cli::{exit::Exit, stage::Decision},
    domain::{
        event::Stamped,
        id::{ChangeId, ConversationId, MessageId, RunId},
        model::Model,
        proposal::{Approval, Proposal},
        terminal::{Said, TerminalChanges, TerminalSession, TerminalTalk},
    },
};

/// Something happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The window has so many columns and rows.
    Resize(u16, u16),
    /// The shell brought us back, to a window of so many columns and rows.
    Returned(u16, u16),
    /// The wheel turned so many lines down, or up.
    Wheel(isize),
    /// A second went by.
    Second,
    /// It is time to see whether something was said from elsewhere.
    Glance,
    /// What was asked for is here.
    Told(Told),
}

/// What is told by whom the terminal talks to.
#[derive(Clone, Debug)]
pub enum Told {
    /// Another session is open, with what was said there last.
    Opened(Box<TerminalSession>, Box<TerminalTalk>),
    /// Another session was begun here, and is open.
    Begun(Box<TerminalSession>, Box<TerminalTalk>),
    /// More of what was said in a session.
    Earlier(ConversationId, Box<TerminalTalk>),
    /// More of what was said in a session could not be had.
    NotEarlier(ConversationId, String),
    /// What was said in a session from elsewhere, while nobody asked anything here.
    Since(ConversationId, Box<TerminalTalk>),
    /// What was said in a session from elsewhere, before what a person says now.
    Before(ConversationId, Box<TerminalTalk>),
    /// What a person said was not kept: what somebody said elsewhere is being answered.
    Taken(ConversationId, Box<TerminalTalk>),
    /// What a person said is kept, and is being answered.
    Said(Box<Said>),
    /// What a person said in a session could not be kept.
    NotSaid(ConversationId, String),
    /// A run told something.
    Heard(RunId, Box<Stamped>),
    /// A run cannot be heard any more.
    Unheard(RunId, String),
    /// All sessions.
    Sessions(Vec<TerminalSession>),
    /// How a session stands by now, whoever set something for it.
    Seen(Box<TerminalSession>),
    /// A session has other settings, or another name.
    Changed(Box<TerminalSession>),
    /// A session is in the bin.
    Deleted(ConversationId),
    /// The models there are.
    Models(Vec<Model>),
    /// What waits for a decision.
    Drafts(Vec<Proposal>),
    /// A draft was decided on.
    Decided(ChangeId, Decision),
    /// A decision on a draft was taken back.
    TakenBack(ChangeId, Decision),
    /// What was decided on a draft could not be kept.
    NotDecided(String),
    /// What is wrong with the operator's own tools.
    Problems(Vec<String>),
    /// Something that was asked for did not work.
    Failed(String),
}

/// Something is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Say this in a session, of which these messages are known to be the last.
    Say(ConversationId, String, Vec<MessageId>),
    /// Tell what was said in a session, unless one of these messages is still its last.
    Glance(ConversationId, Vec<MessageId>),
    /// Tell what a run tells after this event.
    Follow(RunId, u64),
    /// Stop a run.
    Stop(RunId),
    /// Open a session.
    Open(ConversationId),
    /// Begin a session like this one.
    Begin(Box<TerminalSession>, String),
    /// Tell what was said in a session up to this message.
    Earlier(ConversationId, MessageId),
    /// Tell which sessions there are.
    Sessions,
    /// Set something for a session.
    Change(ConversationId, Box<TerminalChanges>),
    /// Move a session into the bin.
    Delete(ConversationId),
    /// Tell which models there are.
    Models,
    /// Tell what waits for a decision in a session.
    Drafts(ConversationId),
    /// Accept a draft.
    Accept(ChangeId, Box<Approval>),
    /// Reject a draft.
    Reject(ChangeId, String),
    /// Take a decision on a draft back.
    TakeBack(ChangeId, Decision),
    /// Put a text where it can be pasted from.
    Copy(String),
    /// Hear the mouse, or leave it to the terminal.
    Mouse(Mouse),
    /// Draw everything anew.
    Redraw,
    /// Give the terminal back to the shell until that brings us back.
    Suspend,
    /// Leave, and end like this.
    Leave(Exit),
}

/// Who hears the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mouse {
    /// The wheel scrolls.
    Ours,
    /// The terminal, to select text by dragging.
    Theirs,
}
