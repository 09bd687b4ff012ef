//! The form in which a page, a ref or a task is written, and its versions beside it.
//!
//! The server renders it; it works by itself.

use leptos::{prelude::*, server_fn::ServerFn};
use leptos_router::hooks::use_query_map;

use super::{
    entry_versions::EntryVersions,
    icon::{Glyph, Icon},
    page_title::PageTitle,
    when::When,
};
use crate::{
    app::{
        server_fns::knowledge::{DeleteEntry, SaveEntry},
        state::draft::MERGED,
    },
    domain::{
        change::{Entity, EntityKind},
        knowledge::TITLE,
        timestamp::Timestamp,
        version::Revision,
        visible::visible_in_prose,
    },
};

/// The form, with the title in its head.
#[component]
pub fn EntryForm(
    /// What is written.
    entity: Entity,
    /// The revision that the form is filled from.
    revision: Revision,
    /// When that was made.
    updated_at: Timestamp,
    /// What it is called in lists.
    name: String,
    /// The title, which a ref may be without.
    title: String,
    /// The other fields.
    children: Children,
) -> impl IntoView {
    let kind = entity.kind;
    let list = format!("/knowledge?kind={}", kind.word());
    let versions = entity.path().map(|path| format!("{path}?versions=1"));
    let shows_versions = use_query_map().read_untracked().get("versions").is_some();
    let hidden = {
        let id = entity.id.clone();
        move || {
            view! {
                <input type="hidden" name="kind" value=kind.word()/>
                <input type="hidden" name="id" value=id.clone()/>
            }
        }
    };
    let kept = format!("{} {}", kind.word(), entity.id);
    let delete = format!("Delete this {}", kind.noun());
    let deleted = format!("The {} is in the bin.", kind.noun());
    view! {
        <PageTitle text=name.clone()/>
        <h1 class="sr">{visible_in_prose(name)}</h1>
        <nav class="crumbs small" aria-label="Where this is">
            <a href="/knowledge">"Knowledge"</a>
            <a href=list>{kind.plural()}</a>
        </nav>
        <form id="entry" method="post" action=SaveEntry::url() data-quiet data-save=kept data-told="Saved.">
            {hidden()}
            <input type="hidden" name="revision" value=revision.to_string()/>
            <header class="editor-head">
                <div class="name-field">
                    <label class="sr" for="title">"Title"</label>
                    <input
                        id="title"
                        class="title-input"
                        name="fields[title]"
                        required=kind != EntityKind::Ref
                        maxlength=TITLE.max_chars
                        autocomplete="off"
                        placeholder="Title"
                        value=title
                    />
                </div>
                <div class="row tight editor-actions">
                    <span class="faint small">"v" {revision} " · " <When at=updated_at/></span>
                    <button type="reset" class="button quiet unsaved" title="Go back to what is saved">"Discard"</button>
                    <button class="button">"Save"</button>
                    <a class="button quiet" href=versions><Glyph icon=Icon::History/> "Versions"</a>
                    <button class="icon" form="delete-entry" aria-label=delete title="Move to the bin">
                        <Glyph icon=Icon::Bin/>
                    </button>
                </div>
            </header>
            <p class="moved small" role="status">"This was changed elsewhere. When you save, your text is merged with it, or both are shown."</p>
            <p class="merged small" role="status">{MERGED}</p>
            {children()}
        </form>
        <form id="delete-entry" method="post" action=DeleteEntry::url() data-quiet data-told=deleted>
            {hidden()}
        </form>
        {shows_versions.then(|| view! { <EntryVersions entity revision/> })}
    }
}

/// A field of the form with its label above and a hint below.
#[component]
pub fn EntryField(
    /// The element's identifier.
    id: &'static str,
    /// What a person calls it.
    label: &'static str,
    /// What else there is to know.
    #[prop(optional, into)]
    hint: Option<String>,
    /// The field.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="field">
            <label for=id>{label}</label>
            {children()}
            {hint.map(|hint| view! { <small class="faint">{hint}</small> })}
        </div>
    }
}
