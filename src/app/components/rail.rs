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
    notice::use_notices,
};
use crate::{
    app::{
        platform::{self, Alarm, Following},
        state::{
            panel::{CHOICES, Clock, Event, InRail, Panel, Shown},
            shortcut::Shortcut,
        },
    },
    domain::{
        id::RunId,
        news::{News, Topic},
        run::RunStatus,
    },
};

const WIDTH: &str = "rail-width";
const PATIENCE: &str = "rail-patience";
const DOCKED: &str = "rail-docked";
/// The run that was last followed, until it has ended.
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
    /// What stands in the panel, and for which page it was loaded.
    shown: RwSignal<(String, InRail)>,
    /// The run that goes on.
    running: RwSignal<Option<RunId>>,
    /// What screen readers are told.
    announced: RwSignal<String>,
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
            announced: RwSignal::default(),
            width: RwSignal::new(400),
        };
        let live = use_live();
        Effect::new(move |_| {
            live.on(move |news| talk.hear(&news));
            talk.recall();
            platform::on_pointer_down(move |event| {
                if platform::is_in(event, "#rail") {
                    talk.on(Event::ClickedInside);
                } else if !platform::is_in(event, "#bar, .notices, dialog") {
                    talk.on(Event::ClickedAway);
                }
            });
            platform::on_shortcut(move |wish| match wish {
                Shortcut::Talk => {
                    platform::focus(WORDS);
                    true
                }
                Shortcut::Close if talk.panel.read_untracked().shown != Shown::Hidden => {
                    talk.on(Event::Dismissed);
                    true
                }
                _ => false,
            });
        });
        let talked = use_notices().talked;
        Effect::new(move |before: Option<u32>| {
            let now = talked.get();
            if before.is_some_and(|before| before != now) {
                // What is asked on a persona's page is said to its agent, as in the bar.
                if talk.at.read_untracked().starts_with("/personas/") {
                    talk.on(Event::Sent);
                }
                talk.load("");
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
                    talk.shown.set(Default::default());
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

    /// Loads a conversation, or the one in use, into the panel.
    fn load(self, conversation: &str) {
        let (at, conversation) = (self.at.get_untracked(), conversation.to_owned());
        spawn_local(async move {
            let content = platform::rail_content(&at, &conversation).await;
            if self.at.try_get_untracked().is_none_or(|now| now != at) {
                return;
            }
            let content = content
                .unwrap_or_else(|error| format!(r#"<p class="problem" role="alert">{error}</p>"#));
            let shown = platform::show_rail(self.body, &content).unwrap_or_default();
            let run = RunId::new(shown.run.as_str());
            self.shown.set((at, shown));
            if run.as_str().is_empty() {
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
        self.announced.set(format!("{name} is answering."));
        self.running.set(Some(run.clone()));
        platform::remember(FOLLOWED, run.as_str());
        self.weigh();
        self.following.open(run.as_str(), move |over| {
            if over {
                platform::forget_draft(FOLLOWED);
                self.running.try_set(None);
                self.announced.try_set("The answer has ended.".into());
            }
            self.weigh();
            self.on(if over { Event::Answered } else { Event::Streamed });
        });
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
            && platform::kept_draft(FOLLOWED).as_deref() == Some(run.as_str())
        {
            platform::forget_draft(FOLLOWED);
            self.on(Event::Answered);
        }
        match news.topic {
            Topic::Change => {
                if let Some(change) = &news.change_id {
                    platform::put_draft(change.as_str(), move || self.weigh());
                }
            }
            Topic::Run if loaded => {
                let here = news.conversation_id.as_ref().map(|id| id.as_str());
                let begins = news.status == Some(RunStatus::Running);
                let known = self.running.read_untracked().as_ref() == news.run_id.as_ref();
                // Where nothing was said yet, these may be the first words.
                let mine = shown.conversation.is_empty() || here == Some(&shown.conversation);
                let new = mine && begins && !known;
                if new && !platform::writing_in_rail() {
                    self.load(&shown.conversation);
                }
            }
            Topic::Missed
                if loaded
                    && self.running.read_untracked().is_none()
                    && !platform::writing_in_rail() =>
            {
                self.load(&shown.conversation);
            }
            Topic::Run | Topic::Missed | Topic::Chat | Topic::Picture => {}
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
        <p class="sr" role="status">{talk.announced}</p>
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
