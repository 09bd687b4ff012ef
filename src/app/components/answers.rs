//! The answers beside the test inputs: running, streaming, and looking back.

use leptos::{ev::SubmitEvent, prelude::*, server_fn::ServerFn, task::spawn_local};

use super::{
    draft_box::Autosave,
    icon::{Glyph, Icon},
    notice::use_notices,
    when::When,
};
use crate::{
    app::{
        platform::{Alarm, Watch},
        server_fns::answers::{
            RunAllTestInputs, RunTestInput, ShownAnswer, StopRun, earlier_answers, last_answers,
            run_all_test_inputs, run_test_input, stop_run,
        },
        state::answer::apply,
    },
    domain::{
        event::Heard,
        id::{PersonaId, RunId, TestInputId},
        run::RunStatus,
        version::Revision,
    },
};

/// After how many milliseconds the answers are looked at again: much may begin in one moment.
const SOON: u32 = 150;
/// The same, where something could not be reached.
const LATER: u32 = 3000;

type Shown = ArcRwSignal<Option<ShownAnswer>>;

/// The answers of one persona, by test input.
#[derive(Clone, Copy)]
pub struct AnswerBook {
    persona: StoredValue<PersonaId>,
    shown: StoredValue<Vec<(TestInputId, Shown)>>,
    watch: Watch,
    again: Alarm,
    /// The form of the persona.
    form: Autosave,
    /// The forms of the test inputs.
    rows: StoredValue<Vec<Autosave>>,
    /// Whether any run goes on.
    pub busy: RwSignal<bool>,
}

impl AnswerBook {
    /// A book with these answers in it, of the persona in this form. Runs that go on are watched once the
    /// page is alive.
    pub fn new(persona: PersonaId, answers: Vec<ShownAnswer>, form: Autosave) -> Self {
        let book = Self {
            persona: StoredValue::new(persona),
            shown: StoredValue::new(Vec::new()),
            watch: Watch::none(),
            again: Alarm::unset(),
            form,
            rows: StoredValue::new(Vec::new()),
            busy: RwSignal::new(false),
        };
        for answer in answers {
            book.put(answer);
        }
        Effect::new(move |_| book.pump());
        book
    }

    /// Learns of the form of a test input.
    pub fn learn(self, row: Autosave) {
        self.rows.update_value(|rows| rows.push(row));
    }

    /// Whether the server has the persona and these test inputs as they stand on the screen.
    async fn settle(self, rows: Vec<Autosave>) -> bool {
        for form in [vec![self.form], rows].concat() {
            if !form.settle().await {
                return false;
            }
        }
        true
    }

    /// What is shown for a test input.
    fn of(self, id: &TestInputId) -> Shown {
        let is_its = |(input, shown): &(_, Shown)| (input == id).then(|| shown.clone());
        let known = self.shown.with_value(|shown| shown.iter().find_map(is_its));
        known.unwrap_or_else(|| {
            let new = Shown::new(None);
            self.shown.update_value(|shown| shown.push((id.clone(), new.clone())));
            new
        })
    }

    /// Shows an answer, and watches its run if that goes on. What this page heard itself is never older.
    fn put(self, new: ShownAnswer) {
        let (input, run) = (new.answer.test_input_id.clone(), new.answer.run_id.clone());
        let (shown, is_over) = (self.of(&input), new.answer.status.is_over());
        let (is_known, is_late) = shown.with_untracked(|shown| match shown {
            Some(known) if known.answer.run_id == run => {
                // The words that were heard are yet to be rendered.
                let has_more = is_over && known.html.is_empty();
                (true, known.answer.status.is_over() && !has_more)
            }
            Some(known) => (false, known.answer.run_id > run),
            None => (false, false),
        });
        if is_late {
            return;
        }
        if is_over {
            self.watch.close(&run);
        }
        if is_over || !is_known {
            shown.set(Some(new));
        }
    }

    /// Shows new answers and begins to watch.
    fn put_all(self, answers: Vec<ShownAnswer>) {
        // Nobody may be on the page any more.
        if self.persona.try_get_value().is_none() {
            return;
        }
        for answer in answers {
            self.put(answer);
        }
        self.pump();
    }

    /// The runs of answers that are shown and not whole.
    fn going_on(self) -> Vec<RunId> {
        let going_on = |(_, shown): &(_, Shown)| {
            shown.with_untracked(|shown| {
                let answer = &shown.as_ref()?.answer;
                (!answer.status.is_over()).then(|| answer.run_id.clone())
            })
        };
        let runs = self.shown.try_with_value(|all| all.iter().filter_map(going_on).collect());
        runs.unwrap_or_default()
    }

    /// Watches the runs that go on.
    fn pump(self) {
        let runs = self.going_on();
        self.busy.try_set(!runs.is_empty());
        if !runs.iter().all(|run| self.watch.has(run)) {
            // They may go on over there: then they are watched again.
            let lost = move || {
                self.watch.close_all();
                self.renew_after(LATER);
            };
            self.watch.open(runs, move |event| self.hear(event), lost);
        }
    }

    /// Takes in what a run told.
    fn hear(self, event: Heard) {
        let run = event.run.clone();
        let of_run = |(_, shown): &(_, Shown)| {
            let is_its = |shown: &Option<ShownAnswer>| {
                shown.as_ref().is_some_and(|shown| shown.answer.run_id == run)
            };
            shown.with_untracked(is_its).then(|| shown.clone())
        };
        let shown = self.shown.try_with_value(|all| all.iter().find_map(of_run)).flatten();
        let over = shown.and_then(|shown| {
            shown.try_update(|shown| {
                let shown = shown.as_mut()?;
                apply(&mut shown.answer, &mut shown.hearing, event);
                Some(shown.answer.status.is_over())
            })
        });
        // One that is over, or is not shown any more: what is kept of it is.
        if over.flatten().unwrap_or(true) && self.watch.has(&run) {
            self.watch.close(&run);
            self.renew_after(SOON);
            self.pump();
        }
    }

    /// Looks at the answers again.
    pub fn renew(self) {
        self.renew_after(SOON);
    }

    fn renew_after(self, millis: u32) {
        let look = move || {
            spawn_local(async move {
                let Some(persona) = self.persona.try_get_value() else { return };
                match last_answers(persona).await {
                    Ok(answers) => self.put_all(answers),
                    Err(_) if !self.going_on().is_empty() => self.renew_after(LATER),
                    Err(_) => {}
                }
            });
        };
        self.again.set(millis, look);
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
        let (persona, rows) = (book.persona.get_value(), book.rows.get_value());
        spawn_local(async move {
            if book.settle(rows).await {
                match run_all_test_inputs(persona).await {
                    Ok(answers) => book.put_all(answers),
                    Err(error) => notices.tell(error.to_string()),
                }
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
    /// Its form.
    row: Autosave,
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
        let (going_on, input) = (going_on.get_untracked(), input.get_value());
        spawn_local(async move {
            let done = match going_on {
                Some(run) => stop_run(run).await.map(|()| book.renew()),
                None if book.settle(vec![row]).await => {
                    run_test_input(input).await.map(|answer| book.put_all(vec![answer]))
                }
                None => Ok(()),
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
    /// The present version of the test input.
    input_revision: Memo<Revision>,
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
            Some(facts(shown, Some(revision.get()), input_revision.get()))
        }
    };
    let busy = {
        let shown = shown.clone();
        Memo::new(move |_| {
            shown.read().as_ref().is_some_and(|shown| !shown.answer.status.is_over())
        })
    };
    let newest = Memo::new(move |_| shown.read().as_ref().map(|shown| shown.answer.run_id.clone()));
    let any = Memo::new(move |_| newest.read().is_some());
    let asked = RwSignal::new(0_u32);
    let input = StoredValue::new(input);
    let earlier = RwSignal::new(None::<(Vec<ShownAnswer>, bool)>);
    let problem = RwSignal::new(None::<String>);
    let look = move |before: Option<RunId>| {
        spawn_local(async move {
            let found = earlier_answers(input.get_value(), before.clone()).await;
            problem.try_set(found.as_ref().err().map(ToString::to_string));
            let Ok((mut some, more)) = found else { return };
            earlier.try_update(|known| {
                let mut all = known.take().map(|(all, _)| all).unwrap_or_default();
                // The list begins anew, or goes on where it ends.
                match before {
                    Some(before) => all.retain(|one| one.answer.run_id >= before),
                    None => all.clear(),
                }
                all.append(&mut some);
                *known = Some((all, more));
            });
        });
    };
    Effect::new(move |_| {
        // A run that began or ended while the list is open changes what belongs into it.
        busy.track();
        if asked.get() > 0 {
            look(None);
        }
    });
    let older = move || {
        look(earlier.with_untracked(|known| {
            known.as_ref().and_then(|(all, _)| all.last()).map(|last| last.answer.run_id.clone())
        }))
    };
    view! {
        <div class="output" aria-label="Answer" aria-busy=move || busy.get().to_string()>
            {words}
            {about}
        </div>
        {move || any.get().then(|| view! {
            <details class="earlier needs-script" on:toggle=move |_| asked.update(|asked| *asked += 1)>
                <summary class="faint small">"Earlier answers"</summary>
                {move || match earlier.get() {
                    None if problem.read().is_some() => ().into_any(),
                    None => view! { <p class="faint small">"Loading…"</p> }.into_any(),
                    Some((mut all, more)) => {
                        let newest = newest.get();
                        all.retain(|one| Some(&one.answer.run_id) != newest.as_ref());
                        if all.is_empty() {
                            view! { <p class="faint small">"There is only this one."</p> }.into_any()
                        } else {
                            view! {
                                <ol class="earlier-list">
                                    {all.iter().map(|shown| view! {
                                        <li class="output">{answer(shown)} {facts(shown, None, input_revision.get())}</li>
                                    }).collect_view()}
                                </ol>
                                {more.then(|| view! {
                                    <button class="button quiet" on:click=move |_| older()>"Older"</button>
                                })}
                            }.into_any()
                        }
                    }
                }}
                {move || problem.get().map(|problem| view! { <p class="problem small" role="alert">{problem}</p> })}
            </details>
        })}
    }
}

/// The words of an answer: as they come while they come, rendered when they are all there.
fn answer(shown: &ShownAnswer) -> AnyView {
    let ShownAnswer { answer, html, hearing } = shown;
    let words = answer.text.trim_end().to_owned();
    let told = match (answer.status, &answer.error) {
        (_, Some(error)) => Some(("problem", error.to_string())),
        (RunStatus::Stopped, None) => Some(("faint", "Stopped. What was said is kept.".to_owned())),
        _ => None,
    };
    let text = match answer.status {
        RunStatus::Queued => view! { <p class="faint">"Waiting for its turn…"</p> }.into_any(),
        RunStatus::Running if words.is_empty() && hearing.attempt > 0 => {
            view! { <p class="faint">"Asking again (attempt " {hearing.attempt} ")…"</p> }
                .into_any()
        }
        RunStatus::Running if words.is_empty() => {
            view! { <p class="faint">"Thinking…"</p> }.into_any()
        }
        RunStatus::Running => view! { <p class="streaming">{words}</p> }.into_any(),
        RunStatus::Done | RunStatus::Stopped | RunStatus::Failed | RunStatus::Interrupted => {
            if words.is_empty() && told.is_some() {
                ().into_any()
            } else if words.is_empty() {
                view! { <p class="faint">"It said nothing."</p> }.into_any()
            } else if html.is_empty() {
                view! { <p class="streaming">{words}</p> }.into_any()
            } else {
                view! { <div class="prose small" inner_html=html.clone()></div> }.into_any()
            }
        }
    };
    view! { {text} {told.map(|(class, told)| view! { <p class=class role="status">{told}</p> })} }
        .into_any()
}

/// Which version answered, with which model, and what it took; and whether the test input was another one
/// then.
fn facts(shown: &ShownAnswer, now: Option<Revision>, input_now: Revision) -> AnyView {
    let answer = &shown.answer;
    let old = now.is_some_and(|now| now != answer.persona_revision);
    view! {
        <p class="faint small facts">
            <span class:old=old title=old.then_some("The persona has changed since.")>
                {format!("v{}", answer.persona_revision)}
            </span>
            " · " {answer.model.clone()} " · " {answer.spent.told()} " · "
            <When at=answer.created_at/>
            {(answer.input_revision != input_now).then_some(" · answers an earlier version of this test input")}
        </p>
    }
    .into_any()
}
