//! Drafts, one after another: accept one whole or in part, reject it with a reason, or put it in one's
//! own words.

use std::collections::{BTreeMap, BTreeSet};

use crossterm::event::{KeyCode, KeyEvent};
use serde_json::Value;

use crate::domain::{
    change::Fields,
    id::ChangeId,
    proposal::{Approval, Proposal},
};

use super::{
    event::Effect,
    input::{Edit, Input},
    sessions::Came,
    typing::{control, edit, letter},
};

/// What is done with the draft that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It is read.
    Looking,
    /// The reason is written for which it is rejected.
    Rejecting(Input),
    /// One of its fields is written otherwise.
    Wording(Input),
    /// The decision is being kept. What was done before is done again when it cannot be.
    Deciding(Box<Doing>),
}

impl Doing {
    /// What is being written.
    fn written(&self) -> Option<&Input> {
        match self {
            Self::Rejecting(input) | Self::Wording(input) => Some(input),
            Self::Deciding(before) => before.written(),
            Self::Looking => None,
        }
    }
}

/// A text that was begun and left.
#[derive(Clone, Debug)]
struct Begun {
    draft: ChangeId,
    /// The field that it is for; a reason has none.
    field: Option<usize>,
    input: Input,
}

/// One change of a draft that can be accepted by itself: its field, and its number there.
pub type Hunk = (usize, usize);

/// The drafts that wait.
#[derive(Clone, Debug)]
pub struct Review {
    /// The drafts; not yet there without them.
    drafts: Option<Vec<Proposal>>,
    at: usize,
    /// The change with the cursor, counted through all fields.
    cursor: usize,
    left_out: BTreeSet<Hunk>,
    begun: Vec<Begun>,
    /// What is done.
    pub doing: Doing,
    /// How far the draft is scrolled from where the cursor is.
    pub scrolled: isize,
}

impl Review {
    /// Drafts that are being loaded.
    pub fn loading() -> Self {
        Self {
            drafts: None,
            at: 0,
            cursor: 0,
            left_out: BTreeSet::new(),
            begun: Vec::new(),
            doing: Doing::Looking,
            scrolled: 0,
        }
    }

    /// The drafts are here. The one that is shown stays, if it still waits as it was; otherwise what was
    /// being written about it is given back.
    pub fn fill(&mut self, drafts: Vec<Proposal>) -> Vec<String> {
        let mut lost = Vec::new();
        let shown = self.draft().map(|draft| (draft.id.clone(), draft.revision));
        let same = |draft: &Proposal| Some((draft.id.clone(), draft.revision)) == shown;
        match drafts.iter().position(same) {
            Some(at) => self.at = at,
            None => {
                let text = self.doing.written().map(|input| input.text().trim().to_owned());
                lost.extend(text.filter(|text| !text.is_empty()));
                self.turn_to(self.at.min(drafts.len().saturating_sub(1)));
            }
        }
        self.drafts = Some(drafts);
        lost
    }

    /// A draft does not wait any more.
    pub fn decided(&mut self, id: &ChangeId) {
        let at = self.at;
        self.begun.retain(|begun| begun.draft != *id);
        if let Some(drafts) = &mut self.drafts {
            drafts.retain(|draft| draft.id != *id);
            let last = drafts.len().saturating_sub(1);
            self.turn_to(at.min(last));
        }
    }

    /// The decision was not kept: what was written is still there.
    pub fn try_again(&mut self) {
        self.doing = match std::mem::replace(&mut self.doing, Doing::Looking) {
            Doing::Deciding(before) => *before,
            other => other,
        };
    }

    /// All that was written and not kept.
    pub fn written(&self) -> Vec<String> {
        let begun = self.begun.iter().map(|begun| &begun.input);
        let texts = begun.chain(self.doing.written()).map(|input| input.text().trim().to_owned());
        texts.filter(|text| !text.is_empty()).collect()
    }

    /// Leaves what is being written; it is there when it is begun again.
    fn put_aside(&mut self) {
        let (field, input) = match std::mem::replace(&mut self.doing, Doing::Looking) {
            Doing::Rejecting(input) => (None, input),
            Doing::Wording(input) => (Some(self.field()), input),
            Doing::Looking | Doing::Deciding(_) => return,
        };
        let Some(draft) = self.draft() else { return };
        let after = field.and_then(|field| draft.diff.get(field));
        let after = after.map(|field| Input::with(&field.after)).unwrap_or_default();
        let id = draft.id.clone();
        if input.text() != after.text() {
            self.begun.push(Begun { draft: id, field, input });
        }
    }

    /// What was begun for a field, or as a reason.
    fn take_up(&mut self, field: Option<usize>) -> Option<Input> {
        let id = &self.draft()?.id;
        let at = self.begun.iter().position(|one| one.draft == *id && one.field == field)?;
        Some(self.begun.remove(at).input)
    }

    /// The field with the cursor.
    fn field(&self) -> usize {
        self.cursor().unwrap_or_default().0
    }

    fn begin_rejecting(&mut self) {
        self.doing = Doing::Rejecting(self.take_up(None).unwrap_or_default());
    }

    fn turn_to(&mut self, at: usize) {
        (self.at, self.cursor, self.scrolled) = (at, 0, 0);
        self.left_out.clear();
        self.doing = Doing::Looking;
    }

    /// The draft that is shown.
    pub fn draft(&self) -> Option<&Proposal> {
        self.drafts.as_ref()?.get(self.at)
    }

    /// Its place and how many there are; nothing while they are being loaded.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.drafts.as_ref().map(|drafts| (self.at, drafts.len()))
    }

    /// The changes of the draft that can be accepted by themselves.
    pub fn hunks(&self) -> Vec<Hunk> {
        let fields = self.draft().map(|draft| draft.diff.as_slice()).unwrap_or_default();
        let numbers = |(field, diff): (usize, &crate::domain::proposal::ProposedField)| {
            (0..diff.choices()).map(move |number| (field, number))
        };
        fields.iter().enumerate().flat_map(numbers).collect()
    }

    /// The change with the cursor.
    pub fn cursor(&self) -> Option<Hunk> {
        self.hunks().get(self.cursor).copied()
    }

    /// Whether a change would be accepted.
    pub fn is_chosen(&self, hunk: Hunk) -> bool {
        !self.left_out.contains(&hunk)
    }

    /// Whether changes can be accepted one by one.
    pub fn can_choose(&self) -> bool {
        self.hunks().len() > 1 && self.draft().is_some_and(|draft| draft.revision.is_some())
    }

    /// Takes a pasted text.
    pub fn paste(&mut self, text: String) {
        match &mut self.doing {
            Doing::Rejecting(input) | Doing::Wording(input) => input.edit(Edit::Insert(text)),
            Doing::Looking | Doing::Deciding(_) => {}
        }
    }

    /// Takes a key, in a window with so many columns.
    pub fn key(&mut self, key: KeyEvent, columns: usize) -> Came {
        let stay = Came::Stay(Vec::new());
        match &mut self.doing {
            Doing::Looking => return self.look(key),
            Doing::Deciding(_) if key.code == KeyCode::Esc => return Came::Close(Vec::new()),
            Doing::Deciding(_) => {}
            Doing::Rejecting(input) => match key.code {
                KeyCode::Esc => self.put_aside(),
                KeyCode::Enter => {
                    let reason = input.text().trim().to_owned();
                    return self.decide(|draft| Effect::Reject(draft.id.clone(), reason));
                }
                _ => edit(key).into_iter().for_each(|edit| input.edit(edit)),
            },
            Doing::Wording(input) => match key.code {
                KeyCode::Esc => self.put_aside(),
                KeyCode::Up => input.up(columns),
                KeyCode::Down => input.down(columns),
                KeyCode::Enter => input.edit(Edit::Insert("\n".to_owned())),
                _ if control(key) == Some('s') => {
                    let words = input.text().to_owned();
                    return self.accept_words(words);
                }
                _ => edit(key).into_iter().for_each(|edit| input.edit(edit)),
            },
        }
        stay
    }

    fn look(&mut self, key: KeyEvent) -> Came {
        let count = self.drafts.as_ref().map_or(0, Vec::len);
        let changes = self.hunks().len();
        match (key.code, letter(key)) {
            (KeyCode::Esc, _) | (_, Some('q')) => return Came::Close(Vec::new()),
            (_, Some('j')) if self.at + 1 < count => self.turn_to(self.at + 1),
            (_, Some('k')) if self.at > 0 => self.turn_to(self.at - 1),
            (KeyCode::Tab | KeyCode::Right, _) | (_, Some('l')) if self.cursor + 1 < changes => {
                (self.cursor, self.scrolled) = (self.cursor + 1, 0);
            }
            (KeyCode::BackTab | KeyCode::Left, _) | (_, Some('h')) if self.cursor > 0 => {
                (self.cursor, self.scrolled) = (self.cursor - 1, 0);
            }
            (_, Some(' ')) if self.can_choose() => {
                if let Some(hunk) = self.cursor()
                    && !self.left_out.remove(&hunk)
                {
                    self.left_out.insert(hunk);
                }
            }
            (KeyCode::Down, _) => self.scrolled += 1,
            (KeyCode::Up, _) => self.scrolled -= 1,
            (KeyCode::PageDown, _) => self.scrolled += 10,
            (KeyCode::PageUp, _) => self.scrolled -= 10,
            (_, Some('a')) => return self.accept(),
            (_, Some('u')) => return Came::TakeBack,
            (_, Some('r')) if count > 0 => self.begin_rejecting(),
            (_, Some('e')) => {
                let field = self.field();
                let begun = self.take_up(Some(field));
                let after = self.draft().and_then(|draft| draft.diff.get(field));
                if let Some(words) = begun.or_else(|| after.map(|field| Input::with(&field.after)))
                {
                    self.doing = Doing::Wording(words);
                }
            }
            _ => {}
        }
        Came::Stay(Vec::new())
    }

    /// Accepts what is chosen: all of it, or some changes.
    fn accept(&mut self) -> Came {
        if self.left_out.is_empty() {
            return self.decide(|draft| Effect::Accept(draft.id.clone(), Box::default()));
        }
        let chosen: Vec<Hunk> =
            self.hunks().into_iter().filter(|hunk| self.is_chosen(*hunk)).collect();
        if chosen.is_empty() {
            // Accepting nothing of a draft is rejecting it.
            self.begin_rejecting();
            return Came::Stay(Vec::new());
        }
        self.decide(|draft| {
            let mut hunks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (field, number) in chosen {
                if let Some(field) = draft.diff.get(field) {
                    hunks.entry(field.field.clone()).or_default().push(number);
                }
            }
            let approval =
                Approval { revision: draft.revision, hunks: Some(hunks), patch: Fields::new() };
            Effect::Accept(draft.id.clone(), Box::new(approval))
        })
    }

    /// Accepts the draft with one field in the person's words.
    fn accept_words(&mut self, words: String) -> Came {
        let field = self.field();
        self.decide(|draft| {
            let named = draft.diff.get(field).map(|field| field.field.clone());
            let patch = named.map(|field| (field, Value::String(words))).into_iter().collect();
            let approval = Approval { revision: draft.revision, hunks: None, patch };
            Effect::Accept(draft.id.clone(), Box::new(approval))
        })
    }

    fn decide(&mut self, effect: impl FnOnce(&Proposal) -> Effect) -> Came {
        let Some(effect) = self.draft().map(effect) else { return Came::Stay(Vec::new()) };
        let before = std::mem::replace(&mut self.doing, Doing::Looking);
        self.doing = Doing::Deciding(Box::new(before));
        Came::Stay(vec![effect])
    }

    /// What the bottom line says.
    pub fn hint(&self) -> &'static str {
        match &self.doing {
            Doing::Looking if self.draft().is_none() => "u undo · Esc closes",
            Doing::Looking if self.can_choose() => {
                "a accept · r reject · e edit · Space choose · h l change · j k draft · u undo · Esc"
            }
            Doing::Looking => "a accept · r reject · e edit · j k draft · u undo · Esc",
            Doing::Rejecting(_) => "Why? Enter rejects, also without a reason · Esc puts it aside",
            Doing::Wording(_) => "Ctrl-S accepts it in your words · Esc puts it aside",
            Doing::Deciding(_) => "One moment…",
        }
    }
}
