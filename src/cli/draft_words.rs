//! What one should know of a draft before deciding on it, in the sentences that the screen and the lines share.
//!
//! The one rule: a draft is [`shown`] before anything cleans it, because cleaning takes out what cannot be seen.

use crate::domain::{
    change::Conflict,
    proposal::Proposal,
    visible::{has_hidden, visible},
};

/// What is told of a draft in which something was written out.
pub const HIDDEN: &str = "This draft has characters that cannot be seen, or that turn others around. They are written out as ⟦U+…⟧.";

/// A draft as people judge it, with what cannot be seen written out, and whether there was any.
pub fn shown(draft: &Proposal) -> (Proposal, bool) {
    let mut draft = draft.clone();
    let mut hidden = false;
    for text in texts(&mut draft) {
        hidden |= has_hidden(text);
        *text = visible(std::mem::take(text));
    }
    (draft, hidden)
}

/// All that others wrote of what is shown.
fn texts(draft: &mut Proposal) -> impl Iterator<Item = &mut String> {
    let Proposal { title, summary, reason, proposed_by, untrusted, conflicts, diff, .. } = draft;
    let conflicts = conflicts.iter_mut().flat_map(|conflict| {
        let Conflict { field, yours, theirs, .. } = conflict;
        [field, yours, theirs]
    });
    let fields = diff.iter_mut().flat_map(|field| {
        let segments = field.segments.iter_mut().map(|segment| &mut segment.text);
        std::iter::once(&mut field.label).chain(segments)
    });
    [title, summary, reason, &mut proposed_by.name]
        .into_iter()
        .chain(untrusted.iter_mut().map(|source| &mut source.title))
        .chain(conflicts)
        .chain(fields)
}

/// Who made it.
pub fn author(draft: &Proposal) -> String {
    format!("by {}", draft.proposed_by.name)
}

/// Why, if its author said so.
pub fn reason(draft: &Proposal) -> Option<String> {
    let reason = draft.reason.trim();
    (!reason.is_empty()).then(|| format!("because: {reason}"))
}

/// What its author had read that nobody here wrote.
pub fn sources(draft: &Proposal) -> Option<String> {
    let titles: Vec<&str> = draft.untrusted.iter().map(|source| source.title.as_str()).collect();
    let more = match draft.untrusted_more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let told = format!("Written after reading from elsewhere: {}{more}.", titles.join(", "));
    (!titles.is_empty()).then_some(told)
}

/// That a field does not fit any more.
pub fn in_conflict(conflict: &Conflict) -> String {
    format!("{}: it was changed meanwhile, in the same place.", conflict.label())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tui::scene;

    #[test]
    fn nothing_of_a_draft_hides_from_whoever_decides_on_it() {
        let plain = scene::draft("one");
        let mut odd = scene::odd_draft("one");

        assert_eq!(shown(&plain), (plain.clone(), false));
        let (seen, hidden) = shown(&odd);

        assert!(hidden);
        assert!(!texts(&mut seen.clone()).any(|text| has_hidden(text)));
        assert_eq!(author(&seen), "by Ann⟦U+E0041⟧");
        assert_eq!(reason(&seen).unwrap(), "because: Clearer⟦U+202E⟧");
        assert_eq!(
            sources(&seen).unwrap(),
            "Written after reading from elsewhere: A page⟦U+200B⟧ and 2 more."
        );
        assert!(texts(&mut odd).any(|text| text.contains('\u{202e}')), "the draft is as it was");
    }
}
