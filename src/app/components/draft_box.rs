//! What a form that saves by itself needs: the saving, how it stands, and the way out of a conflict.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    task::{Poll, Waker},
};

use leptos::{prelude::*, task::spawn_local};

use super::{
    notice::{Noticeboard, use_notices},
    written::written,
};
use crate::{
    app::{
        platform,
        state::{
            draft::{Draft, MERGED, Phase, Standing, Texts},
            shortcut::Shortcut,
        },
    },
    domain::{error::ApiError, merge::merge, timestamp::Timestamp, version::Revision},
};

/// How long after the last letter a text is saved.
const PAUSE_MS: i64 = 900;
/// How long somebody who never pauses types before it is saved all the same.
const LONGEST_MS: i64 = 5_000;
/// How long until a failed save is tried again.
const RETRY_MS: u32 = 4_000;

/// What is said when something would be done with a text that is not saved.
const NOT_SETTLED: &str = "Not run: what is written here could not be saved yet.";

/// What the server has after a save.
pub type Kept = Result<(Revision, Texts), ApiError>;

/// Fields that could not be saved: what they were written against, and what was written.
type Unsaved = BTreeMap<String, (String, String)>;

/// A form that saves by itself.
#[derive(Clone, Copy)]
pub struct Autosave {
    /// The form.
    pub draft: RwSignal<Draft>,
    /// Saves now.
    pub save: Callback<()>,
    /// Texts that could not be saved the last time, found in this browser.
    found: RwSignal<Option<Unsaved>>,
    memory: StoredValue<String>,
    /// Those who wait for the end of a save.
    waiting: StoredValue<Vec<Waker>>,
    board: Noticeboard,
}

impl Autosave {
    /// Saves the draft with `send`. What cannot be sent is remembered in this browser under `memory`.
    pub fn new<Sending>(
        draft: Draft,
        memory: String,
        send: impl Fn(Revision, Texts) -> Sending + Clone + Send + Sync + 'static,
    ) -> Self
    where
        Sending: Future<Output = Kept> + 'static,
    {
        // Counted, not owned by the page: the last save may begin when the page is already gone.
        let shared = ArcRwSignal::new(draft);
        let draft = RwSignal::from(shared.clone());
        let stored_memory = StoredValue::new(memory.clone());
        let waiting = StoredValue::new(Vec::<Waker>::new());
        let save_now = move || {
            let sent = shared.try_update(Draft::send).flatten();
            let Some((revision, texts)) = sent else { return };
            let (shared, memory, send) = (shared.clone(), memory.clone(), send.clone());
            spawn_local(async move {
                let kept = send(revision, texts).await;
                platform::keep_cursor(|| {
                    shared.update(|draft| match kept {
                        Ok((revision, theirs)) => draft.kept(revision, theirs),
                        Err(error) => draft.refused(error),
                    });
                });
                remember(&memory, &shared.get_untracked());
                waiting
                    .try_update_value(std::mem::take)
                    .into_iter()
                    .flatten()
                    .for_each(Waker::wake);
            });
        };
        let save = Callback::new({
            let save_now = save_now.clone();
            move |()| save_now()
        });
        let (found, board) = (RwSignal::new(None), use_notices());
        let autosave = Self { draft, save, found, memory: stored_memory, waiting, board };
        autosave.keep_time();
        autosave.look_back();
        Effect::new(move |_| {
            platform::on_shortcut(move |wish| {
                let saves = wish == Shortcut::Save;
                if saves {
                    save.run(());
                }
                saves
            });
            platform::warn_before_leaving(move || {
                draft.try_with_untracked(|draft| draft.standing() != Standing::Saved) == Some(true)
            });
        });
        // Going to another page of ours saves on the way.
        on_cleanup(save_now);
        autosave
    }

    /// Saves now, and waits until the server has what is on the screen. `false` when it cannot: that was
    /// told.
    pub async fn settle(self) -> bool {
        let mut tried = false;
        let is_saved = poll_fn(|context| {
            match self.draft.try_with_untracked(Draft::standing) {
                // A form that is gone was saved on the way.
                None | Some(Standing::Saved) => Poll::Ready(true),
                Some(Standing::Conflict) => Poll::Ready(false),
                Some(Standing::Failed(_)) if tried => Poll::Ready(false),
                Some(Standing::Unsaved | Standing::Saving | Standing::Failed(_)) => {
                    tried = true;
                    self.waiting.update_value(|waiting| waiting.push(context.waker().clone()));
                    self.save.run(());
                    Poll::Pending
                }
            }
        });
        let is_saved = is_saved.await;
        if !is_saved {
            self.board.tell(NOT_SETTLED);
        }
        is_saved
    }

    /// Saves after a pause, and tries again after a failure.
    fn keep_time(self) {
        let Self { draft, save, .. } = self;
        let alarm = platform::Alarm::unset();
        let unsaved_since = StoredValue::new(None::<Timestamp>);
        Effect::new(move |_| {
            let delay = match draft.read().standing() {
                Standing::Unsaved => {
                    let now = platform::now();
                    let since = unsaved_since.get_value().unwrap_or(now);
                    unsaved_since.set_value(Some(since));
                    let left = (LONGEST_MS - (now.0 - since.0)).clamp(0, PAUSE_MS);
                    Some(u32::try_from(left).unwrap_or_default())
                }
                Standing::Failed(error) if error.is_transient() => Some(RETRY_MS),
                Standing::Saved | Standing::Saving | Standing::Failed(_) | Standing::Conflict => {
                    unsaved_since.set_value(None);
                    None
                }
            };
            match delay {
                Some(delay) => alarm.set(delay, move || save.run(())),
                None => alarm.stop(),
            }
        });
    }

    /// What was changed elsewhere appears. When it was merged with what is being typed, that is said, with a
    /// link to what came where the page has versions.
    pub fn meet(self, revision: Revision, theirs: Texts, versions: Option<&str>) {
        let mut merged = None;
        platform::keep_cursor(|| {
            merged = self.draft.try_update(|draft| {
                let before = draft.revision;
                draft.met(revision, theirs).then_some(before)
            });
        });
        if let Some(before) = merged.flatten() {
            let shows = versions.map(|path| format!("{path}&from={before}&to={revision}"));
            self.board.tell_of(MERGED, shows);
        }
    }

    /// Takes over what was typed into a field before the page came alive.
    pub fn adopt(self, field: &'static str, element: &str) {
        let element = element.to_owned();
        Effect::new(move |_| {
            if let Some(text) = platform::typed_early(&element) {
                self.draft.update(|draft| draft.type_in(field, text));
            }
        });
    }

    /// Looks for what an earlier visit could not save.
    fn look_back(self) {
        Effect::new(move |_| {
            let memory = self.memory.get_value();
            let kept = platform::kept_draft(&memory);
            let Some(kept) = kept.and_then(|text| serde_json::from_str::<Unsaved>(&text).ok())
            else {
                return;
            };
            let differs = self.draft.with_untracked(|draft| {
                let other =
                    |(field, (_, text)): (&String, &(String, String))| draft.text(field) != *text;
                kept.iter().any(other)
            });
            if differs { self.found.set(Some(kept)) } else { platform::forget_draft(&memory) }
        });
    }

    /// Puts the texts that were found back into the form, merged with what was written since.
    fn bring_back(self) {
        let Some(found) = self.found.get_untracked() else { return };
        self.draft.update(|draft| {
            let fields: Vec<&'static str> = draft.typed.keys().copied().collect();
            for field in fields {
                if let Some((base, text)) = found.get(field) {
                    let now = draft.text(field);
                    let both = merge(base, text, &now).unwrap_or_else(|_| text.clone());
                    draft.type_in(field, both);
                }
            }
        });
        self.found.set(None);
    }

    /// Forgets the texts that were found.
    fn drop_found(self) {
        platform::forget_draft(&self.memory.get_value());
        self.found.set(None);
    }
}

/// Keeps what could not be saved in this browser, and forgets what was.
fn remember(memory: &str, draft: &Draft) {
    match draft.standing() {
        Standing::Failed(_) | Standing::Conflict => {
            let changed = draft.changed().into_iter();
            let unsaved: Unsaved = changed
                .map(|(field, text)| {
                    let base = draft.saved.get(field).cloned().unwrap_or_default();
                    (field.to_owned(), (base, text))
                })
                .collect();
            platform::keep_draft(memory, &serde_json::to_string(&unsaved).unwrap_or_default());
        }
        Standing::Saved => platform::forget_draft(memory),
        Standing::Unsaved | Standing::Saving => {}
    }
}

/// Says how saving stands; of a form that nobody touched yet, only if `always`.
#[component]
pub fn SaveState(
    /// The form.
    autosave: Autosave,
    /// Whether to say "Saved" of a form that nobody touched.
    #[prop(optional)]
    always: bool,
) -> impl IntoView {
    let draft = autosave.draft;
    let standing = Memo::new(move |_| draft.read().standing());
    let first = draft.with_untracked(|draft| draft.revision);
    let untouched = Memo::new(move |_| !always && draft.read().revision == first);
    let merged = Memo::new(move |_| draft.read().merged);
    view! {
        <span class="save-state" role="status">
            {move || match standing.get() {
                Standing::Saved if untouched.get() => ().into_any(),
                Standing::Saved if merged.get() => {
                    view! { <span class="saved">"Saved, with a change from elsewhere"</span> }.into_any()
                }
                Standing::Saved => view! { <span class="saved">"Saved"</span> }.into_any(),
                Standing::Unsaved => view! { <span>"Unsaved"</span> }.into_any(),
                Standing::Saving => view! { <span>"Saving…"</span> }.into_any(),
                Standing::Conflict => view! { <span class="bad">"Needs your decision"</span> }.into_any(),
                Standing::Failed(error) => view! {
                    <span class="bad" title=error.to_string()>"Not saved"</span>
                    <button type="button" class="link" on:click=move |_| autosave.save.run(())>
                        "Try again"
                    </button>
                }.into_any(),
            }}
        </span>
    }
}

/// What stands between the person and a saved text: a failure, a conflict, or an unsaved text found.
#[component]
pub fn DraftTrouble(
    /// The form.
    autosave: Autosave,
) -> impl IntoView {
    let draft = autosave.draft;
    let phase = Memo::new(move |_| match &draft.read().phase {
        Phase::Sending(_) => Phase::Resting,
        other => other.clone(),
    });
    view! {
        {move || autosave.found.get().map(|_| view! {
            <div class="trouble" role="alert">
                <p>"This browser still has text that could not be saved the last time."</p>
                <p class="row">
                    <button type="button" class="button" on:click=move |_| autosave.bring_back()>
                        "Bring it back"
                    </button>
                    <button type="button" class="button quiet" on:click=move |_| autosave.drop_found()>
                        "Drop it"
                    </button>
                </p>
            </div>
        })}
        {move || match phase.get() {
            Phase::Resting | Phase::Sending(_) => ().into_any(),
            Phase::Failed(error) => view! {
                <p class="problem" role="alert">{error.to_string()} " What you wrote is still here."</p>
            }.into_any(),
            Phase::Conflicting(conflict) => {
                let field = draft.with_untracked(|draft| {
                    draft.typed.keys().copied().find(|field| *field == conflict.field)
                });
                // The left text is the form's own, so that typing in either place is one text.
                let mine = Memo::new(move |_| field.map(|field| draft.read().text(field)).unwrap_or_default());
                let type_in = move |text: String| {
                    if let Some(field) = field {
                        draft.update(|draft| draft.type_in(field, text));
                    }
                };
                let theirs = conflict.theirs.clone();
                let settle = move |text: String| {
                    if let Some(field) = field {
                        draft.update(|draft| draft.decide(field, text));
                        autosave.save.run(());
                    }
                };
                let error = ApiError::Conflict(Box::new(conflict.clone()));
                view! {
                    <div class="trouble" role="alert">
                        <p>{error.to_string()}</p>
                        <div class="both">
                            <label>
                                "Yours"
                                <textarea
                                    prop:value=mine
                                    on:input=move |event| type_in(event_target_value(&event))
                                    inner_html=written(&conflict.yours)
                                ></textarea>
                            </label>
                            <label>
                                "Theirs"
                                <textarea readonly prop:value=conflict.theirs.clone() inner_html=written(&conflict.theirs)></textarea>
                            </label>
                        </div>
                        <p class="row">
                            <button type="button" class="button" on:click=move |_| settle(mine.get_untracked())>
                                "Save mine"
                            </button>
                            <button type="button" class="button quiet" on:click=move |_| settle(theirs.clone())>
                                "Take theirs"
                            </button>
                        </p>
                    </div>
                }.into_any()
            }
        }}
    }
}
