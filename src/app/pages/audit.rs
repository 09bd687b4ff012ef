//! The audit: everything that was done, by whom, and the way back.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::use_query_map;

use crate::{
    app::{
        components::{
            draft_card::Words,
            icon::{Glyph, Icon},
            page_title::PageTitle,
            problem::PageProblem,
            when::When,
        },
        server_fns::{
            audit::{AuditLine, list_audit},
            versions::UndoChange,
        },
    },
    domain::{change::Op, id::AuditId, list::Page},
};

/// The page.
#[component]
pub fn AuditPage() -> impl IntoView {
    let after = use_query_map().read_untracked().get("after").map(AuditId::new);
    view! {
        <PageTitle text="Audit"/>
        <header class="page-head"><h1>"Audit"</h1></header>
        <Suspense>
            {Suspend::new(async move {
                match list_audit(after).await {
                    Ok(page) => shown(page).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(page: Page<AuditLine>) -> impl IntoView {
    let next = page.next.map(|after| format!("/audit?after={after}"));
    view! {
        <ol class="rows audit">{page.items.into_iter().map(|line| view! { <Line line/> }).collect_view()}</ol>
        {next.map(|next| view! { <p class="more"><a href=next class="button quiet">"Earlier"</a></p> })}
    }
}

/// One change.
#[component]
fn Line(line: AuditLine) -> impl IntoView {
    let AuditLine { entry, title, path, who, conversation, diff, undone, gone } = line;
    let can_undo = !undone && !gone && entry.op != Op::Purge;
    let gone = gone && entry.op != Op::Purge;
    let id = entry.change_id.to_string();
    let revisions = match (entry.from_revision, entry.to_revision) {
        (Some(from), Some(to)) if from != to => Some(format!("v{from} → v{to}")),
        (None, Some(to)) => Some(format!("v{to}")),
        _ => None,
    };
    view! {
        <li class="card stack" id=format!("audit-{id}")>
            <div class="row apart">
                <div class="card-text">
                    <strong class="one-line">{entry.summary}</strong>
                    <span class="faint small">
                        {who} " · " {entry.entity.kind.noun()} " "
                        {path.map(|path| view! { <a href=path>{title}</a> })}
                        {revisions.map(|revisions| format!(" · {revisions}"))}
                        " · " <When at=entry.created_at/>
                        {entry.run_id.map(|run| {
                            let run = view! { <code>{run.to_string()}</code> };
                            match conversation {
                                Some(path) => view! { " · run " <a href=path rel="external">{run}</a> }.into_any(),
                                None => view! { " · run " {run} }.into_any(),
                            }
                        })}
                        {undone.then_some(" · taken back")}
                        {gone.then_some(" · removed for good since")}
                    </span>
                </div>
                {can_undo.then(|| view! {
                    <form method="post" action=UndoChange::url() data-quiet data-told="Taken back.">
                        <input type="hidden" name="id" value=id.clone()/>
                        <button class="button quiet small"><Glyph icon=Icon::Undo/> "Revert"</button>
                    </form>
                })}
            </div>
            {(!diff.is_empty()).then(|| view! {
                <details>
                    <summary class="small">"What changed"</summary>
                    {diff.into_iter().map(|field| view! { <Words field can_choose=false/> }).collect_view()}
                </details>
            })}
        </li>
    }
}
