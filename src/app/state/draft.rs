//! A text that is being edited while it is being saved, and maybe edited elsewhere.
//!
//! What the person typed is never thrown away: when the server's text and theirs meet, they are
//! merged, and where they cannot be merged the person's text stays in the form.

use std::collections::BTreeMap;

use crate::domain::{change::Conflict, error::ApiError, merge::merge, version::Revision};

/// The texts of a form, by field name.
pub type Texts = BTreeMap<&'static str, String>;

/// Where saving stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is on its way.
    #[default]
    Resting,
    /// These texts are on their way.
    Sending(Texts),
    /// The last try failed; typing or a retry tries again.
    Failed(ApiError),
    /// The same passage was changed elsewhere; the person decides.
    Conflicting(Conflict),
}

/// What the form shows about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All is kept.
    Saved,
    /// There is something to keep.
    Unsaved,
    /// It is on its way.
    Saving,
    /// It could not be kept.
    Failed(ApiError),
    /// A decision is needed.
    Conflict,
}

/// A form with what was saved, what is typed, and what is on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The revision that `saved` is.
    pub revision: Revision,
    /// What the server has.
    pub saved: Texts,
    /// What the person sees.
    pub typed: Texts,
    /// Where saving stands.
    pub phase: Phase,
    /// Whether the last save brought in text from elsewhere.
    pub merged: bool,
}

impl Draft {
    /// A form that shows what is saved.
    pub fn new(revision: Revision, saved: Texts) -> Self {
        Self { revision, typed: saved.clone(), saved, phase: Phase::Resting, merged: false }
    }

    /// The text of a field.
    pub fn text(&self, field: &str) -> String {
        self.typed.get(field).cloned().unwrap_or_default()
    }

    /// Whether there is something to keep.
    pub fn is_dirty(&self) -> bool {
        self.typed != self.saved
    }

    /// What the form shows about itself.
    pub fn standing(&self) -> Standing {
        match &self.phase {
            Phase::Conflicting(_) => Standing::Conflict,
            Phase::Failed(error) => Standing::Failed(error.clone()),
            Phase::Sending(_) => Standing::Saving,
            Phase::Resting if self.is_dirty() => Standing::Unsaved,
            Phase::Resting => Standing::Saved,
        }
    }

    /// The person typed.
    pub fn type_in(&mut self, field: &'static str, text: String) {
        self.typed.insert(field, text);
        self.merged = false;
        if matches!(self.phase, Phase::Failed(_)) {
            self.phase = Phase::Resting;
        }
    }

    /// Begins to save: the fields that differ, unless something is on its way or nothing differs.
    pub fn send(&mut self) -> Option<Texts> {
        if matches!(self.phase, Phase::Sending(_) | Phase::Conflicting(_)) || !self.is_dirty() {
            return None;
        }
        let changed = self
            .typed
            .iter()
            .filter(|(field, text)| self.saved.get(*field) != Some(*text))
            .map(|(field, text)| (*field, text.clone()))
            .collect();
        self.phase = Phase::Sending(self.typed.clone());
        Some(changed)
    }

    /// The server kept it, and says what it has now.
    pub fn kept(&mut self, revision: Revision, theirs: Texts) {
        let sent = match std::mem::take(&mut self.phase) {
            Phase::Sending(sent) => sent,
            Phase::Resting | Phase::Failed(_) | Phase::Conflicting(_) => self.saved.clone(),
        };
        self.merged = theirs.iter().any(|(field, text)| sent.get(field) != Some(text));
        for (field, theirs) in &theirs {
            let sent = sent.get(field).map_or("", String::as_str);
            let typed = self.text(field);
            // Where the two cannot be joined, the person's text stays and is saved next.
            let text = merge(sent, &typed, theirs).unwrap_or(typed);
            self.typed.insert(field, text);
        }
        self.revision = revision;
        self.saved = theirs;
    }

    /// The server did not keep it.
    pub fn refused(&mut self, error: ApiError) {
        self.phase = match error {
            ApiError::Conflict(conflict) => Phase::Conflicting(*conflict),
            error => Phase::Failed(error),
        };
    }

    /// The person decided how the passage shall read; the next save writes it over what is there.
    pub fn decide(&mut self, field: &'static str, text: String) {
        if let Phase::Conflicting(conflict) = std::mem::take(&mut self.phase) {
            self.revision = conflict.revision;
            self.saved.insert(field, conflict.theirs);
            self.typed.insert(field, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(prompt: &str) -> Texts {
        Texts::from([("name", "Ann".into()), ("prompt", prompt.into())])
    }

    fn draft(prompt: &str) -> Draft {
        Draft::new(1, texts(prompt))
    }

    #[test]
    fn only_what_differs_is_sent_and_only_once() {
        let mut draft = draft("one");
        assert_eq!(draft.send(), None);

        draft.type_in("prompt", "two".into());

        assert_eq!(draft.standing(), Standing::Unsaved);
        assert_eq!(draft.send(), Some(Texts::from([("prompt", "two".into())])));
        assert_eq!(draft.standing(), Standing::Saving);
        assert_eq!(draft.send(), None);
    }

    #[test]
    fn what_is_typed_while_saving_stays_and_is_saved_next() {
        let mut draft = draft("one");
        draft.type_in("prompt", "one two".into());
        draft.send();
        draft.type_in("prompt", "one two three".into());

        draft.kept(2, texts("one two"));

        assert_eq!(draft.text("prompt"), "one two three");
        assert_eq!(draft.standing(), Standing::Unsaved);
        assert!(!draft.merged);
    }

    #[test]
    fn text_from_elsewhere_is_merged_with_what_is_typed_meanwhile() {
        let mut draft = draft("Be brief.\nBe kind.\n");
        draft.type_in("prompt", "Be very brief.\nBe kind.\n".into());
        draft.send();
        draft.type_in("prompt", "Be very, very brief.\nBe kind.\n".into());

        draft.kept(3, texts("Be very brief.\nBe kind.\nAsk.\n"));

        assert_eq!(draft.text("prompt"), "Be very, very brief.\nBe kind.\nAsk.\n");
        assert!(draft.merged);
        assert_eq!(draft.revision, 3);
    }

    #[test]
    fn a_failed_save_keeps_the_text_and_typing_tries_again() {
        let mut draft = draft("one");
        draft.type_in("prompt", "two".into());
        draft.send();

        draft.refused(ApiError::Offline);

        assert_eq!(draft.standing(), Standing::Failed(ApiError::Offline));
        assert_eq!(draft.text("prompt"), "two");
        draft.type_in("prompt", "two!".into());
        assert_eq!(draft.send(), Some(Texts::from([("prompt", "two!".into())])));
    }

    #[test]
    fn a_conflict_waits_for_the_person_and_their_word_is_sent_against_the_new_revision() {
        let mut draft = draft("one");
        draft.type_in("prompt", "mine".into());
        draft.send();
        let conflict = Conflict {
            field: "prompt".into(),
            yours: "mine".into(),
            theirs: "theirs".into(),
            base: "one".into(),
            revision: 7,
        };

        draft.refused(ApiError::Conflict(Box::new(conflict)));

        assert_eq!(draft.standing(), Standing::Conflict);
        assert_eq!(draft.send(), None);
        draft.decide("prompt", "both".into());
        assert_eq!(draft.revision, 7);
        assert_eq!(draft.send(), Some(Texts::from([("prompt", "both".into())])));
    }

    #[test]
    fn taking_the_other_text_leaves_nothing_to_save() {
        let mut draft = draft("one");
        draft.type_in("prompt", "mine".into());
        draft.send();
        let conflict = Conflict {
            field: "prompt".into(),
            yours: "mine".into(),
            theirs: "theirs".into(),
            base: "one".into(),
            revision: 2,
        };
        draft.refused(ApiError::Conflict(Box::new(conflict)));

        draft.decide("prompt", "theirs".into());

        assert_eq!(draft.standing(), Standing::Saved);
    }
}
