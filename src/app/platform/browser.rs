//! In the browser: keys, timers, dialogs and the page's memory are real.

use std::cell::RefCell;

use gloo_timers::callback::Timeout;
use leptos::{
    ev,
    html::Dialog,
    nonce::Nonce,
    prelude::*,
    task::{spawn_local, tick},
    text_prop::TextProp,
};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{
    EventSource, HtmlElement, HtmlInputElement, HtmlTextAreaElement, MessageEvent, Storage,
};

use super::forms::listed;
use crate::{
    app::state::{
        draft::moved,
        shortcut::{Shortcut, shortcut},
    },
    domain::{error::ApiError, event::Heard, id::RunId, theme::Theme, timestamp::Timestamp},
};

/// The status was sent with the page.
pub fn set_status(_: u16) {}

/// The policy was sent with the page.
pub fn content_policy() -> Option<Nonce> {
    None
}

/// A title as the browser takes it.
pub fn title_text(text: impl Fn() -> String + Send + Sync + 'static) -> TextProp {
    text.into()
}

/// The colours that the page has.
pub fn theme() -> Theme {
    let word = document().document_element().and_then(|root| root.get_attribute("data-theme"));
    let word = word.unwrap_or_default();
    Theme::from_word(&word).unwrap_or_default()
}

/// The server sets the cookie.
pub fn remember_theme(_: Theme) {}

/// Gives the page its colours.
pub fn apply_theme(theme: Theme) {
    if let Some(root) = document().document_element() {
        // An attribute name that is a constant cannot be refused.
        root.set_attribute("data-theme", theme.word()).unwrap_or_default();
    }
}

/// The present moment.
pub fn now() -> Timestamp {
    Timestamp(js_sys::Date::now() as i64)
}

/// What a part of a page shows.
pub async fn gathered<T>(asked: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    asked.await
}

/// An alarm: it rings once, later, unless it is set again, stopped, or its owner goes away.
#[derive(Clone, Copy)]
pub struct Alarm(StoredValue<Option<Timeout>, LocalStorage>);

impl Alarm {
    /// An alarm that is not set.
    pub fn unset() -> Self {
        Self(StoredValue::new_local(None))
    }

    /// Does something later.
    pub fn set(self, millis: u32, act: impl FnOnce() + 'static) {
        self.0.set_value(Some(Timeout::new(millis, act)));
    }

    /// Nothing happens then.
    pub fn stop(self) {
        self.0.set_value(None);
    }
}

/// An open stream of events. It is closed when it is dropped, or it would go on by itself.
pub struct Source {
    source: EventSource,
    _told: Closure<dyn Fn(MessageEvent)>,
    _lost: Closure<dyn Fn()>,
}

impl Drop for Source {
    fn drop(&mut self) {
        self.source.close();
    }
}

impl Source {
    /// Listens at an address; `lost` is called when nothing more will come.
    pub fn open(
        address: &str,
        told: impl Fn(String) + 'static,
        lost: impl Fn() + 'static,
    ) -> Option<Self> {
        let source = EventSource::new(address).ok()?;
        let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            told(event.data().as_string().unwrap_or_default());
        });
        let here = source.clone();
        let on_error = Closure::<dyn Fn()>::new(move || {
            // A connection that broke is opened again by the browser itself.
            if here.ready_state() == EventSource::CLOSED {
                lost();
            }
        });
        source.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        source.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        Some(Self { source, _told: on_message, _lost: on_error })
    }
}

/// Closes a stream, also from within one of its own calls: what called is let go of right after.
pub fn close_later(source: Option<Source>) {
    if let Some(open) = &source {
        open.source.close();
    }
    Timeout::new(0, move || drop(source)).forget();
}

/// Runs that are being watched, all of them by one stream: a browser has six connections for all pages of a server
/// that it shows. They are left when the owner goes away.
#[derive(Clone, Copy)]
pub struct Watch(StoredValue<(Vec<RunId>, Option<Source>), LocalStorage>);

impl Watch {
    /// Nothing is watched yet.
    pub fn none() -> Self {
        Self(StoredValue::new_local((Vec::new(), None)))
    }

    /// Watches these runs from their beginnings, and no others; `lost` is called when nothing more will come.
    pub fn open(self, runs: Vec<RunId>, told: impl Fn(Heard) + 'static, lost: impl Fn() + 'static) {
        let told = move |data: String| {
            if let Ok(event) = serde_json::from_str(&data) {
                told(event);
            }
        };
        let names: Vec<_> = runs.iter().map(RunId::as_str).collect();
        let source = Source::open(&format!("/rail/answers/{}", names.join(",")), told, lost);
        let before = self.0.try_update_value(|watched| std::mem::replace(watched, (runs, source)));
        close_later(before.and_then(|(_, source)| source));
    }

    /// Whether this one is watched.
    pub fn has(self, run: &RunId) -> bool {
        self.0.try_with_value(|(runs, _)| runs.contains(run)).unwrap_or_default()
    }

    /// Leaves a run. It may be called from within one of its own calls, so it happens right after.
    pub fn close(self, run: &RunId) {
        let left = self.0.try_update_value(|(runs, source)| {
            runs.retain(|other| other != run);
            if runs.is_empty() { source.take() } else { None }
        });
        close_later(left.flatten());
    }

    /// Leaves all of them.
    pub fn close_all(self) {
        let left = self.0.try_update_value(std::mem::take);
        close_later(left.and_then(|(_, source)| source));
    }
}

/// Calls back for every key of ours; the answer says whether it was used.
pub fn on_shortcut(act: impl Fn(Shortcut) -> bool + 'static) {
    let listener = window_event_listener(ev::keydown, move |event| {
        let target = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
        // Nothing is typed into what is ticked or pressed.
        let field = "textarea, select, input:not([type=checkbox], [type=radio], [type=submit])";
        let typing = target.is_some_and(|element| element.matches(field).unwrap_or_default());
        let ctrl = event.ctrl_key() || event.meta_key();
        // A dialog closes by itself, and what one listener used is not for the next.
        let dialog = document().query_selector("dialog[open]").ok().flatten().is_some();
        if let Some(wish) = shortcut(&event.key(), ctrl, typing)
            && !event.alt_key()
            && !(wish == Shortcut::Close && (dialog || event.default_prevented()))
            && act(wish)
        {
            event.prevent_default();
        }
    });
    on_cleanup(move || listener.remove());
}

/// Asks before the page is left while something is unsaved.
pub fn warn_before_leaving(unsaved: impl Fn() -> bool + 'static) {
    let listener = window_event_listener(ev::beforeunload, move |event| {
        if unsaved() {
            event.prevent_default();
            event.set_return_value("unsaved");
        }
    });
    on_cleanup(move || listener.remove());
}

/// Opens a dialog over the page.
pub fn open_dialog(dialog: NodeRef<Dialog>) {
    if let Some(dialog) = dialog.get_untracked()
        && !dialog.open()
    {
        // It only fails on a dialog that is open or not in the page.
        dialog.show_modal().unwrap_or_default();
    }
}

/// Closes it.
pub fn close_dialog(dialog: NodeRef<Dialog>) {
    if let Some(dialog) = dialog.get_untracked() {
        dialog.close();
    }
}

/// The small forms that stand open.
pub const POPOVERS: &str = "details.popover[open]";

/// Closes the small forms that stand open, and the part of a draft that is being written in. Says whether
/// there was one.
pub fn close_popovers() -> bool {
    close_all(POPOVERS) | close_all(".draft details[open]:focus-within")
}

/// Closes what stands open. Who was in a draft is at its card again.
pub fn close_all(which: &str) -> bool {
    let mut closed = false;
    while let Ok(Some(open)) = document().query_selector(which) {
        if let Ok(Some(card)) = open.closest(".draft") {
            focus(&card.id());
        }
        open.remove_attribute("open").unwrap_or_default();
        closed = true;
    }
    closed
}

/// Puts the cursor into a field, with its text marked.
pub fn focus(id: &str) {
    if let Some(element) = document().get_element_by_id(id)
        && let Ok(element) = element.dyn_into::<HtmlElement>()
    {
        element.focus().unwrap_or_default();
        if let Ok(input) = element.dyn_into::<HtmlInputElement>() {
            input.select();
        }
    }
}

/// After so many turns of the program, what a change shows is shown.
const TURNS: usize = 8;

/// Changes what stands in the fields. The one that is being written in keeps its cursor, what is marked in
/// it, and its place.
pub fn keep_cursor(act: impl FnOnce()) {
    let field = document().active_element();
    let field = field.filter(|field| field.matches("textarea, input").unwrap_or_default());
    let field = field.map(|field| {
        // A line has all of an area that is asked for here.
        let field: HtmlTextAreaElement = field.unchecked_into();
        let end = |end: Result<Option<u32>, JsValue>| end.ok().flatten();
        let marked = end(field.selection_start()).zip(end(field.selection_end()));
        (units(&field), marked, field.scroll_top(), field)
    });
    act();
    spawn_local(async move {
        let Some((before, Some((from, to)), top, field)) = field else { return };
        // What shows the text comes first, and may follow from something that does.
        for _ in 0..TURNS {
            tick().await;
            if units(&field) != before {
                break;
            }
        }
        let after = units(&field);
        if before != after {
            let place = |place| moved(&before, &after, place);
            field.set_selection_range(place(from), place(to)).unwrap_or_default();
            field.set_scroll_top(top);
        }
    });
}

fn units(field: &HtmlTextAreaElement) -> Vec<u16> {
    field.value().encode_utf16().collect()
}

/// The server wrote it there.
pub fn key_help() -> String {
    String::new()
}

/// Puts the cursor there once the page shows what was just changed.
pub fn focus_later(id: String) {
    request_animation_frame(move || focus(&id));
}

fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}

thread_local! {
    /// What was typed before the page came alive, by element.
    static EARLY: RefCell<Vec<(String, String)>> = RefCell::default();
}

/// Notes what was typed while the program was still loading: taking over the page resets it.
pub fn note_early_typing() {
    for field in listed(document().query_selector_all(":is(main, #bar) :is(textarea, input)[id]")) {
        let typed = match field.dyn_into::<HtmlTextAreaElement>() {
            Ok(area) => {
                let first = area.default_value().unwrap_or_default();
                (area.value() != first).then(|| (area.id(), area.value()))
            }
            Err(other) => other.dyn_into::<HtmlInputElement>().ok().and_then(|input| {
                (input.value() != input.default_value()).then(|| (input.id(), input.value()))
            }),
        };
        if let Some((id, text)) = typed {
            EARLY.with_borrow_mut(|early| early.push((id, text)));
        }
    }
}

/// What was typed into an element before the page came alive. It is told once.
pub fn typed_early(element: &str) -> Option<String> {
    EARLY.with_borrow_mut(|early| {
        let at = early.iter().position(|(id, _)| id == element)?;
        Some(early.swap_remove(at).1)
    })
}

/// Keeps what could not be sent, for the case that the page is lost.
pub fn keep_draft(name: &str, text: &str) {
    if let Some(storage) = storage() {
        // Without room the text still stands on the page.
        storage.set_item(name, text).unwrap_or_default();
    }
}

/// What was kept.
pub fn kept_draft(name: &str) -> Option<String> {
    storage()?.get_item(name).ok().flatten()
}

/// Forgets it.
pub fn forget_draft(name: &str) {
    if let Some(storage) = storage() {
        storage.remove_item(name).unwrap_or_default();
    }
}
