//! A task: what is to be done, and by when.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::{
    app::{
        components::{
            entry_form::{EntryField, EntryForm},
            problem::PageProblem,
            written::written,
        },
        server_fns::knowledge::open_task,
    },
    domain::{
        change::Entity,
        id::TaskId,
        knowledge::{EntryOf, TaskFields, TaskStatus},
    },
};

/// The page.
#[component]
pub fn TaskPage() -> impl IntoView {
    let id = TaskId::new(use_params_map().read_untracked().get("id").unwrap_or_default());
    view! {
        <Suspense>
            {Suspend::new(async move {
                match open_task(id).await {
                    Ok(entry) => shown(entry),
                    Err(error) => view! { <PageProblem error/> }.into_any(),
                }
            })}
        </Suspense>
    }
}

fn shown(entry: EntryOf<TaskFields>) -> AnyView {
    let entity = Entity::from(&entry.id);
    let TaskFields { title, status, due, note } = entry.fields;
    let due = due.map(|due| due.to_string()).unwrap_or_default();
    let rows = note.lines().count().clamp(8, 30);
    view! {
        <EntryForm entity revision=entry.revision updated_at=entry.updated_at name=title.clone() title>
            <section class="card stack">
                <div class="pair">
                    <fieldset class="field">
                        <legend>"Status"</legend>
                        <div class="choices">
                            {TaskStatus::ALL.map(|other| view! {
                                <label>
                                    <input type="radio" name="fields[status]" value=other.word() checked=other == status/>
                                    {other.label()}
                                </label>
                            })}
                        </div>
                    </fieldset>
                    <EntryField id="due" label="Due">
                        <input id="due" type="date" name="fields[due]" value=due/>
                    </EntryField>
                </div>
                <EntryField id="note" label="Note">
                    <textarea
                        id="note"
                        class="grow"
                        name="fields[note]"
                        rows=rows
                        placeholder="What else is there to say?"
                        inner_html=written(&note)
                    ></textarea>
                </EntryField>
            </section>
        </EntryForm>
    }
    .into_any()
}
