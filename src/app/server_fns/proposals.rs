//! Deciding on drafts.

use std::collections::BTreeMap;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    change::{ChangeState, Outcome},
    error::ApiError,
    id::{ChangeId, PersonaId},
    list::Page,
    proposal::Proposal,
    version::Revision,
};

/// The drafts that stand so, the last first.
#[server(prefix = "/fn", endpoint = "list_drafts")]
pub async fn list_drafts(
    /// How they stand.
    state: ChangeState,
    /// Only those of this persona.
    #[server(default)]
    persona: Option<PersonaId>,
    /// Where to go on.
    #[server(default)]
    after: Option<ChangeId>,
) -> Result<Page<Proposal>, ApiError> {
    use crate::{domain::list::PAGE_SIZE, state::desk};

    desk()?.gate.proposals(state, persona.as_ref(), after.as_ref(), PAGE_SIZE).await
}

/// Accepts a draft: all of it, the marked changes, or the person's own words.
#[server(prefix = "/fn", endpoint = "approve_draft")]
pub async fn approve_draft(
    /// Which one.
    id: ChangeId,
    /// What the person saw.
    revision: Option<Revision>,
    /// `all`, `chosen` or `edited`.
    take: String,
    /// The marked changes, each as `field:number`.
    #[server(default)]
    hunks: Vec<String>,
    /// The person's own words, by field.
    #[server(default)]
    patch: BTreeMap<String, String>,
) -> Result<Outcome, ApiError> {
    use crate::{
        domain::{change::from_form, proposal::Approval},
        state::{desk, is_plain_form},
    };

    let approval = match take.as_str() {
        "all" => Approval::default(),
        "chosen" => {
            let mut chosen = BTreeMap::<String, Vec<usize>>::new();
            for (field, number) in hunks.iter().filter_map(|hunk| hunk.split_once(':')) {
                chosen.entry(field.into()).or_default().extend(number.parse::<usize>());
            }
            Approval { revision, hunks: Some(chosen), ..Approval::default() }
        }
        _ => Approval { revision, patch: from_form(patch), ..Approval::default() },
    };
    let gate = desk()?.gate;
    let accepted = gate.approve(&id, &approval).await;
    let is_refused = matches!(accepted, Err(ApiError::Invalid { .. }));
    // What the person wrote must not be lost in a redirect.
    if is_refused && !approval.patch.is_empty() && is_plain_form() {
        gate.keep_words(&id, &approval).await?;
    }
    accepted
}

/// Rejects a draft.
#[server(prefix = "/fn", endpoint = "reject_draft")]
pub async fn reject_draft(
    /// Which one.
    id: ChangeId,
    /// Why.
    #[server(default)]
    reason: String,
) -> Result<Outcome, ApiError> {
    use crate::state::desk;

    desk()?.gate.reject(&id, &reason).await
}

/// Takes a rejection back.
#[server(prefix = "/fn", endpoint = "reopen_draft")]
pub async fn reopen_draft(
    /// Which one.
    id: ChangeId,
) -> Result<Outcome, ApiError> {
    use crate::state::desk;

    desk()?.gate.reopen(&id).await
}

/// What came of a decision on several drafts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecidedDrafts {
    /// How many were decided on.
    pub decided: usize,
    /// How many could not be.
    pub refused: usize,
    /// Both, in a sentence.
    pub told: String,
    /// Those that were decided on, with commas between them: they can be taken back.
    pub change_id: String,
}

/// Decides on several drafts alike, and says on how many, and why not on the others; one that does not
/// fit any more is left as a conflict, and one on which the person has written something is left to them.
#[server(prefix = "/fn", endpoint = "decide_drafts")]
pub async fn decide_drafts(
    /// Which ones.
    #[server(default)]
    ids: Vec<ChangeId>,
    /// Which others are marked, with something written on their cards.
    #[server(default)]
    left: Vec<ChangeId>,
    /// `approve` or `reject`.
    decision: String,
    /// Why, when they are rejected.
    #[server(default)]
    reason: String,
) -> Result<DecidedDrafts, ApiError> {
    use crate::{domain::proposal::Approval, state::desk};

    if ids.is_empty() {
        let rule = match left.is_empty() {
            true => "Mark at least one draft first.",
            false => "You have written on what is marked: decide on it there.",
        };
        return Err(ApiError::invalid("ids", rule));
    }
    let gate = desk()?.gate;
    let (mut decided, mut refused) = (Vec::new(), Vec::new());
    for id in &ids {
        let outcome = match decision.as_str() {
            "approve" => gate.approve(id, &Approval::default()).await,
            _ => gate.reject(id, &reason).await,
        };
        match outcome {
            Ok(_) => decided.push(id.as_str()),
            // What was decided already is told; the rest still waits.
            Err(error) if error.is_transient() && decided.is_empty() => return Err(error),
            Err(error) => refused.push(error),
        }
    }
    let verb = if decision == "approve" { "accepted" } else { "rejected" };
    let told = match refused.first() {
        Some(error) if decided.is_empty() => return Err(error.clone()),
        Some(error) => {
            format!("{} {verb}, {} could not be: {error}", decided.len(), refused.len())
        }
        None => format!("{} {verb}.", decided.len()),
    };
    let told = match left.len() {
        0 => told,
        left => {
            format!("{told} {left} left out, as you have written on them: decide on them there.")
        }
    };
    let change_id = decided.join(",");
    Ok(DecidedDrafts { decided: decided.len(), refused: refused.len(), told, change_id })
}
