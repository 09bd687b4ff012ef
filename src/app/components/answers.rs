//! The answers beside the test inputs: running, streaming, and looking back.

use std::collections::HashMap;

use leptos::{ev::SubmitEvent, prelude::*, server_fn::ServerFn, task::spawn_local};

use super::{
    icon::{Glyph, Icon},
    notice::use_notices,
    when::When,
};
use crate::{
    app::{
        platform::Watch,
        server_fns::answers::{
            RunAllTestInputs, RunTestInput, ShownAnswer, StopRun, earlier_answers, newest_answer,
            run_all_test_inputs, run_test_input, stop_run,
        },
        state::answer::apply,
    },
    domain::{
        id::{PersonaId, RunId, TestInputId},
        run::RunStatus,
        version::Revision,
    },
};

/// How many runs a page watches at once: a browser has six connections for all that the page does.
const WATCHED: usize = 3;

type Shown = ArcRwSignal<Option<ShownAnswer>>;

/// The answers of one persona, by test input.
#[derive(Clone, Copy)]
pub struct AnswerBook {
    persona: StoredValue<PersonaId>,
    shown: StoredValue<HashMap<TestInputId, Shown>>,
    /// Runs that go on and are not watched yet, in their order.
    waiting: StoredValue<Vec<(TestInputId, RunId)>>,
    watch: Watch,
    /// Whether any run goes on.
    pub busy: RwSignal<bool>,
}

impl AnswerBook {
    /// A book with these answers in it. Runs that go on are watched once the page is alive.
    pub fn new(persona: PersonaId, answers: Vec<ShownAnswer>) -> Self {
        let book = Self {
            persona: StoredValue::new(persona),
            shown: StoredValue::new(HashMap::new()),
            waiting: StoredValue::new(Vec::new()),
            watch: Watch::none(),
            busy: RwSignal::new(false),
        };
        for answer in answers {
            book.put(answer);
        }
        Effect::new(move |_| book.pump());
        book
    }

    /// What is shown for a test input.
    fn of(self, id: &TestInputId) -> Shown {
        let known = self.shown.with_value(|shown| shown.get(id).cloned());
        known.unwrap_or_else(|| {
            let new = Shown::new(None);
            self.shown.update_value(|shown| drop(shown.insert(id.clone(), new.clone())));
            new
        })
    }

    /// Shows an answer, and watches its run if that goes on.
    fn put(self, shown: ShownAnswer) {
        let (input, run) = (shown.answer.test_input_id.clone(), shown.answer.run_id.clone());
        if !shown.answer.status.is_over() && !self.watch.has(&run) {
            self.waiting.update_value(|waiting| waiting.push((input.clone(), run)));
        }
        self.of(&input).set(Some(shown));
    }

    /// Shows new answers and begins to watch.
    fn put_all(self, answers: Vec<ShownAnswer>) {
        for answer in answers {
            self.put(answer);
        }
        self.pump();
    }

    /// Watches as many of the runs that go on as it may.
    fn pump(self) {
        while self.watch.count() < WATCHED {
            let next = self.waiting.try_update_value(|waiting| {
                if waiting.is_empty() { None } else { Some(waiting.remove(0)) }
            });
            let Some(Some((input, run))) = next else { break };
            let shown = self.of(&input);
            let (this, of) = (run.clone(), input.clone());
            self.watch.open(
                &run,
                move |event| {
                    let mut over = false;
                    shown.update(|shown| {
                        if let Some(shown) =
                            shown.as_mut().filter(|shown| shown.answer.run_id == this)
                        {
                            apply(&mut shown.answer, event);
                            over = shown.answer.status.is_over();
                        }
                    });
                    if over {
                        self.finish(of.clone(), &this);
                    }
                },
                {
                    let run = run.clone();
                    move || self.finish(input.clone(), &run)
                },
            );
        }
        self.busy.try_set(self.watch.count() > 0);
    }

    /// A run is over, or cannot be followed: what is kept of it is shown.
    fn finish(self, input: TestInputId, run: &RunId) {
        self.watch.close(run);
        let run = run.clone();
        spawn_local(async move {
            let Ok(newest) = newest_answer(input.clone()).await else { return };
            let known = self.shown.try_with_value(|shown| shown.get(&input).cloned()).flatten();
            // Another run may have been started meanwhile.
            if let Some(signal) = known
                && newest.answer.run_id == run
                && newest.answer.status.is_over()
            {
                signal.set(Some(newest));
            }
        });
        self.pump();
    }
}

/// Runs all test inputs.
#[component]
pub fn RunAll(
    /// The answers.
    book: AnswerBook,
) -> impl IntoView {
    let notices = use_notices();
    let starting = RwSignal::new(false);
    let run = move |event: SubmitEvent| {
        event.prevent_default();
        starting.set(true);
        spawn_local(async move {
            match run_all_test_inputs(book.persona.get_value()).await {
                Ok(answers) => book.put_all(answers),
                Err(error) => notices.tell(error.to_string()),
            }
            starting.try_set(false);
        });
    };
    view! {
        <form method="post" action=RunAllTestInputs::url() on:submit=run>
            <input type="hidden" name="persona" value=book.persona.get_value().to_string()/>
            <button class="button quiet" disabled=move || starting.get() || book.busy.get()>
                <Glyph icon=Icon::Run/>
                {move || if book.busy.get() { "Running…" } else { "Run all" }}
            </button>
        </form>
    }
}

/// Runs one test input, or stops its run.
#[component]
pub fn RunOne(
    /// The answers.
    book: AnswerBook,
    /// The test input.
    input: TestInputId,
    /// What it is called.
    #[prop(into)]
    label: Signal<String>,
) -> impl IntoView {
    let notices = use_notices();
    let shown = book.of(&input);
    let going_on = Memo::new(move |_| {
        let shown = shown.read();
        let answer = shown.as_ref().map(|shown| &shown.answer);
        answer.filter(|answer| !answer.status.is_over()).map(|answer| answer.run_id.clone())
    });
    let pending = RwSignal::new(false);
    let input = StoredValue::new(input);
    // One form for both: a press on Run that became Stop in the same moment must not do the other.
    let act = move |event: SubmitEvent| {
        event.prevent_default();
        pending.set(true);
        spawn_local(async move {
            let done = match going_on.get_untracked() {
                Some(run) => stop_run(run).await,
                None => {
                    run_test_input(input.get_value()).await.map(|answer| book.put_all(vec![answer]))
                }
            };
            if let Err(error) = done {
                notices.tell(error.to_string());
            }
            pending.try_set(false);
        });
    };
    let stops = move || going_on.get().is_some();
    view! {
        <form method="post" action=move || if stops() { StopRun::url() } else { RunTestInput::url() } on:submit=act>
            <input type="hidden" name="id" value=move || match going_on.get() {
                Some(run) => run.to_string(),
                None => input.get_value().to_string(),
            }/>
            <button class="button quiet" disabled=pending aria-label=move || {
                format!("{} {}", if stops() { "Stop" } else { "Run" }, label.get())
            }>
                {move || view! { <Glyph icon=if stops() { Icon::Stop } else { Icon::Run }/> }}
                {move || if stops() { "Stop" } else { "Run" }}
            </button>
        </form>
    }
}

/// The answer to a test input, and the ones before it.
#[component]
pub fn AnswerBox(
    /// The answers.
    book: AnswerBook,
    /// The test input.
    input: TestInputId,
    /// The present version of the persona.
    #[prop(into)]
    revision: Signal<Revision>,
) -> impl IntoView {
    let shown = book.of(&input);
    let words = {
        let shown = shown.clone();
        move || {
            let shown = shown.read();
            match shown.as_ref() {
                None => view! { <p class="faint">"No answer yet"</p> }.into_any(),
                Some(shown) => answer(shown),
            }
        }
    };
    let about = {
        let shown = shown.clone();
        move || {
            let shown = shown.read();
            let shown = shown.as_ref().filter(|shown| shown.answer.status.is_over())?;
            Some(facts(shown, Some(revision.get())))
        }
    };
    let busy = {
        let shown = shown.clone();
        Memo::new(move |_| {
            shown.read().as_ref().is_some_and(|shown| !shown.answer.status.is_over())
        })
    };
    let any = Memo::new(move |_| shown.read().is_some());
    let asked = RwSignal::new(0_u32);
    let input = StoredValue::new(input);
    let earlier = RwSignal::new(None::<Vec<ShownAnswer>>);
    Effect::new(move |_| {
        // A run that ended while the list is open belongs into it.
        if asked.get() > 0 && !busy.get() {
            spawn_local(async move {
                if let Ok(all) = earlier_answers(input.get_value()).await {
                    earlier.try_set(Some(all));
                }
            });
        }
    });
    view! {
        <div class="output" aria-label="Answer" aria-busy=move || busy.get().to_string()>
            {words}
            {about}
        </div>
        {move || any.get().then(|| view! {
            <details class="earlier" on:toggle=move |_| asked.update(|asked| *asked += 1)>
                <summary class="faint small">"Earlier answers"</summary>
                {move || match earlier.get() {
                    None => view! { <p class="faint small">"Loading…"</p> }.into_any(),
                    Some(all) if all.len() < 2 => {
                        view! { <p class="faint small">"There is only this one."</p> }.into_any()
                    }
                    Some(all) => view! {
                        <ol class="earlier-list">
                            {all.iter().skip(1).map(|shown| view! {
                                <li class="output">{answer(shown)} {facts(shown, None)}</li>
                            }).collect_view()}
                        </ol>
                    }.into_any(),
                }}
            </details>
        })}
    }
}

/// The words of an answer: as they come while they come, rendered when they are all there.
fn answer(shown: &ShownAnswer) -> AnyView {
    let ShownAnswer { answer, html } = shown;
    let words = answer.text.trim_end().to_owned();
    let text = match answer.status {
        RunStatus::Queued => view! { <p class="faint">"Waiting for its turn…"</p> }.into_any(),
        RunStatus::Running if words.is_empty() => {
            view! { <p class="faint">"Thinking…"</p> }.into_any()
        }
        RunStatus::Running => view! { <p class="streaming">{words}</p> }.into_any(),
        RunStatus::Done | RunStatus::Stopped | RunStatus::Failed | RunStatus::Interrupted => {
            if words.is_empty() {
                view! { <p class="faint">"It said nothing."</p> }.into_any()
            } else if html.is_empty() {
                view! { <p class="streaming">{words}</p> }.into_any()
            } else {
                view! { <div class="prose small" inner_html=html.clone()></div> }.into_any()
            }
        }
    };
    let told = match (answer.status, &answer.error) {
        (_, Some(error)) => Some(error.to_string()),
        (RunStatus::Stopped, None) => Some("Stopped. What was said is kept.".to_owned()),
        _ => None,
    };
    view! { {text} {told.map(|told| view! { <p class="problem" role="status">{told}</p> })} }
        .into_any()
}

/// Which version answered, with which model, and what it took.
fn facts(shown: &ShownAnswer, now: Option<Revision>) -> AnyView {
    let answer = &shown.answer;
    let old = now.is_some_and(|now| now != answer.persona_revision);
    view! {
        <p class="faint small facts">
            <span class:old=old title=old.then_some("The persona has changed since.")>
                {format!("v{}", answer.persona_revision)}
            </span>
            " · " {answer.model.clone()} " · " {answer.spent.told()} " · "
            <When at=answer.created_at/>
        </p>
    }
    .into_any()
}
