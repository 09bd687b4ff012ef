//! The bar at the bottom, in which one talks to the page, and the panel in which the answers stand.
//!
//! The panel's content is the server's; here it is only decided when the panel shows itself, and what
//! is loaded into it.

mod composer;

pub use composer::Composer;
use leptos::{
    ev::{KeyboardEvent, PointerEvent},
    html::Div,
    prelude::*,
    task::spawn_local,
};
use leptos_router::hooks::use_location;

use super::{
    icon::{Glyph, Icon},
    live::use_live,
    notice::{ENDED, Noticeboard, use_notices},
};
use crate::{
    app::{
        platform::{self, Alarm, Following},
        state::{
            panel::{CHOICES, Clock, Event, InRail, Panel, Shown, Told},
            shortcut::Shortcut,
        },
    },
    domain::{
        change::ChangeState,
        id::RunId,
        news::{News, Topic},
        run::RunStatus,
    },
};

const WIDTH: &str = "rail-width";
const PATIENCE: &str = "rail-patience";
const DOCKED: &str = "rail-docked";
/// Where the run is noted that was last followed, until it has ended.
const FOLLOWED: &str = "rail-run";
/// The element with the words that are being written.
const WORDS: &str = "composer-words";
/// How much an arrow key moves the edge.
const STEP: i32 = 24;

/// The rail and its bar, as one thing.
#[derive(Clone, Copy)]
pub struct Talk {
    panel: RwSignal<Panel>,
    alarm: Alarm,
    following: Following,
    body: NodeRef<Div>,
    /// The address of the page that is talked about.
    at: Memo<String>,
    /// What stands in the panel, and for which page it was loaded; no page when it must be loaded again.
    shown: RwSignal<(String, InRail)>,
    /// The run that goes on.
    running: RwSignal<Option<RunId>>,
    /// The runs of which it is known that they ended: each is counted once, whoever tells of it.
    ended: StoredValue<Vec<RunId>>,
    /// How often content was asked for: what is asked for last is shown, whatever comes last.
    asked: StoredValue<u32>,
    board: Noticeboard,
    width: RwSignal<i32>,
}

impl Talk {
    /// Nothing is shown yet.
    pub fn open() -> Self {
        let location = use_location();
        let talk = Self {
            panel: RwSignal::new(Panel::default()),
            alarm: Alarm::unset(),
            following: Following::none(),
            body: NodeRef::new(),
            at: Memo::new(move |_| location.pathname.get()),
            shown: RwSignal::default(),
            running: RwSignal::new(None),
            ended: StoredValue::default(),
            asked: StoredValue::default(),
            board: use_notices(),
            width: RwSignal::new(400),
        };
        let live = use_live();
        Effect::new(move |_| {
            live.on(move |news| talk.hear(&news));
            talk.recall();
            let away = StoredValue::new(false);
            platform::on_pointer_down(move |event| {
                let inside = platform::is_in(event, "#rail");
                if inside {
                    talk.on(Event::ClickedInside);
                }
                // What shows it is pressed while it is hidden.
                let open = talk.panel.read_untracked().shown != Shown::Hidden;
                away.set_value(
                    open && !inside && !platform::is_in(event, "#bar, .notices, dialog"),
                );
            });
            // The page gets the panel's room: what was pressed must not move away before it is clicked.
            platform::on_click(move || {
                if away.get_value() {
                    away.set_value(false);
                    talk.on(Event::ClickedAway);
                }
            });
            platform::on_shortcut(move |wish| {
                let hidden = talk.panel.read_untracked().shown == Shown::Hidden;
                let closes = wish == Shortcut::Close && !hidden;
                // What is open in it, or before it, is closed first.
                if closes && !platform::close_popovers() {
                    talk.on(Event::Dismissed);
                }
                closes
            });
        });
        let talked = talk.board.talked;
        Effect::new(move |before: Option<u32>| {
            let (now, same) = talked.get();
            if before.is_some_and(|before| before != now) {
                // What is asked on a persona's page is said to its agent, as in the bar.
                if talk.at.read_untracked().starts_with("/personas/") {
                    talk.on(Event::Sent);
                }
                // What is asked again is asked where it was asked.
                let shown = talk.shown.get_untracked().1.conversation;
                talk.load(if same { &shown } else { "" });
            }
            now
        });
        // Another page has another listener.
        Effect::new(move |before: Option<String>| {
            let at = talk.at.get();
            if before.is_some_and(|before| before != at) {
                talk.following.close();
                talk.running.set(None);
                if talk.panel.read_untracked().shown == Shown::Hidden {
                    talk.forget();
                } else {
                    talk.load("");
                }
            }
            at
        });
        talk
    }

    /// What the person set the last time.
    fn recall(self) {
        let width = platform::read_number(WIDTH).and_then(|width| i32::try_from(width).ok());
        self.width.set(platform::resize_rail(width.unwrap_or(400)));
        if let Some(patience) = platform::read_number(PATIENCE) {
            self.on(Event::Patience(patience));
        }
        if platform::read_number(DOCKED) == Some(1) {
            self.on(Event::Asked);
        }
    }

    /// Takes in an event.
    fn on(self, event: Event) {
        let Some((before, after, clock)) = self.panel.try_update(|panel| {
            let before = panel.shown;
            let clock = panel.on(event);
            (before, panel.shown, clock)
        }) else {
            return;
        };
        match clock {
            Clock::Restart(millis) => self.alarm.set(millis, move || self.on(Event::Silence)),
            Clock::Stop => self.alarm.stop(),
            Clock::Keep => {}
        }
        if before != after {
            platform::remember(DOCKED, if after == Shown::Pinned { "1" } else { "0" });
            if before == Shown::Hidden && self.shown.read_untracked().0 != self.at.get_untracked() {
                self.load("");
            }
        }
    }

    /// What stands in the panel is not of this page, or not all any more.
    fn forget(self) {
        self.shown.update(|(at, _)| at.clear());
    }

    /// Loads a conversation, or the one in use, into the panel.
    fn load(self, conversation: &str) {
        let (at, conversation) = (self.at.get_untracked(), conversation.to_owned());
        self.asked.update_value(|asked| *asked += 1);
        let number = self.asked.get_value();
        spawn_local(async move {
            let content = platform::rail_content(&at, &conversation).await;
            if self.at.try_get_untracked().is_none_or(|now| now != at)
                || self.asked.get_value() != number
            {
                return;
            }
            let (last, before) = self.shown.get_untracked();
            let content = match content {
                Ok(content) => content,
                // What is shown is worth more than why it could not be loaded again.
                Err(error) if !before.name.is_empty() => {
                    if self.panel.read_untracked().shown != Shown::Hidden {
                        self.board.tell(error.to_string());
                    }
                    return;
                }
                Err(error) => format!(r#"<p class="problem" role="alert">{error}</p>"#),
            };
            let shown = platform::in_rail(&content).unwrap_or_default();
            // A panel that is not open is only compared with.
            let opened = self.panel.read_untracked().shown != Shown::Hidden || last == at;
            if opened {
                platform::show_rail(self.body, &content, last.is_empty());
            }
            let (run, ended) = (RunId::new(shown.run.as_str()), RunId::new(shown.ended.as_str()));
            // What ended while nobody listened is as new as what was heard.
            let missed = !before.conversation.is_empty()
                && before.conversation == shown.conversation
                && before.ended != shown.ended
                && !shown.ended.is_empty();
            self.shown.set((if opened { at } else { String::new() }, shown));
            if missed {
                self.answered(&ended);
            }
            if run.as_str().is_empty() || !opened {
                self.following.close();
                self.running.set(None);
                self.weigh();
            } else {
                self.follow(run);
            }
        });
    }

    /// Follows an answer to its end.
    fn follow(self, run: RunId) {
        let name = self.shown.with_untracked(|(_, shown)| shown.name.clone());
        self.board.announced.set(format!("{name} is answering."));
        self.running.set(Some(run.clone()));
        platform::note(FOLLOWED, run.as_str());
        self.weigh();
        let followed = run.clone();
        self.following.open(run.as_str(), move |told| match told {
            Told::More => {
                self.weigh();
                self.on(Event::Streamed);
            }
            Told::Over => {
                platform::note(FOLLOWED, "");
                self.running.try_set(None);
                self.weigh();
                self.answered(&followed);
            }
            // It may go on all the same: the conversation says how it stands.
            Told::Lost => {
                if self.running.try_get_untracked().flatten().as_ref() == Some(&followed) {
                    self.running.set(None);
                    self.load(&self.shown.get_untracked().1.conversation);
                }
            }
        });
    }

    /// Takes in that a run has ended, also when it is told twice.
    fn answered(self, run: &RunId) {
        let new = self.ended.try_update_value(|ended| {
            let new = !ended.contains(run);
            if new {
                ended.push(run.clone());
            }
            new
        });
        self.board.announced.try_set(ENDED.into());
        self.on(if new == Some(true) { Event::Answered } else { Event::Streamed });
    }

    /// Looks whether something waits for an answer.
    fn weigh(self) {
        let running = self.running.try_get_untracked().flatten().is_some();
        self.on(Event::Waits(running || platform::waits_in_rail()));
    }

    /// What happened elsewhere in the Space.
    fn hear(self, news: &News) {
        let Some((at, shown)) = self.shown.try_get_untracked() else { return };
        let loaded = at == self.at.get_untracked();
        // An answer that was left alone has ended: on another page, or before this one was loaded.
        if let Some(run) = &news.run_id
            && news.status.is_some_and(|status| status.is_over())
            && self.running.read_untracked().as_ref() != Some(run)
            && platform::noted(FOLLOWED).as_deref() == Some(run.as_str())
        {
            platform::note(FOLLOWED, "");
            self.answered(run);
        }
        match news.topic {
            // Also where the panel was never open: what ends while nobody listens is compared with this.
            Topic::Missed if self.running.read_untracked().is_none() => {
                self.load(if loaded { &shown.conversation } else { "" });
            }
            // What is followed tells nothing of the drafts above it.
            Topic::Change | Topic::Missed => {
                for draft in platform::drafts_told_of(news) {
                    platform::put_draft(&draft, Box::new(move || self.weigh()));
                }
                // Its head says what is looked at by its name.
                if loaded
                    && news.state == Some(ChangeState::Applied)
                    && at.split('/').any(|part| part == news.entity_id)
                    && self.running.read_untracked().is_none()
                {
                    self.load(&shown.conversation);
                }
            }
            Topic::Run => {
                let shown = if loaded { shown } else { InRail::default() };
                let Some(run) = &news.run_id else { return };
                // What is followed tells of its end by itself.
                let known = self.running.read_untracked().as_ref() == Some(run)
                    || self.ended.with_value(|ended| ended.contains(run));
                if known || !shown.is_told_by(news, &self.at.get_untracked()) {
                    return;
                }
                let over = news.status.is_some_and(|status| status.is_over());
                if over {
                    self.answered(run);
                }
                let begins = news.status == Some(RunStatus::Running);
                let shows = self.panel.read_untracked().shown != Shown::Hidden;
                if loaded && (begins || over) || shows && over {
                    self.load(&shown.conversation);
                }
            }
            Topic::Chat | Topic::Picture => {}
        }
    }

    fn resize(self, width: i32) {
        let width = platform::resize_rail(width);
        self.width.set(width);
        platform::remember(WIDTH, &width.to_string());
    }
}

/// The panel.
#[component]
pub fn Rail(
    /// What is talked.
    talk: Talk,
) -> impl IntoView {
    let hovered = RwSignal::new(false);
    let focused = RwSignal::new(false);
    let touch = move || {
        let touched = hovered.get_untracked() || focused.get_untracked();
        talk.on(if touched { Event::Touched } else { Event::Left });
    };
    let dragging = RwSignal::new(false);
    let drag = move |event: PointerEvent| {
        if dragging.get_untracked() {
            talk.resize(platform::from_right(&event));
        }
    };
    let by_key = move |event: KeyboardEvent| {
        let width = talk.width.get_untracked();
        let width = match event.key().as_str() {
            "ArrowLeft" => width + STEP,
            "ArrowRight" => width - STEP,
            "Home" => 10_000,
            "End" => 0,
            _ => return,
        };
        event.prevent_default();
        talk.resize(width);
    };
    let choose = move |event: leptos::ev::Event| {
        let seconds = event_target_value(&event);
        platform::remember(PATIENCE, &seconds);
        talk.on(Event::Patience(seconds.parse().unwrap_or_default()));
    };
    view! {
        <aside
            id="rail"
            class="rail"
            data-shown=move || talk.panel.read().shown.word()
            aria-label="Conversation"
            on:pointerenter=move |_| { hovered.set(true); touch(); }
            on:pointerleave=move |_| { hovered.set(false); touch(); }
            on:focusin=move |_| { focused.set(true); touch(); }
            on:focusout=move |_| { focused.set(false); touch(); }
        >
            <div
                class="rail-edge"
                role="separator"
                tabindex="0"
                aria-label="Width of the conversation"
                aria-orientation="vertical"
                aria-valuenow=move || talk.width.get()
                aria-valuemin="280"
                aria-valuemax=move || talk.width.with(|_| platform::widest_rail())
                on:pointerdown=move |event| { platform::hold_pointer(&event); dragging.set(true); }
                on:pointermove=drag
                on:pointerup=move |_| dragging.set(false)
                on:keydown=by_key
            ></div>
            <div class="rail-tools">
                <label class="small faint">
                    "Stays "
                    <select on:change=choose prop:value=move || talk.panel.read().patience.to_string()>
                        {CHOICES.map(|seconds| view! {
                            <option value=seconds.to_string()>
                                {if seconds == 0 { "until closed".to_owned() } else { format!("{seconds} s") }}
                            </option>
                        })}
                    </select>
                </label>
                <button type="button" class="icon" aria-label="Close the conversation" on:click=move |_| talk.on(Event::Dismissed)>
                    <Glyph icon=Icon::Close/>
                </button>
            </div>
            <div
                id="rail-body"
                class="rail-body"
                node_ref=talk.body
                on:scroll=move |_| platform::load_earlier_in_sight()
                on:click=move |event| {
                    if let Some(conversation) = platform::press_in_rail(&event) {
                        talk.load(&conversation);
                    }
                }
                inner_html=""
            ></div>
        </aside>
        <p class="sr" role="status">{talk.board.announced}</p>
        <Show when=move || talk.panel.read().shown == Shown::Hidden>
            <button
                type="button"
                class="rail-tab needs-script"
                aria-label="Open the conversation"
                on:click=move |_| talk.on(Event::Asked)
            >
                <Glyph icon=Icon::Talk/>
            </button>
        </Show>
    }
}
