//! A text that is being edited while it is being saved, and maybe edited elsewhere.
//!
//! What the person typed is never thrown away: when the server's text and theirs meet, they are
//! merged, and where they cannot be merged the person's text stays in the form.

use std::collections::BTreeMap;

use crate::domain::{
    change::Conflict,
    error::ApiError,
    merge::{Overlap, merge},
    version::Revision,
};

/// What the person is told when a change from elsewhere and their text became one.
pub const MERGED: &str = "A change from elsewhere was merged into your text.";

/// Where a place in a text is once another text stands there, in units of either.
pub fn moved(before: &[u16], after: &[u16], place: u32) -> u32 {
    let same = |(one, other): &(&u16, &u16)| one == other;
    let first = before.iter().zip(after).take_while(same).count();
    let (old, new) = (&before[first..], &after[first..]);
    let last = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let place = place as usize;
    let moved = match before.len().saturating_sub(last) {
        _ if place <= first => place,
        changed if place >= changed => after.len() - before.len().saturating_sub(place),
        // What stood around it is another text now.
        _ => place.min(after.len() - last),
    };
    u32::try_from(moved).unwrap_or_default()
}

/// The texts of a form, by field name.
pub type Texts = BTreeMap<&'static str, String>;

/// Where saving stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is on its way.
    #[default]
    Resting,
    /// These fields are on their way.
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
    /// How the person settled a conflict: this field is written over that revision, before the rest.
    decided: Option<(Revision, &'static str)>,
}

impl Draft {
    /// A form that shows what is saved.
    pub fn new(revision: Revision, saved: Texts) -> Self {
        Self {
            revision,
            typed: saved.clone(),
            saved,
            phase: Phase::Resting,
            merged: false,
            decided: None,
        }
    }

    /// The text of a field.
    pub fn text(&self, field: &str) -> String {
        self.typed.get(field).cloned().unwrap_or_default()
    }

    /// Whether there is something to keep.
    pub fn is_dirty(&self) -> bool {
        self.decided.is_some() || self.typed != self.saved
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

    /// Begins to save: what differs, and the revision it was written against. Nothing while something
    /// is on its way, waits for a decision, or does not differ.
    pub fn send(&mut self) -> Option<(Revision, Texts)> {
        if matches!(self.phase, Phase::Sending(_) | Phase::Conflicting(_)) {
            return None;
        }
        let (revision, texts) = match self.decided {
            Some((revision, field)) => (revision, Texts::from([(field, self.text(field))])),
            None => (self.revision, self.changed()),
        };
        if texts.is_empty() {
            return None;
        }
        self.phase = Phase::Sending(texts.clone());
        Some((revision, texts))
    }

    /// The fields that differ from what is saved.
    pub fn changed(&self) -> Texts {
        let differs =
            |(field, text): &(&&'static str, &String)| self.saved.get(*field) != Some(*text);
        let changed = self.typed.iter().filter(differs);
        changed.map(|(field, text)| (*field, text.clone())).collect()
    }

    /// The server says what it has now, after a save or because it changed elsewhere. What is typed
    /// meanwhile is merged in, field by field; where that cannot be done the person is asked.
    pub fn kept(&mut self, revision: Revision, theirs: Texts) {
        let sent = match std::mem::take(&mut self.phase) {
            Phase::Sending(sent) => sent,
            Phase::Resting | Phase::Failed(_) | Phase::Conflicting(_) => Texts::new(),
        };
        self.decided = None;
        self.merged = false;
        for (field, theirs) in &theirs {
            // Both sides started from what was sent or, where nothing was, from what was saved.
            let base =
                sent.get(field).or_else(|| self.saved.get(field)).cloned().unwrap_or_default();
            self.merged |= base != *theirs;
            let typed = self.text(field);
            match merge(&base, &typed, theirs) {
                Ok(text) => drop(self.typed.insert(field, text)),
                Err(Overlap) => {
                    self.phase = Phase::Conflicting(Conflict {
                        field: (*field).into(),
                        yours: typed,
                        theirs: theirs.clone(),
                        base,
                        revision,
                    });
                }
            }
        }
        self.revision = revision;
        self.saved = theirs;
    }

    /// Whether a newer revision is there, and nothing hinders to meet it now.
    pub fn is_behind(&self, newest: Revision) -> bool {
        newest > self.revision && matches!(self.phase, Phase::Resting | Phase::Failed(_))
    }

    /// What was changed elsewhere appears; the person's text wins where they are typing. It counts as
    /// merged only when they were. Says whether it was merged just now.
    pub fn met(&mut self, revision: Revision, theirs: Texts) -> bool {
        if !self.is_behind(revision) {
            return false;
        }
        let typing = self.is_dirty();
        self.kept(revision, theirs);
        self.merged &= typing;
        self.merged && matches!(self.phase, Phase::Resting)
    }

    /// The server did not keep it.
    pub fn refused(&mut self, error: ApiError) {
        self.phase = match error {
            ApiError::Conflict(conflict) => Phase::Conflicting(*conflict),
            error => Phase::Failed(error),
        };
    }

    /// The person decided how the passage shall read. It is written over what is there; the other
    /// fields keep the revision that they were written against.
    pub fn decide(&mut self, field: &'static str, text: String) {
        if let Phase::Conflicting(conflict) = std::mem::take(&mut self.phase) {
            self.decided = Some((conflict.revision, field));
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
    fn a_place_in_a_text_moves_with_what_stands_around_it() {
        let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
        let moved = |before: &str, after: &str, place: u32| {
            super::moved(&units(before), &units(after), place)
        };

        assert_eq!(moved("one three", "one three four", 4), 4, "it was written behind it");
        assert_eq!(moved("one three", "zero one three", 4), 9, "it was written before it");
        assert_eq!(moved("zero one three", "one three", 9), 4, "it was taken away before it");
        assert_eq!(moved("🙂 one", "🙂🙂 one", 3), 5, "letters may be two units");
        assert_eq!(moved("aaa", "aaaa", 3), 3);
        assert_eq!(moved("aaaa", "aaa", 4), 3);
        assert_eq!(moved("one two three", "one 2 three", 6), 5, "its own word is gone");
        assert_eq!(moved("one", "", 2), 0);
        assert_eq!(moved("", "one", 0), 0);
        assert_eq!(moved("one", "one", 99), 3, "there is no such place");
    }

    #[test]
    fn only_what_differs_is_sent_and_only_once() {
        let mut draft = draft("one");
        assert_eq!(draft.send(), None);

        draft.type_in("prompt", "two".into());

        assert_eq!(draft.standing(), Standing::Unsaved);
        assert_eq!(draft.send(), Some((1, Texts::from([("prompt", "two".into())]))));
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
        assert_eq!(draft.send(), Some((1, Texts::from([("prompt", "two!".into())]))));
    }

    fn conflict(revision: Revision) -> ApiError {
        ApiError::Conflict(Box::new(Conflict {
            field: "prompt".into(),
            yours: "mine".into(),
            theirs: "theirs".into(),
            base: "one".into(),
            revision,
        }))
    }

    #[test]
    fn a_conflict_waits_for_the_person_and_their_word_is_sent_against_the_new_revision() {
        let mut draft = draft("one");
        draft.type_in("prompt", "mine".into());
        draft.send();

        draft.refused(conflict(7));

        assert_eq!(draft.standing(), Standing::Conflict);
        assert_eq!(draft.send(), None);
        draft.decide("prompt", "both".into());
        assert_eq!(draft.send(), Some((7, Texts::from([("prompt", "both".into())]))));
        draft.kept(8, texts("both"));
        assert_eq!(draft.standing(), Standing::Saved);
    }

    #[test]
    fn settling_one_field_does_not_write_another_over_what_was_changed_elsewhere() {
        let mut draft = draft("one");
        draft.type_in("prompt", "mine".into());
        draft.type_in("name", "Anna".into());
        draft.send();
        draft.refused(conflict(2));

        draft.decide("prompt", "mine".into());

        assert_eq!(draft.send(), Some((2, Texts::from([("prompt", "mine".into())]))));
        // Elsewhere the name was changed too: now that is asked, not overwritten.
        let theirs = Texts::from([("name", "Andrea".into()), ("prompt", "mine".into())]);
        draft.kept(3, theirs);
        assert_eq!(draft.standing(), Standing::Conflict);
        assert_eq!(draft.text("name"), "Anna");
    }

    #[test]
    fn taking_the_other_text_leaves_nothing_to_save() {
        let mut draft = draft("one");
        draft.type_in("prompt", "mine".into());
        draft.send();
        draft.refused(conflict(2));

        draft.decide("prompt", "theirs".into());

        draft.send();
        draft.kept(2, texts("theirs"));
        assert_eq!(draft.standing(), Standing::Saved);
    }

    #[test]
    fn a_change_from_elsewhere_appears_without_disturbing_what_is_typed() {
        let mut draft = draft("Be brief.\nBe kind.\n");
        draft.type_in("prompt", "Be very brief.\nBe kind.\n".into());

        let merged = draft.met(4, texts("Be brief.\nBe kind.\nAsk.\n"));

        assert!(merged);
        assert_eq!(draft.text("prompt"), "Be very brief.\nBe kind.\nAsk.\n");
        assert_eq!(draft.standing(), Standing::Unsaved);
        assert!(draft.merged);
    }

    #[test]
    fn what_is_older_or_comes_while_something_is_sent_is_not_taken_in() {
        let mut draft = draft("one");
        draft.type_in("prompt", "two".into());
        draft.send();

        assert!(!draft.met(3, texts("three")));
        assert_eq!((draft.text("prompt").as_str(), draft.revision), ("two", 1));

        draft.kept(2, texts("two"));
        assert!(draft.is_behind(3));
        assert!(!draft.met(3, texts("three")), "nobody was typing");
        assert_eq!((draft.text("prompt").as_str(), draft.merged), ("three", false));
        assert!(!draft.met(2, texts("two")));
        assert_eq!(draft.text("prompt"), "three");
    }
}
