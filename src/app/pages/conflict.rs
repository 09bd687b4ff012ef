//! Both texts of a conflict that a plain form ran into. Nothing of either is lost.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::use_params_map;

use crate::{
    app::{
        components::{page_title::PageTitle, problem::PageProblem, written::written},
        server_fns::{
            conflicts::{KeptConflict, open_conflict},
            personas::SavePersona,
            test_inputs::SaveTestInput,
        },
    },
    domain::{
        change::{Conflict, EntityKind},
        id::ChangeId,
    },
};

/// The page.
#[component]
pub fn ConflictPage() -> impl IntoView {
    let params = use_params_map();
    let kept = Resource::new(
        move || ChangeId::new(params.read().get("id").unwrap_or_default()),
        open_conflict,
    );
    view! {
        <PageTitle text="Two texts"/>
        <Suspense fallback=|| view! { <div class="skeleton block"></div> }>
            {move || Suspend::new(async move {
                match kept.await {
                    Ok(kept) => shown(kept).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

/// The name that the form of this field has on the server.
fn argument(field: &str) -> &'static str {
    match field {
        "name" => "form[name]",
        "appearance" => "form[appearance]",
        "notes" => "form[notes]",
        "model" => "form[model]",
        "tools" => "form[tools]",
        "tier" => "form[tier]",
        "content" => "content",
        _ => "form[system_prompt]",
    }
}

fn shown(kept: KeptConflict) -> impl IntoView {
    let back = format!("/personas/{}", kept.persona);
    let action = match kept.entity.kind {
        EntityKind::Persona => SavePersona::url(),
        EntityKind::TestInput => SaveTestInput::url(),
    };
    let id = kept.entity.id;
    let settled = kept.texts.is_empty();
    view! {
        <header class="page-head">
            <h1>"Two texts"</h1>
            <a class="button quiet" href=back>"Back to the persona"</a>
        </header>
        <p>
            {if settled {
                "This conflict is settled: nothing of it differs from what is saved now."
            } else {
                "It was changed elsewhere while you edited it. Your text stands on the left; change it as you like and save it, or leave it."
            }}
        </p>
        {kept.texts.into_iter().map(|Conflict { field, yours, theirs, revision, .. }| view! {
            <form class="trouble" method="post" action=action>
                <input type="hidden" name="id" value=id.clone()/>
                <input type="hidden" name="revision" value=revision.to_string()/>
                <div class="both">
                    <label>"Yours" <textarea name=argument(&field) rows="16" inner_html=written(&yours)></textarea></label>
                    <label>"Saved now" <textarea readonly rows="16" inner_html=written(&theirs)></textarea></label>
                </div>
                <p class="row"><button class="button">"Save the left text"</button></p>
            </form>
        }).collect_view()}
    }
}
