//! The list of models: whoever is chosen answers from now on.

use crossterm::event::{KeyCode, KeyEvent};

use crate::domain::{
    id::ConversationId,
    model::Model,
    terminal::{PERSONA, TerminalChanges},
};

use super::{
    event::Effect,
    list::{List, Listed},
    sessions::Came,
    typing::edit,
};

impl Listed for Model {
    fn words(&self) -> String {
        format!("{} {} {}", self.id, self.label, self.service)
    }

    fn is_called(&self, name: &str) -> bool {
        self.id == name
    }
}

/// The list of models.
#[derive(Clone, Debug)]
pub struct Models {
    /// The models; not yet there without them.
    pub list: Option<List<Model>>,
}

impl Models {
    /// A list that is being loaded.
    pub fn loading() -> Self {
        Self { list: None }
    }

    /// The models are here.
    pub fn fill(&mut self, models: Vec<Model>, current: &str) {
        self.list = Some(List::new(models, |model| model.id == current));
    }

    /// The model string that Enter takes: what is written when it names a persona or nothing in the list.
    pub fn chosen(&self) -> Option<String> {
        let list = self.list.as_ref()?;
        let written = list.filter.text().trim();
        match list.chosen() {
            Some(model) if !written.starts_with(PERSONA) => Some(model.id.clone()),
            _ => Some(written.to_owned()).filter(|written| !written.is_empty()),
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent, session: &ConversationId) -> Came {
        if key.code == KeyCode::Esc {
            return Came::Close(Vec::new());
        }
        if key.code == KeyCode::Enter {
            let Some(model) = self.chosen() else { return Came::Stay(Vec::new()) };
            let changes = TerminalChanges { model: Some(model), ..TerminalChanges::default() };
            return Came::Close(vec![Effect::Change(session.clone(), Box::new(changes))]);
        }
        if let Some(list) = &mut self.list {
            match key.code {
                KeyCode::Down => list.go(1),
                KeyCode::Up => list.go(-1),
                KeyCode::PageDown => list.go(10),
                KeyCode::PageUp => list.go(-10),
                _ => edit(key).into_iter().for_each(|edit| list.narrow(edit)),
            }
        }
        Came::Stay(Vec::new())
    }
}
