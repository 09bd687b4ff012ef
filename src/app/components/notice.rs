//! Short notices at the edge of the page, with a way back where there is one.

use leptos::{prelude::*, task::spawn_local};

use super::icon::{Glyph, Icon};
use crate::{
    app::{platform, server_fns::versions::undo_change},
    domain::change::ChangeState,
};

/// How long a notice stays. One with a way back stays longer.
const STAYS_MS: u32 = 6_000;
const STAYS_WITH_UNDO_MS: u32 = 15_000;
/// What is told of an undo that does not fit by itself.
const HINDERED: &str = "Another edit is in the way: both texts are kept.";
/// What screen readers are told at the end of an answer.
pub const ENDED: &str = "The answer has ended.";

/// A notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    text: String,
    /// The changes that can be taken back, with commas between them.
    undo: Option<String>,
    /// Where it can be looked at.
    shows: Option<String>,
}

/// The notices of this page, and what was taken back.
#[derive(Clone, Copy)]
pub struct Noticeboard {
    shown: RwSignal<Option<Notice>>,
    /// Counts what was done or taken back: lists that care load again.
    pub undone: RwSignal<u32>,
    /// Counts what changes the conversation in the rail as a whole, and says of the last whether it was the one
    /// that is shown.
    pub talked: RwSignal<(u32, bool)>,
    /// What screen readers are told of answers, which they are not read while those are given.
    pub announced: RwSignal<String>,
}

impl Noticeboard {
    /// Shows a text.
    pub fn tell(self, text: impl Into<String>) {
        self.tell_with_undo(text.into(), None);
    }

    /// Shows a text with a button that takes these changes back.
    pub fn tell_with_undo(self, text: String, undo: Option<String>) {
        self.shown.set(Some(Notice { text, undo, shows: None }));
    }

    /// Shows a text with a link to what it is about.
    pub fn tell_of(self, text: &str, shows: Option<String>) {
        self.shown.set(Some(Notice { text: text.into(), undo: None, shows }));
    }
}

/// Makes the board available to every page.
pub fn provide_notices() {
    provide_context(Noticeboard {
        shown: RwSignal::new(None),
        undone: RwSignal::new(0),
        talked: RwSignal::new((0, false)),
        announced: RwSignal::default(),
    });
}

/// The board.
pub fn use_notices() -> Noticeboard {
    expect_context::<Noticeboard>()
}

/// Shows the newest notice.
#[component]
pub fn Notices() -> impl IntoView {
    let board = use_notices();
    let alarm = platform::Alarm::unset();
    Effect::new(move |_| {
        let stays = board.shown.read().as_ref().map(|notice| {
            match notice.undo.as_ref().or(notice.shows.as_ref()) {
                Some(_) => STAYS_WITH_UNDO_MS,
                None => STAYS_MS,
            }
        });
        match stays {
            Some(stays) => alarm.set(stays, move || board.shown.set(None)),
            None => alarm.stop(),
        }
    });
    let take_back = move |change: String| {
        spawn_local(async move {
            match undo_change(change).await {
                Ok(outcome) => {
                    let hindered = outcome.state == ChangeState::Conflict;
                    board.tell(if hindered { HINDERED } else { "Taken back." });
                    *board.undone.write() += 1;
                }
                Err(error) => board.tell(error.to_string()),
            }
        });
    };
    view! {
        <div class="notices" role="status" aria-live="polite">
            {move || board.shown.get().map(|notice| view! {
                <div class="notice">
                    <span>{notice.text}</span>
                    {notice.undo.map(|change| view! {
                        <button class="link" on:click=move |_| take_back(change.clone())>"Undo"</button>
                    })}
                    {notice.shows.map(|address| view! { <a class="link" href=address>"Show"</a> })}
                    <button class="icon" aria-label="Close" on:click=move |_| board.shown.set(None)>
                        <Glyph icon=Icon::Close/>
                    </button>
                </div>
            })}
        </div>
    }
}
