//! What roleplay knows of a persona: drawn from its prompt once for a version, or written by a person.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::use_params_map;

use crate::{
    app::{
        components::{page_title::PageTitle, problem::PageProblem, written::written},
        server_fns::{
            personas::open_persona,
            roleplay::{DrawRoleplay, SaveRoleplay},
        },
    },
    domain::{
        id::PersonaId,
        persona::{EditedPersona, ROLEPLAY},
        visible::visible_in_prose,
    },
};

/// The page.
#[component]
pub fn RoleplayPage() -> impl IntoView {
    let id = PersonaId::new(use_params_map().read_untracked().get("id").unwrap_or_default());
    view! {
        <Suspense>
            {Suspend::new(async move {
                match open_persona(id).await {
                    Ok(open) => shown(open.persona).into_any(),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(persona: EditedPersona) -> impl IntoView {
    let EditedPersona { id, revision, fields } = persona;
    let home = format!("/personas/{id}");
    let versions = format!("{home}?versions=1");
    let name = visible_in_prose(fields.name);
    let title = format!("{name} in roleplay");
    let is_made = fields.roleplay_data.is_some();
    let told = if is_made {
        "A model drew this from the persona, or you wrote it. It goes along in every chat with this version, and every change of it is a version."
    } else {
        "Nothing yet. It is drawn from the persona when a chat with this version starts; without it, chats start from the prompt alone."
    };
    let data = fields.roleplay_data.unwrap_or_default();
    view! {
        <PageTitle text=title.clone()/>
        <nav class="crumbs small" aria-label="Where this is">
            <a href="/">"Personas"</a>
            <a href=home>{name}</a>
        </nav>
        <header class="page-head">
            <h1 class="one-line">{title}</h1>
            <div class="row tight">
                <span class="faint small">"v" {revision}</span>
                <a class="button quiet" href=versions>"Versions"</a>
            </div>
        </header>
        <div class="stack">
            <p class="small">{told}</p>
            {(!is_made).then(|| view! {
                <form method="post" action=DrawRoleplay::url() data-quiet>
                    <input type="hidden" name="id" value=id.to_string()/>
                    <button class="button quiet">"Draw it from the persona now"</button>
                </form>
            })}
            <form method="post" action=SaveRoleplay::url() class="stack" data-quiet data-save=format!("roleplay {id}") data-told="Saved.">
                <input type="hidden" name="id" value=id.to_string()/>
                <input type="hidden" name="revision" value=revision.to_string()/>
                <div class="field">
                    <label for="roleplay-summary">"Who it is, in a few sentences"</label>
                    <textarea id="roleplay-summary" name="summary" rows="6" maxlength=ROLEPLAY.max_chars inner_html=written(&data.summary)></textarea>
                </div>
                <div class="field">
                    <label for="roleplay-appearance">"How it looks"</label>
                    <textarea id="roleplay-appearance" name="appearance" rows="5" maxlength=ROLEPLAY.max_chars inner_html=written(&data.appearance)></textarea>
                    <small class="faint">"Leave both empty to have them drawn anew when the next chat starts."</small>
                </div>
                <p class="row tight"><button class="button">"Save"</button></p>
            </form>
        </div>
    }
}
