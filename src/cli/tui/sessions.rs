//! The list of sessions: go to one, begin one, say what one is called, move one into the bin.

use crossterm::event::{KeyCode, KeyEvent};

use crate::domain::{
    id::ConversationId,
    terminal::{TerminalChanges, TerminalSession, short},
};

use super::{
    clean::clean_line,
    event::Effect,
    input::{Edit, Input},
    list::{List, Listed},
    typing::{edit, letter},
};

impl Listed for TerminalSession {
    fn words(&self) -> String {
        format!("{} {} {}", self.id, self.description, self.settings.model)
    }

    fn is_called(&self, name: &str) -> bool {
        self.description == name
    }
}

/// What is done in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// A session is looked for.
    Looking,
    /// Words are written, to see fewer.
    Filtering,
    /// This session is given a name. The list may be another one by the time that it has it.
    Describing(ConversationId, Input),
    /// This session goes into the bin, if that is meant.
    Deleting(ConversationId),
}

/// The list of sessions.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// The sessions; not yet there without them.
    pub list: Option<List<TerminalSession>>,
    /// What is done.
    pub doing: Doing,
}

/// What comes of a key in a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Came {
    /// Something is to be done, and the list stays.
    Stay(Vec<Effect>),
    /// The list closes, and something is to be done.
    Close(Vec<Effect>),
    /// Another session is to be begun.
    Begin,
    /// The last decision on a draft is to be taken back.
    TakeBack,
}

impl Sessions {
    /// A list that is being loaded.
    pub fn loading() -> Self {
        Self { list: None, doing: Doing::Looking }
    }

    /// The sessions are here.
    pub fn fill(&mut self, sessions: Vec<TerminalSession>, current: &ConversationId) {
        match &mut self.list {
            Some(list) => list.fill(sessions, |one, other| one.id == other.id),
            None => self.list = Some(List::new(sessions, |session| session.id == *current)),
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Came {
        let stay = Came::Stay(Vec::new());
        let Some(list) = &mut self.list else {
            return if key.code == KeyCode::Esc { Came::Close(Vec::new()) } else { stay };
        };
        match &mut self.doing {
            Doing::Looking => match (key.code, letter(key)) {
                (KeyCode::Esc, _) | (_, Some('q')) => return Came::Close(Vec::new()),
                (KeyCode::Down, _) | (_, Some('j')) => list.go(1),
                (KeyCode::Up, _) | (_, Some('k')) => list.go(-1),
                (KeyCode::PageDown, _) => list.go(10),
                (KeyCode::PageUp, _) => list.go(-10),
                (KeyCode::Home, _) | (_, Some('g')) => list.go(isize::MIN),
                (KeyCode::End, _) | (_, Some('G')) => list.go(isize::MAX),
                (_, Some('/')) => self.doing = Doing::Filtering,
                (_, Some('n')) => return Came::Begin,
                (_, Some('e')) => {
                    if let Some(session) = list.chosen() {
                        let now = Input::with(&session.description);
                        self.doing = Doing::Describing(session.id.clone(), now);
                    }
                }
                (_, Some('d')) => {
                    if let Some(session) = list.chosen() {
                        self.doing = Doing::Deleting(session.id.clone());
                    }
                }
                (KeyCode::Enter, _) => {
                    let chosen = list.chosen().map(|session| Effect::Open(session.id.clone()));
                    return Came::Close(chosen.into_iter().collect());
                }
                _ => {}
            },
            Doing::Filtering => match key.code {
                KeyCode::Esc => {
                    list.filter.clear();
                    self.doing = Doing::Looking;
                }
                KeyCode::Enter => self.doing = Doing::Looking,
                KeyCode::Down => list.go(1),
                KeyCode::Up => list.go(-1),
                _ => edit(key).into_iter().for_each(|edit| list.narrow(edit)),
            },
            Doing::Describing(id, input) => match key.code {
                KeyCode::Esc => self.doing = Doing::Looking,
                KeyCode::Enter => {
                    let description = Some(input.text().trim().to_owned());
                    let changes = TerminalChanges { description, ..TerminalChanges::default() };
                    let id = id.clone();
                    self.doing = Doing::Looking;
                    return Came::Stay(vec![Effect::Change(id, Box::new(changes))]);
                }
                _ => edit(key).into_iter().for_each(|edit| input.edit(edit)),
            },
            Doing::Deleting(id) => {
                let id = id.clone();
                self.doing = Doing::Looking;
                if letter(key) == Some('y') {
                    return Came::Stay(vec![Effect::Delete(id)]);
                }
            }
        }
        stay
    }

    /// Takes a pasted text, where something is being written.
    pub fn paste(&mut self, text: &str) {
        let written = Edit::Insert(clean_line(text));
        match (&mut self.doing, &mut self.list) {
            (Doing::Filtering, Some(list)) => list.narrow(written),
            (Doing::Describing(_, input), _) => input.edit(written),
            (Doing::Filtering | Doing::Looking | Doing::Deleting(_), _) => {}
        }
    }

    /// What the bottom line says.
    pub fn hint(&self) -> String {
        match &self.doing {
            Doing::Looking => "Enter opens · n new · e describe · d delete · / filter · Esc".into(),
            Doing::Filtering => "Type to see fewer · Enter · Esc".into(),
            Doing::Describing(..) => "Enter keeps the description · Esc".into(),
            Doing::Deleting(id) => {
                format!("Move {} into the bin? y moves it, any other key does not", short(id))
            }
        }
    }
}
