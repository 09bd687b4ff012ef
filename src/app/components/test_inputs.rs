//! The test inputs of a persona, each with a place for its output.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    answers::{AnswerBook, AnswerBox, RunAll, RunOne},
    draft_box::{Autosave, DraftTrouble, SaveState},
    icon::{Glyph, Icon},
    live::use_live,
    notice::use_notices,
    written::{escaped, written},
};
use crate::{
    app::{
        platform,
        server_fns::{
            answers::ShownAnswer,
            test_inputs::{
                AddTestInput, DeleteTestInput, MoveTestInput, SaveTestInput, TestInputForm,
                list_test_inputs, save_test_input,
            },
        },
        state::draft::{Draft, Texts},
    },
    domain::{
        change::EntityKind,
        id::{PersonaId, TestInputId},
        message::Role,
        news::Topic,
        test_input::{Before, CHECK, CONTENT, EditedTestInput, TestInputFields},
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
    /// The form of the persona.
    form: Autosave,
    /// The present version of the persona.
    #[prop(into)]
    revision: Signal<Revision>,
) -> impl IntoView {
    let book = AnswerBook::new(persona.clone(), answers, form);
    let rows = RwSignal::new(initial);
    // Moving a row takes the cursor away from its button: it is brought back there.
    let pressed = StoredValue::new(String::new());
    let whose = StoredValue::new(persona.clone());
    let renew = Callback::new(move |()| {
        leptos::task::spawn_local(async move {
            let Some(persona) = whose.try_get_value() else { return };
            if let Ok(all) = list_test_inputs(persona).await {
                rows.try_set(all);
                if let Some(button) = pressed.try_update_value(std::mem::take)
                    && !button.is_empty()
                {
                    platform::focus_later(button);
                }
            }
        });
    });
    let undone = use_notices().undone;
    Effect::new(move |seen: Option<u32>| {
        let now = undone.get();
        if seen.is_some_and(|seen| seen != now) {
            renew.run(());
        }
        now
    });
    use_live().on(move |news| {
        let missed = news.topic == Topic::Missed;
        if !missed && (news.persona_id.is_none() || news.persona_id != whose.try_get_value()) {
            return;
        }
        if missed || news.entity_type == EntityKind::TestInput.word() {
            renew.run(());
        }
        // Its end is heard by whoever watches it.
        if missed || news.status.is_some_and(|status| !status.is_over()) {
            book.renew();
        }
    });
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
                    children=move |at, row| view! { <TestInputRow row at rows book revision pressed/> }
                />
            </ol>
            <form method="post" action=AddTestInput::url() class="add-test" data-quiet>
                <input type="hidden" name="persona" value=persona.to_string()/>
                <label class="sr" for="new-test">"New test input"</label>
                <textarea
                    id="new-test"
                    name="content"
                    rows="2"
                    required
                    placeholder="Say something to this persona…"
                ></textarea>
                <button class="button quiet">
                    <Glyph icon=Icon::Plus/>
                    "Add test input"
                </button>
            </form>
        </section>
    }
}

fn texts(fields: &TestInputFields) -> Texts {
    Texts::from([(CONTENT.name, fields.content.clone()), (CHECK.name, fields.check.clone())])
}

/// What was said before a moment of a chat, as HTML.
fn told_before(history: &[Before]) -> String {
    let mut told = String::new();
    for before in history {
        let who = match before.role {
            Role::User => "You",
            Role::Assistant => "Persona",
        };
        told.push_str(&format!("<p><strong>{who}</strong> {}</p>", escaped(&before.content)));
    }
    told
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
    /// The button that was pressed last.
    pressed: StoredValue<String>,
) -> impl IntoView {
    let row_id = row.id.clone();
    let id = StoredValue::new(row.id.clone());
    let autosave = Autosave::new(
        Draft::new(row.revision, texts(&row.fields)),
        format!("draft:test-input:{}", row.id),
        move |revision, mut texts| {
            let id = row_id.clone();
            async move {
                let form = TestInputForm {
                    content: texts.remove(CONTENT.name),
                    check: texts.remove(CHECK.name),
                };
                let kept = save_test_input(id, revision, form).await?;
                Ok((kept.revision, self::texts(&kept.fields)))
            }
        },
    );
    book.learn(autosave);
    let draft = autosave.draft;
    let input_revision = Memo::new(move |_| draft.read().revision);
    let text = Memo::new(move |_| draft.read().text(CONTENT.name));
    // What is changed elsewhere meets what is typed here.
    Effect::new(move |_| {
        let known = rows.with(|rows| {
            let known = rows.iter().find(|known| known.id == id.get_value());
            known.map(|known| (known.revision, texts(&known.fields)))
        });
        if let Some((revision, texts)) = known
            && draft.read().is_behind(revision)
        {
            autosave.meet(revision, texts, None);
        }
    });
    let press = move |button: &str| pressed.set_value(format!("{button}-{}", id.get_value()));
    let label = move || format!("Test input {}", at.get() + 1);
    let field = format!("test-{}", row.id);
    autosave.adopt(CONTENT.name, &field);
    let check = format!("check-{}", row.id);
    autosave.adopt(CHECK.name, &check);
    let before = row.fields.history.len();
    // One that came from a chat has a check; another is given one when somebody asks for it.
    let has_check = !row.fields.check.is_empty();
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
                {(before > 0).then(|| view! {
                    <details class="small before">
                        <summary>{format!("After {before} messages of a chat")}</summary>
                        <div inner_html=told_before(&row.fields.history)></div>
                    </details>
                })}
                <textarea
                    id=field
                    name="form[content]"
                    class="grow"
                    rows=move || text.read().lines().count().clamp(2, 12)
                    prop:value=text
                    on:input=move |event| draft.update(|draft| draft.type_in(CONTENT.name, event_target_value(&event)))
                    inner_html=written(&row.fields.content)
                ></textarea>
                <details class="small check" open=has_check>
                    <summary>"What a good answer does"</summary>
                    <label class="sr" for=check.clone()>"What a good answer does"</label>
                    <textarea
                        id=check
                        name="form[check]"
                        class="grow"
                        rows="2"
                        prop:value=move || draft.read().text(CHECK.name)
                        on:input=move |event| draft.update(|draft| draft.type_in(CHECK.name, event_target_value(&event)))
                        inner_html=written(&row.fields.check)
                    ></textarea>
                </details>
                <noscript><button class="button quiet">"Save"</button></noscript>
            </form>
            <DraftTrouble autosave/>
            <AnswerBox book input=id.get_value() revision input_revision/>
            <div class="row apart">
                <span class="faint small">{move || match tokens::estimate(&text.read()) {
                    1 => "about 1 token".into(),
                    count => format!("about {count} tokens"),
                }}</span>
                <div class="row tight">
                    <RunOne book input=id.get_value() row=autosave label=Signal::derive(label)/>
                    <form method="post" action=MoveTestInput::url() data-quiet>
                        <HiddenId id=id.get_value()/>
                        <button class="icon" id=format!("up-{}", id.get_value()) name="way" value="up"
                            on:click=move |_| press("up") aria-label=move || format!("Move {} up", label())
                            disabled=move || at.get() == 0>
                            <Glyph icon=Icon::Up/>
                        </button>
                        <button class="icon" id=format!("down-{}", id.get_value()) name="way" value="down"
                            on:click=move |_| press("down") aria-label=move || format!("Move {} down", label())
                            disabled=move || at.get() + 1 == rows.read().len()>
                            <Glyph icon=Icon::Down/>
                        </button>
                    </form>
                    <form method="post" action=DeleteTestInput::url() data-quiet data-told="Test input moved to the bin.">
                        <HiddenId id=id.get_value()/>
                        <button class="icon" on:click=move |_| pressed.set_value("new-test".into()) aria-label=move || format!("Delete {}", label())>
                            <Glyph icon=Icon::Bin/>
                        </button>
                    </form>
                </div>
            </div>
        </li>
    }
}

#[component]
fn HiddenId(id: TestInputId) -> impl IntoView {
    view! { <input type="hidden" name="id" value=id.to_string()/> }
}
