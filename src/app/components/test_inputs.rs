//! The test inputs of a persona, each with a place for its output.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    answers::{AnswerBook, AnswerBox, RunAll, RunOne},
    draft_box::{Autosave, DraftTrouble, SaveState},
    icon::{Glyph, Icon},
    notice::use_notices,
    problem::Problem,
    written::written,
};
use crate::{
    app::{
        platform,
        server_fns::{
            answers::ShownAnswer,
            test_inputs::{
                AddTestInput, DeleteTestInput, MoveTestInput, SaveTestInput, list_test_inputs,
                save_test_input,
            },
        },
        state::draft::{Draft, Texts},
    },
    domain::{
        id::{PersonaId, TestInputId},
        test_input::{CONTENT, EditedTestInput},
        tokens,
        version::Revision,
    },
};

/// The whole list.
#[component]
pub fn TestInputs(
    /// Whose.
    persona: PersonaId,
    /// What was there when the page was made.
    initial: Vec<EditedTestInput>,
    /// The last answers to them.
    answers: Vec<ShownAnswer>,
    /// The present version of the persona.
    #[prop(into)]
    revision: Signal<Revision>,
) -> impl IntoView {
    let book = AnswerBook::new(persona.clone(), answers);
    let rows = RwSignal::new(initial);
    let add = ServerAction::<AddTestInput>::new();
    let typed = RwSignal::new(String::new());
    Effect::new(move |_| {
        if let Some(Ok(added)) = add.value().get() {
            rows.write().push(added);
            typed.set(String::new());
        }
    });
    let undone = use_notices().undone;
    let whose = persona.clone();
    Effect::new(move |seen: Option<u32>| {
        let now = undone.get();
        if seen.is_some_and(|seen| seen != now) {
            let persona = whose.clone();
            leptos::task::spawn_local(async move {
                if let Ok(all) = list_test_inputs(persona).await {
                    rows.set(all);
                }
            });
        }
        now
    });
    let failed = Signal::derive(move || add.value().get().and_then(Result::err));
    view! {
        <section class="tests" aria-labelledby="tests-title">
            <header class="row apart">
                <h2 id="tests-title">"Test inputs" " " <span class="count">{move || rows.read().len()}</span></h2>
                {move || (!rows.read().is_empty()).then(|| view! { <RunAll book/> })}
            </header>
            {move || rows.read().is_empty().then(|| view! {
                <p class="faint">"What would you say to it first? Add something below: an easy question, a hard one, and one it should refuse."</p>
            })}
            <ol class="test-list">
                <ForEnumerate
                    each=move || rows.get()
                    key=|row| row.id.clone()
                    children=move |at, row| view! { <TestInputRow row at rows book revision/> }
                />
            </ol>
            <ActionForm action=add attr:class="add-test">
                <input type="hidden" name="persona" value=persona.to_string()/>
                <label class="sr" for="new-test">"New test input"</label>
                <textarea
                    id="new-test"
                    name="content"
                    rows="2"
                    required
                    placeholder="Say something to this persona…"
                    prop:value=typed
                    on:input=move |event| {
                        typed.set(event_target_value(&event));
                        add.value().set(None);
                    }
                ></textarea>
                <button class="button quiet" disabled=move || add.pending().get()>
                    <Glyph icon=Icon::Plus/>
                    "Add test input"
                </button>
            </ActionForm>
            <Problem error=failed/>
        </section>
    }
}

fn texts(content: String) -> Texts {
    Texts::from([(CONTENT.name, content)])
}

/// One test input.
#[component]
fn TestInputRow(
    /// As it was when the row was made.
    row: EditedTestInput,
    /// Its place.
    at: ReadSignal<usize>,
    /// All of them.
    rows: RwSignal<Vec<EditedTestInput>>,
    /// The answers to them.
    book: AnswerBook,
    /// The present version of the persona.
    revision: Signal<Revision>,
) -> impl IntoView {
    let notices = use_notices();
    let row_id = row.id.clone();
    let id = StoredValue::new(row.id.clone());
    let autosave = Autosave::new(
        Draft::new(row.revision, texts(row.fields.content.clone())),
        format!("draft:test-input:{}", row.id),
        move |revision, mut texts| {
            let id = row_id.clone();
            async move {
                let content = texts.remove(CONTENT.name).unwrap_or_default();
                let kept = save_test_input(id, revision, content).await?;
                Ok((kept.revision, self::texts(kept.fields.content)))
            }
        },
    );
    let draft = autosave.draft;
    let text = Memo::new(move |_| draft.read().text(CONTENT.name));
    let moving = ServerAction::<MoveTestInput>::new();
    // Moving a row takes the cursor away from its button: it is brought back there.
    let pressed = StoredValue::new("up");
    Effect::new(move |_| match moving.value().get() {
        Some(Ok(all)) => {
            rows.set(all);
            platform::focus_later(format!("{}-{}", pressed.get_value(), id.get_value()));
        }
        Some(Err(error)) => notices.tell(error.to_string()),
        None => {}
    });
    let deleting = ServerAction::<DeleteTestInput>::new();
    Effect::new(move |_| match deleting.value().get() {
        Some(Ok(outcome)) => {
            let gone = id.get_value();
            rows.write().retain(|row| row.id != gone);
            platform::focus_later("new-test".into());
            notices.tell_with_undo("Test input moved to the bin.", outcome.change_id);
        }
        Some(Err(error)) => notices.tell(error.to_string()),
        None => {}
    });
    let label = move || format!("Test input {}", at.get() + 1);
    let field = format!("test-{}", row.id);
    autosave.adopt(CONTENT.name, &field);
    view! {
        <li class="test">
            <form
                method="post"
                action=SaveTestInput::url()
                on:submit=move |event| { event.prevent_default(); autosave.save.run(()); }
            >
                <HiddenId id=id.get_value()/>
                <input type="hidden" name="revision" value=row.revision.to_string()/>
                <div class="row apart">
                    <label class="number" for=field.clone()>{label}</label>
                    <SaveState autosave/>
                </div>
                <textarea
                    id=field
                    name="content"
                    class="grow"
                    rows=move || text.read().lines().count().clamp(2, 12)
                    prop:value=text
                    on:input=move |event| draft.update(|draft| draft.type_in(CONTENT.name, event_target_value(&event)))
                    inner_html=written(&row.fields.content)
                ></textarea>
                <noscript><button class="button quiet">"Save"</button></noscript>
            </form>
            <DraftTrouble autosave/>
            <AnswerBox book input=id.get_value() revision/>
            <div class="row apart">
                <span class="faint small">{move || match tokens::estimate(&text.read()) {
                    1 => "about 1 token".into(),
                    count => format!("about {count} tokens"),
                }}</span>
                <div class="row tight">
                    <RunOne book input=id.get_value() label=Signal::derive(label)/>
                    <ActionForm action=moving>
                        <HiddenId id=id.get_value()/>
                        <button class="icon" id=format!("up-{}", id.get_value()) name="way" value="up"
                            on:click=move |_| pressed.set_value("up") aria-label=move || format!("Move {} up", label())
                            disabled=move || at.get() == 0>
                            <Glyph icon=Icon::Up/>
                        </button>
                        <button class="icon" id=format!("down-{}", id.get_value()) name="way" value="down"
                            on:click=move |_| pressed.set_value("down") aria-label=move || format!("Move {} down", label())
                            disabled=move || at.get() + 1 == rows.read().len()>
                            <Glyph icon=Icon::Down/>
                        </button>
                    </ActionForm>
                    <ActionForm action=deleting>
                        <HiddenId id=id.get_value()/>
                        <button class="icon" aria-label=move || format!("Delete {}", label())>
                            <Glyph icon=Icon::Bin/>
                        </button>
                    </ActionForm>
                </div>
            </div>
        </li>
    }
}

#[component]
fn HiddenId(id: TestInputId) -> impl IntoView {
    view! { <input type="hidden" name="id" value=id.to_string()/> }
}
