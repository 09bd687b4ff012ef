//! What a plain form could not save, beside what stands now. Nothing of either is lost.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::use_params_map;

use crate::{
    app::{
        components::{
            draft_card::WrittenOut, page_title::PageTitle, problem::PageProblem, written::written,
        },
        server_fns::conflicts::{KeptText, SaveKept, open_conflict},
    },
    domain::{
        change::{ChangeState, Conflict, EntityKind, field_label},
        id::ChangeId,
        visible::visible,
    },
};

/// The page.
#[component]
pub fn ConflictPage() -> impl IntoView {
    let id = ChangeId::new(use_params_map().read_untracked().get("id").unwrap_or_default());
    view! {
        <PageTitle text="Two texts"/>
        <Suspense>
            {Suspend::new(async move {
                match open_conflict(id).await {
                    Ok(kept) => shown(kept).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(kept: KeptText) -> impl IntoView {
    let kind = kept.entity.kind;
    let back = match kind {
        _ if kept.is_new => "Back to the list".to_owned(),
        EntityKind::Persona | EntityKind::TestInput => "Back to the persona".into(),
        EntityKind::Page | EntityKind::Ref | EntityKind::Task | EntityKind::Chat => {
            format!("Back to the {}", kind.noun())
        }
    };
    let id = kept.id.to_string();
    let revision = kept.texts.first().map(|text| text.revision);
    let heading = match (kept.state, &kept.why) {
        (ChangeState::Applied, _) => "Saved",
        (ChangeState::Rejected, _) => "Left",
        (_, Some(_)) => "Not saved yet",
        (_, None) => "Two texts",
    };
    let told = match (kept.state, &kept.why, revision) {
        (ChangeState::Applied, ..) => "This was saved.".into(),
        (ChangeState::Rejected, ..) => {
            "You left this text. Among the rejected drafts of the Inbox it can be taken up again."
                .into()
        }
        (_, _, None) => "Nothing of it differs from what is saved now.".into(),
        (_, Some(why), Some(_)) => why.to_string(),
        (_, None, Some(_)) => "It was changed elsewhere while you edited it.".into(),
    };
    view! {
        <header class="page-head">
            <h1>{heading}</h1>
            <a class="button quiet" href=kept.path>{back}</a>
        </header>
        <div class="stack">
            <p>{told}</p>
            {revision.map(|revision| view! {
                <form class="trouble" method="post" action=SaveKept::url()>
                    <p>"Change your text as you like and save it, or leave it."</p>
                    <input type="hidden" name="id" value=id/>
                    <input type="hidden" name="revision" value=revision.to_string()/>
                    {kept.texts.into_iter().map(|Conflict { field, yours, theirs, .. }| {
                        let rows = yours.lines().count().max(theirs.lines().count()).clamp(1, 12);
                        view! {
                            <div class="both">
                                <label>
                                    "Your " {field_label(&field).to_owned()}
                                    <textarea name=format!("fields[{field}]") rows=rows inner_html=written(&yours)></textarea>
                                </label>
                                {(!kept.is_new).then(|| view! {
                                    <label>
                                        "Saved now"
                                        <textarea readonly rows=rows inner_html=written(&visible(theirs))></textarea>
                                    </label>
                                })}
                            </div>
                            <WrittenOut text=yours/>
                        }
                    }).collect_view()}
                    <p class="row"><button class="button">"Save mine"</button></p>
                </form>
            })}
        </div>
    }
}
