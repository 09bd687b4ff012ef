//! Drafts in a line: what waits, accepting some of it, rejecting it.

use std::collections::BTreeMap;

use super::{Talk, follow::notice};
use crate::{
    cli::{
        draft_words,
        exit::Failure,
        stage::{Decision, NOTHING_DECIDED},
    },
    domain::{
        diff::SegmentKind,
        error::ApiError,
        id::ChangeId,
        proposal::{Approval, Proposal, ProposedField},
        visible::visible,
    },
};

/// Says that something waits, if something does, and names what was not shown yet.
pub async fn remind(talk: &mut Talk) -> Result<(), Failure> {
    let drafts = talk.interrupts.answer(talk.stage.drafts(&talk.session.id)).await?;
    match drafts.len() {
        0 => {}
        1 => notice("A draft waits for your decision: /drafts shows it."),
        many => notice(&format!("{many} drafts wait for your decision: /drafts shows them.")),
    }
    let ids = |drafts: &[Proposal]| -> Vec<ChangeId> {
        drafts.iter().map(|draft| draft.id.clone()).collect()
    };
    if ids(&drafts) != ids(&talk.drafts) {
        for (place, draft) in (1..).zip(&drafts) {
            notice(&headline(place, draft));
        }
        talk.drafts = drafts;
    }
    Ok(())
}

/// Shows what waits.
pub async fn show(talk: &mut Talk) -> Result<(), Failure> {
    talk.drafts = talk.interrupts.answer(talk.stage.drafts(&talk.session.id)).await?;
    if talk.drafts.is_empty() {
        notice("Nothing waits for your decision.");
    }
    for (place, draft) in (1..).zip(&talk.drafts) {
        notice(&headline(place, draft));
        told(draft).iter().for_each(|line| notice(&format!("   {line}")));
    }
    Ok(())
}

fn headline(place: usize, draft: &Proposal) -> String {
    let (draft, _) = draft_words::shown(draft);
    format!("{place}. {} ({})", draft.summary, draft.title)
}

/// What one should know of a draft, and what it would change.
fn told(draft: &Proposal) -> Vec<String> {
    let (draft, hidden) = draft_words::shown(draft);
    let mut out = Vec::new();
    out.extend(hidden.then(|| draft_words::HIDDEN.to_owned()));
    out.push(draft_words::author(&draft));
    out.extend(draft_words::reason(&draft));
    out.extend(draft_words::sources(&draft));
    for conflict in &draft.conflicts {
        out.push(draft_words::in_conflict(conflict));
        out.push(format!("now: {}", conflict.theirs));
        out.push(format!("draft: {}", conflict.yours));
    }
    out.extend(draft.diff.iter().map(|field| format!("{}: {}", named(field), marked(field))));
    out
}

/// What a field is called here, as one word that can be typed again.
fn named(field: &ProposedField) -> String {
    field.label.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-")
}

/// A field with what would go and what would come, each change with its number.
fn marked(field: &ProposedField) -> String {
    let mut out = String::new();
    let mut last = None;
    for segment in &field.segments {
        if let Some(hunk) = segment.hunk.filter(|hunk| Some(*hunk) != last) {
            out.push_str(&format!("⟨{hunk}⟩"));
        }
        last = segment.hunk.or(last);
        match segment.kind {
            SegmentKind::Same => out.push_str(&segment.text),
            SegmentKind::Folded => out.push_str(&format!("… {} …", segment.text)),
            SegmentKind::Removed => out.push_str(&format!("[-{}-]", segment.text)),
            SegmentKind::Added => out.push_str(&format!("{{+{}+}}", segment.text)),
        }
    }
    out
}

/// Accepts a draft: `N`, or `N HUNKS`.
pub async fn accept(talk: &mut Talk, rest: &str) -> Result<(), Failure> {
    let (place, hunks) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let draft = chosen(&talk.drafts, place)?;
    let approval = match hunks.trim() {
        "" => Approval::default(),
        hunks => some_of(draft, hunks)?,
    };
    talk.interrupts.answer(talk.stage.accept(&draft.id, approval)).await?;
    notice(&format!("Accepted: {}", visible(draft.summary.clone())));
    talk.decided.push((draft.id.clone(), Decision::Accepted));
    Ok(())
}

/// Rejects a draft: `N`, or `N REASON`.
pub async fn reject(talk: &mut Talk, rest: &str) -> Result<(), Failure> {
    let (place, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let draft = chosen(&talk.drafts, place)?;
    talk.interrupts.answer(talk.stage.reject(&draft.id, reason.trim())).await?;
    notice(&format!("Rejected: {}", visible(draft.summary.clone())));
    talk.decided.push((draft.id.clone(), Decision::Rejected));
    Ok(())
}

/// Takes the last decision back, and the next time the one before it.
pub async fn take_back(talk: &mut Talk) -> Result<(), Failure> {
    let Some((id, made)) = talk.decided.last().cloned() else {
        return Err(Failure::usage(NOTHING_DECIDED));
    };
    talk.interrupts.answer(talk.stage.take_back(&id, made)).await?;
    talk.decided.pop();
    notice(made.taken_back());
    Ok(())
}

/// The draft that was last shown under a number: another one may stand there by now.
fn chosen<'shown>(drafts: &'shown [Proposal], place: &str) -> Result<&'shown Proposal, Failure> {
    let number: usize = if place.is_empty() { 1 } else { place.parse().unwrap_or_default() };
    let draft = number.checked_sub(1).and_then(|at| drafts.get(at));
    draft.ok_or_else(|| Failure::usage("No draft was shown under this number. /drafts shows them."))
}

/// Some changes of a draft. With several fields they are numbered within each: `name:0 system-prompt:1,2`.
fn some_of(draft: &Proposal, text: &str) -> Result<Approval, Failure> {
    if draft.revision.is_none() {
        let rule = "Something new is accepted whole.";
        return Err(ApiError::invalid("hunks", rule).into());
    }
    let only = match draft.diff.as_slice() {
        [field] => Some(field.field.clone()),
        _ => None,
    };
    let mut hunks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for word in text.split_whitespace() {
        let (field, numbers) = match (word.split_once(':'), &only) {
            (Some((name, numbers)), _) => {
                let is_meant = |shown: &&ProposedField| {
                    [named(shown), shown.field.to_lowercase()].contains(&name.to_lowercase())
                };
                let known = draft.diff.iter().find(is_meant);
                (known.map_or(name, |known| known.field.as_str()).to_owned(), numbers)
            }
            (None, Some(only)) => (only.clone(), word),
            (None, None) => {
                let names: Vec<String> = draft.diff.iter().map(named).collect();
                let told = format!("Say of which field: {}:0,1.", names.join(":0,1 or "));
                return Err(Failure::usage(told));
            }
        };
        let numbers: Result<Vec<usize>, _> = numbers.split(',').map(str::parse).collect();
        let numbers =
            numbers.map_err(|_| Failure::usage("Changes are named by their numbers: 0,2."))?;
        let shown = draft.diff.iter().find(|shown| shown.field == field);
        let shown = shown.map_or(0, ProposedField::choices);
        if let Some(odd) = numbers.iter().find(|number| **number >= shown) {
            let told = format!("The draft has no change {odd} of {field}. /drafts shows them.");
            return Err(Failure::usage(told));
        }
        hunks.entry(field).or_default().extend(numbers);
    }
    Ok(Approval { revision: draft.revision, hunks: Some(hunks), ..Approval::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tui::scene;

    #[test]
    fn all_that_one_should_know_of_a_draft_is_told_and_nothing_of_it_hides() {
        assert_eq!(headline(1, &scene::odd_draft("one")), "1. Shorten⟦U+202E⟧ it (Ann)");
        assert_eq!(
            told(&scene::odd_draft("one")),
            [
                draft_words::HIDDEN,
                "by Ann⟦U+E0041⟧",
                "because: Clearer⟦U+202E⟧",
                "Written after reading from elsewhere: A page⟦U+200B⟧ and 2 more.",
                "system prompt: it was changed meanwhile, in the same place.",
                "now: Be long⟦U+202E⟧.",
                "draft: Be short.",
                "system-prompt: Be ⟨0⟩[-brief-]{+short⟦U+E0041⟧+}.",
            ]
        );
        assert!(!told(&scene::draft("one")).contains(&draft_words::HIDDEN.to_owned()));
    }
}
