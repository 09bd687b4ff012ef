//! A draft as a card: what would change, word by word, and the buttons that decide.
//!
//! The server renders it, in a conversation and in the Inbox alike; its forms work by themselves.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    icon::{Glyph, Icon},
    when::When,
    written::written,
};
use crate::{
    app::server_fns::{
        proposals::{ApproveDraft, RejectDraft, ReopenDraft},
        versions::UndoChange,
    },
    domain::{
        change::{ChangeState, Conflict, Op, field_label},
        diff::{Segment, SegmentKind},
        proposal::{Proposal, ProposedField, Source},
        visible::{has_hidden, visible},
    },
};

/// A draft.
#[component]
pub fn DraftCard(
    /// The draft.
    draft: Proposal,
    /// Where it is shown: the same draft can stand in two places of a page.
    place: &'static str,
) -> impl IntoView {
    let id = draft.id.to_string();
    let (element, about) = (format!("{place}-draft-{id}"), draft.entity.id.clone());
    let title_id = format!("{place}-title-{id}");
    let labelled_by = title_id.clone();
    let state = match (draft.state, draft.undone) {
        (ChangeState::Applied, true) => "Taken back",
        (ChangeState::Applied, false) if draft.in_part => "Accepted in part",
        (state, _) => state.label(),
    };
    let open = draft.is_open();
    // What lies in the bin is found there.
    let path = if draft.in_bin { Some("/bin".to_owned()) } else { draft.path() };
    let out_of_reach = open && draft.in_bin && draft.op != Op::Restore;
    // What a person tried to accept is theirs to settle.
    let expires = draft.expires_at.filter(|_| open && draft.decided_at.is_none());
    let kind = draft.entity.kind.noun();
    let of = draft.of.clone().map(|name| visible(format!(" of {name}")));
    let (untrusted, more) = (draft.untrusted.clone(), draft.untrusted_more);
    let told = [&draft.title, &draft.summary, &draft.reason, &draft.proposed_by.name];
    let quoted = untrusted.iter().flat_map(|source| [&source.title, &source.passage]);
    let hidden = told.into_iter().chain(quoted).any(|text| has_hidden(text));
    let (title, summary) = (visible(draft.title.clone()), visible(draft.summary.clone()));
    let reason = visible(draft.reason.clone());
    view! {
        <article id=element class="draft" data-draft=id data-about=about data-state=draft.state.word() tabindex="-1" aria-labelledby=labelled_by>
            <header class="draft-head">
                <span class="badge" class:good=draft.state == ChangeState::Applied && !draft.undone>{state}</span>
                <h3 id=title_id>
                    {match path {
                        Some(path) => view! { <a href=path>{title}</a> }.into_any(),
                        None => title.into_any(),
                    }}
                </h3>
                <span class="faint small">{kind}{of}</span>
            </header>
            <Hidden hidden/>
            <p class="small">{summary}{(!reason.is_empty()).then(|| format!(": {reason}"))}</p>
            {untrusted.into_iter().map(|source| view! { <Untrusted source/> }).collect_view()}
            {(more > 0).then(|| view! { <p class="untrusted small">{format!("… and {more} more that are from elsewhere")}</p> })}
            {if out_of_reach {
                view! { <OutOfReach draft=draft.clone() place/> }.into_any()
            } else if open && !draft.conflicts.is_empty() {
                view! { <InConflict draft=draft.clone() place/> }.into_any()
            } else if open {
                view! { <Open draft=draft.clone() place/> }.into_any()
            } else {
                view! { <Decided draft=draft.clone() place/> }.into_any()
            }}
            <footer class="faint small">
                {visible(draft.proposed_by.name.clone())}
                {conversation(&draft).map(|path| view! { " in " <a href=path rel="external">"this conversation"</a> })}
                " · " <When at=draft.created_at/>
                {expires.map(|at| view! { " · expires " {at.readable()} })}
            </footer>
        </article>
    }
}

/// Says that something beside it cannot be seen as it is.
#[component]
pub fn Hidden(
    /// Whether there is such a thing.
    hidden: bool,
) -> impl IntoView {
    hidden.then(|| view! {
        <p class="problem">"This text has characters that cannot be seen, or that turn others around. They are written out as ⟦U+…⟧."</p>
    })
}

/// Says that the author of a draft had read something that nobody here wrote.
#[component]
fn Untrusted(source: Source) -> impl IntoView {
    view! {
        <details class="untrusted small">
            <summary>"Written after reading “" {visible(source.title)} "”, which is from elsewhere"</summary>
            <blockquote>{visible(source.passage)}</blockquote>
        </details>
    }
}

/// The fields that say which draft is meant, as it was seen.
#[component]
fn Meant(draft: Proposal) -> impl IntoView {
    view! {
        <input type="hidden" name="id" value=draft.id.to_string()/>
        {draft.revision.map(|revision| view! { <input type="hidden" name="revision" value=revision.to_string()/> })}
    }
}

/// Under what the browser keeps what is written on a draft until it is decided on: in the rail, whose
/// conversation changes from page to page.
fn kept(draft: &Proposal, place: &str, what: &str) -> Option<String> {
    (place == "rail").then(|| format!("draft {what} {}", draft.id))
}

/// A draft that waits.
#[component]
fn Open(draft: Proposal, place: &'static str) -> impl IntoView {
    let choices = draft.choices();
    let can_choose = choices > 1 && draft.op == Op::Update;
    let editable = matches!(draft.op, Op::Update | Op::Create) && !draft.diff.is_empty();
    let accept = match draft.op {
        Op::Delete => "Move to the bin",
        _ if can_choose => "Accept all",
        _ => "Accept",
    };
    let id = draft.id.to_string();
    let words = format!("{place}-words-{id}");
    let form = words.clone();
    view! {
        <form id=form method="post" action=ApproveDraft::url() data-quiet data-told="Accepted." class="draft-words" data-save=kept(&draft, place, "words")>
            <Meant draft=draft.clone()/>
            {draft.diff.iter().map(|field| view! { <Words field=field.clone() can_choose/> }).collect_view()}
        </form>
        <div class="row tight draft-more">
            <button class="button small" form=words.clone() name="take" value="all" data-key="a">{accept}</button>
            {can_choose.then(|| view! {
                <button class="button quiet small" form=words name="take" value="chosen">"Accept the marked"</button>
            })}
            {editable.then(|| view! {
                <details id=format!("{place}-edit-{id}")>
                    <summary class="button quiet small" data-key="e">"Edit…"</summary>
                    <form method="post" action=ApproveDraft::url() data-quiet data-told="Accepted as you wrote it." class="stack" data-save=kept(&draft, place, "edit")>
                        <Meant draft=draft.clone()/>
                        {draft.diff.iter().map(|field| view! { <Rewrite field=field.clone()/> }).collect_view()}
                        <p><button class="button" name="take" value="edited">"Accept this"</button></p>
                    </form>
                </details>
            })}
            <Reject draft=draft.clone() place/>
        </div>
    }
}

/// Saying no, with or without a reason.
#[component]
fn Reject(draft: Proposal, place: &'static str) -> impl IntoView {
    let id = draft.id.to_string();
    let reason = format!("{place}-reason-{id}");
    view! {
        <details id=format!("{place}-reject-{id}")>
            <summary class="button quiet small" data-key="r">"Reject…"</summary>
            <form method="post" action=RejectDraft::url() data-quiet data-told="Rejected." class="stack" data-save=kept(&draft, place, "reason")>
                <input type="hidden" name="id" value=id.clone()/>
                <label for=reason.clone()>"Why? Its author is told."</label>
                <input id=reason name="reason" autocomplete="off" placeholder="You may leave it empty"/>
                <p><button class="button bad">"Reject"</button></p>
            </form>
        </details>
    }
}

/// One field, word by word; each change has a box when there are several.
#[component]
pub fn Words(
    /// The field.
    field: ProposedField,
    /// Whether single changes can be marked.
    can_choose: bool,
) -> impl IntoView {
    let name = field.field.clone();
    let mut seen = None;
    let hidden = field.segments.iter().any(|segment| has_hidden(&segment.text));
    let pieces = field.segments.into_iter().map(|Segment { kind, text, hunk }| {
        let text = visible(text);
        let first = hunk.filter(|hunk| can_choose && seen.replace(*hunk) != Some(*hunk));
        let mark = first.map(|hunk| {
            let label = format!("Change {}", hunk + 1);
            view! { <input type="checkbox" name="hunks[]" value=format!("{name}:{hunk}") aria-label=label checked/> }
        });
        let words = match kind {
            SegmentKind::Same => text.into_any(),
            SegmentKind::Removed => view! { <del>{text}</del> }.into_any(),
            SegmentKind::Added => view! { <ins>{text}</ins> }.into_any(),
            SegmentKind::Folded => view! { <span class="fold">{text}</span> }.into_any(),
        };
        view! { {mark}{words} }
    });
    view! {
        <h4>{field.label}</h4>
        <Hidden hidden/>
        <p class="diff">{pieces.collect_view()}</p>
    }
}

/// One field to be written in one's own words.
#[component]
fn Rewrite(field: ProposedField) -> impl IntoView {
    let rows = field.after.lines().count().clamp(2, 16).to_string();
    view! {
        <label>
            {field.label}
            <textarea name=format!("patch[{}]", field.field) rows=rows inner_html=written(&field.after)></textarea>
        </label>
    }
}

/// A draft that does not fit any more: both texts, to be joined by hand.
#[component]
fn InConflict(draft: Proposal, place: &'static str) -> impl IntoView {
    view! {
        <p class="problem">"The same passage was changed since this was written. Join the two texts, or reject the draft."</p>
        <form method="post" action=ApproveDraft::url() data-quiet data-told="Accepted as you wrote it." class="stack" data-save=kept(&draft, place, "join")>
            <Meant draft=draft.clone()/>
            {draft.conflicts.iter().map(|Conflict { field, yours, theirs, .. }| {
                let label = field_label(field).to_owned();
                view! {
                    <div class="both">
                        <label data-key="e">
                            "The draft’s " {label}
                            <textarea name=format!("patch[{field}]") rows="8" inner_html=written(yours)></textarea>
                        </label>
                        <label>
                            "Saved now"
                            <textarea readonly rows="8" inner_html=written(&visible(theirs.clone()))></textarea>
                        </label>
                    </div>
                    <WrittenOut text=yours.clone()/>
                }
            }).collect_view()}
            <p><button class="button" name="take" value="edited" data-key="a">"Save the draft’s text"</button></p>
        </form>
        <Reject draft place/>
    }
}

/// A draft about something in the bin: it waits until that comes back, or is rejected.
#[component]
fn OutOfReach(draft: Proposal, place: &'static str) -> impl IntoView {
    let kind = draft.entity.kind.noun();
    let told = match &draft.of {
        Some(persona) => format!("This {kind} lies in the bin, or {persona} does. "),
        None => format!("This {kind} lies in the bin. "),
    };
    view! {
        <p class="problem">
            {told} <a href="/bin">"Take it out of the bin"</a> " before you accept the draft, or reject it."
        </p>
        <div class="draft-words">
            {draft.diff.iter().map(|field| view! { <Words field=field.clone() can_choose=false/> }).collect_view()}
        </div>
        <Reject draft place/>
    }
}

/// A text that is edited beside this, as it is when it holds something that an editor does not show.
#[component]
pub fn WrittenOut(
    /// The text.
    text: String,
) -> impl IntoView {
    has_hidden(&text).then(|| view! { <Hidden hidden=true/><p class="diff">{visible(text)}</p> })
}

/// A draft that was decided on, and the way back.
#[component]
fn Decided(draft: Proposal, place: &'static str) -> impl IntoView {
    let id = draft.id.to_string();
    let told = match draft.decided_at {
        Some(at) => view! { <span><When at/></span> }.into_any(),
        None => ().into_any(),
    };
    let note = draft.note.clone();
    let back = match (draft.state, draft.undone) {
        (ChangeState::Applied, false) => Some(UndoChange::url()),
        (ChangeState::Rejected, _) => Some(ReopenDraft::url()),
        _ => None,
    };
    view! {
        {(!draft.diff.is_empty()).then(|| view! {
            <details id=format!("{place}-words-{id}") class="draft-words">
                <summary class="small">"What it says"</summary>
                {draft.diff.iter().map(|field| view! { <Words field=field.clone() can_choose=false/> }).collect_view()}
            </details>
        })}
        <div class="row tight small">
            {told}
            {(!note.is_empty()).then(|| view! { <q>{note}</q> })}
            {back.map(|action| view! {
                <form method="post" action=action data-quiet data-final data-told="Taken back.">
                    <input type="hidden" name="id" value=id.clone()/>
                    <button class="button quiet small"><Glyph icon=Icon::Undo/> "Undo"</button>
                </form>
            })}
        </div>
    }
}

/// The conversation in which it was proposed, to read.
pub fn conversation(draft: &Proposal) -> Option<String> {
    let proposer = &draft.proposed_by;
    let id = proposer.conversation_id.as_ref()?;
    let at = draft.path().filter(|_| draft.persona_id.as_ref() == proposer.persona_id.as_ref());
    let (at, card) = (at.as_deref().unwrap_or("/"), format!("rail-draft-{}", draft.id));
    let run = proposer.run_id.as_ref().map(|run| format!("&run={run}")).unwrap_or_default();
    Some(format!("/rail?whole=1&at={at}&conversation={id}{run}#{card}"))
}
