//! In the browser: the rail's content is put in place as it comes, and the Space's news are heard.

use std::cell::RefCell;

use gloo_net::http::Request;
use gloo_timers::callback::Timeout;
use leptos::{ev, html::Div, prelude::*, task::spawn_local};
use serde::Deserialize;
use wasm_bindgen::JsCast;
use web_sys::{
    Element, EventTarget, HtmlElement, HtmlFormElement, HtmlInputElement, HtmlTextAreaElement,
    Storage, VisibilityState,
};

pub use super::cards::act_on_card;
use super::{
    cards::leave_cards,
    chat::around,
    forms::{bring_back, forget_writing, has_writing, listed, send_form},
    here::{Source, close_later},
    morph::{align, is_decided, parse, put_element},
    served::fetch_text,
};
use crate::{
    app::state::panel::{InRail, Told},
    domain::{
        change::ChangeState,
        error::ApiError,
        id::RunId,
        news::{News, Topic},
    },
};

/// How long a page may be out of sight before it stops listening: a browser has few connections.
const OUT_OF_SIGHT_MS: u32 = 20_000;
/// How long to wait before listening again after a stream was refused.
const LOST_MS: u32 = 3_000;
/// How near the end somebody must be reading for the rail to follow the words.
const NEAR_END: i32 = 120;

thread_local! {
    /// The drafts that were asked for, each as often as it was.
    static ASKED: RefCell<Vec<String>> = RefCell::default();
}

/// What an element of the page becomes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Patch {
    id: String,
    html: String,
    into: String,
    over: bool,
}

fn by_id(id: &str) -> Option<Element> {
    document().get_element_by_id(id)
}

/// All elements that fit.
fn all(selector: &str) -> Vec<Element> {
    listed(document().query_selector_all(selector))
}

fn put(patch: &Patch) {
    match by_id(&patch.id) {
        // What somebody is writing stays.
        Some(element) if has_writing(&element) => {}
        // In a chat it has arrows and tools that the patch knows nothing of.
        Some(element) if element.matches(".chat-turn").unwrap_or_default() => {
            let wanted = parse(&patch.html).map(|wanted| wanted.query_selector_all("li > [id]"));
            for piece in wanted.map(listed).unwrap_or_default() {
                if let Some(known) = by_id(&piece.id()) {
                    align(&known, &piece);
                }
            }
        }
        Some(element) => put_element(&element, &patch.html),
        None => {
            if let Some(place) = by_id(&patch.into) {
                place.insert_adjacent_html("beforeend", &patch.html).unwrap_or_default();
            }
        }
    }
}

/// An answer that is being followed.
#[derive(Clone, Copy)]
pub struct Following(StoredValue<Option<Source>, LocalStorage>);

impl Following {
    /// Nothing is followed.
    pub fn none() -> Self {
        Self(StoredValue::new_local(None))
    }

    /// Follows a run, or several with commas between them: their pieces are put in place, and `told` hears
    /// how they stand. What is lost is told after a pause, so that it can be looked at again.
    pub fn open(self, run: &str, told: impl Fn(Told) + Clone + 'static) {
        let lost = told.clone();
        let on_patch = move |data: String| {
            let patch: Patch = serde_json::from_str(&data).unwrap_or_default();
            let follows = reads_the_end();
            put(&patch);
            if follows {
                scroll_to_end();
            }
            if patch.over {
                self.close();
            }
            told(if patch.over { Told::Over } else { Told::More });
        };
        let on_lost = move || {
            let lost = lost.clone();
            Timeout::new(LOST_MS, move || lost(Told::Lost)).forget();
        };
        let source = Source::open(&format!("/rail/runs/{run}"), on_patch, on_lost);
        close_later(self.0.try_update_value(|open| std::mem::replace(open, source)).flatten());
    }

    /// Follows nothing any more.
    pub fn close(self) {
        close_later(self.0.try_update_value(Option::take).flatten());
    }
}

fn scroller() -> Option<Element> {
    by_id("rail-body")
}

fn reads_the_end() -> bool {
    scroller().is_none_or(|body| {
        body.scroll_height() - body.scroll_top() - body.client_height() < NEAR_END
    })
}

fn scroll_to_end() {
    if let Some(body) = scroller() {
        body.set_scroll_top(body.scroll_height());
    }
}

/// What the rail shows on the page with this address.
pub async fn rail_content(at: &str, conversation: &str) -> Result<String, ApiError> {
    let mut address = format!("/rail?at={}", String::from(js_sys::encode_uri_component(at)));
    if !conversation.is_empty() {
        address.push_str("&conversation=");
        address.push_str(conversation);
    }
    fetch_text(&address).await
}

/// What the rail's content is.
pub fn in_rail(content: &str) -> Option<InRail> {
    let talk = parse(content)?.first_element_child()?;
    let said = |name: &str| talk.get_attribute(name).unwrap_or_default();
    Some(InRail {
        conversation: said("data-conversation"),
        run: said("data-run"),
        ended: said("data-ended"),
        name: said("data-name"),
    })
}

/// Puts content into the rail. The same conversation stays where it is read, with what is written in it,
/// unless its end is asked for.
pub fn show_rail(body: NodeRef<Div>, content: &str, to_end: bool) {
    let wanted = parse(content).and_then(|parsed| parsed.first_element_child());
    let (Some(body), Some(wanted)) = (body.try_get_untracked().flatten(), wanted) else { return };
    let conversation = |talk: &Element| talk.get_attribute("data-conversation");
    let known = by_id("talk").filter(|talk| conversation(talk) == conversation(&wanted));
    let follows = to_end || known.is_none() || reads_the_end();
    match known {
        Some(talk) => {
            align(&talk, &wanted);
            // Nothing was said of what was loaded above.
            for card in all("#turns [data-stale] [data-state=pending]") {
                put_draft(&card.get_attribute("data-draft").unwrap_or_default(), Box::new(|| ()));
            }
        }
        None => {
            body.set_inner_html(content);
            bring_back_drafts();
        }
    }
    if follows {
        scroll_to_end();
    }
}

/// Puts what was written on drafts, and not decided, back into their cards.
fn bring_back_drafts() {
    for form in all("#rail-body form[data-save]:not([data-unsaved])") {
        if bring_back(form.unchecked_ref())
            && let Ok(Some(folded)) = form.closest("details")
        {
            folded.set_attribute("open", "").unwrap_or_default();
        }
    }
}

/// Loads earlier messages once their button comes into sight.
pub fn load_earlier_in_sight() {
    if scroller().is_some_and(|body| body.scroll_top() < NEAR_END) {
        put_earlier();
    }
}

/// Puts earlier messages before those that are shown.
fn put_earlier() {
    let Some(button) = by_id("earlier") else { return };
    let Some(address) = button.get_attribute("data-load") else { return };
    button.remove_attribute("data-load").unwrap_or_default();
    spawn_local(async move {
        let Ok(html) = fetch_text(&address).await else {
            button.set_attribute("data-load", &address).unwrap_or_default();
            return;
        };
        let (Some(row), Some(body)) = (button.parent_element(), scroller()) else { return };
        let below = body.scroll_height() - body.scroll_top();
        row.set_outer_html(&html);
        bring_back_drafts();
        body.set_scroll_top(body.scroll_height() - below);
    });
}

/// The drafts in the rail that may stand otherwise since what is told: the one that it is about and, when a thing
/// was changed, those about it that are open; all that are open, when nobody knows what was missed.
pub fn drafts_told_of(news: &News) -> Vec<String> {
    let told = news.change_id.as_ref().map_or("", |change| change.as_str());
    let about = match (news.topic, news.state) {
        (Topic::Missed, _) => "[data-about]".to_owned(),
        (_, Some(ChangeState::Applied)) => format!("[data-about=\"{}\"]", news.entity_id),
        _ => "[data-about=\"\"]".to_owned(),
    };
    let cards = format!(
        "#rail-body :is([data-draft=\"{told}\"], \
         {about}:is([data-state=pending], [data-state=conflict]))"
    );
    all(&cards).iter().filter_map(|card| card.get_attribute("data-draft")).collect()
}

/// Shows how a draft stands now, wherever it is shown in the rail, and calls back when that is done.
pub fn put_draft(id: &str, done: Box<dyn Fn()>) {
    put_card("rail", id, done);
}

/// Shows how the drafts stand now that are not in the list any more in which somebody has written on them.
pub fn put_gone_drafts() {
    for card in all(":is([data-gone], [data-gone] *)[data-draft]") {
        if let Some((place, id)) = card.id().split_once("-draft-") {
            put_card(place, id, Box::new(|| ()));
        }
    }
}

fn put_card(place: &str, id: &str, done: Box<dyn Fn()>) {
    let card = format!("[id=\"{place}-draft-{id}\"]");
    if all(&card).is_empty() {
        return;
    }
    let address = format!("/rail/drafts/{id}?place={place}");
    let times =
        |card: &str| ASKED.with_borrow(|asked| asked.iter().filter(|one| *one == card).count());
    ASKED.with_borrow_mut(|asked| asked.push(card.clone()));
    let number = times(&card);
    spawn_local(async move {
        let html = fetch_text(&address).await;
        // An answer may come after one to a later question.
        let is_last = times(&card) == number;
        if let Ok(html) = html
            && is_last
        {
            let wanted = parse(&html).and_then(|parsed| parsed.first_element_child());
            let decided = wanted.is_some_and(|wanted| is_decided(&wanted));
            for element in all(&card) {
                if decided {
                    forget_writing(&element);
                }
                if !has_writing(&element) {
                    put_element(&element, &html);
                }
            }
            done();
        }
    });
}

/// Hears the news of the Space while the page is seen.
pub fn hear_news(told: impl Fn(News) + Clone + 'static) {
    let source = StoredValue::new_local(None::<Source>);
    let alarm = StoredValue::new_local(None::<Timeout>);
    let again = StoredValue::new_local(None::<Timeout>);
    let open = StoredValue::new_local(None::<Callback<()>>);
    let told = StoredValue::new_local(told);
    open.set_value(Some(Callback::new(move |()| {
        let on_data = move |data: String| {
            if let Ok(news) = serde_json::from_str(&data) {
                told.with_value(|told| told(news));
            }
        };
        // A browser gives a stream up when it was refused once.
        let on_lost = move || {
            let retry = move || open.with_value(|open| open.iter().for_each(|open| open.run(())));
            again.set_value(Some(Timeout::new(LOST_MS, retry)));
        };
        close_later(
            source
                .try_update_value(|source| {
                    std::mem::replace(source, Source::open("/api/live", on_data, on_lost))
                })
                .flatten(),
        );
    })));
    let open = move || open.with_value(|open| open.iter().for_each(|open| open.run(())));
    open();
    let listener = window_event_listener_untyped("visibilitychange", move |_| {
        if document().visibility_state() == VisibilityState::Hidden {
            let close = move || source.set_value(None);
            alarm.set_value(Some(Timeout::new(OUT_OF_SIGHT_MS, close)));
        } else {
            alarm.set_value(None);
            if source.with_value(Option::is_none) {
                open();
            }
        }
    });
    on_cleanup(move || listener.remove());
}

/// Whether an event happened in an element that fits.
pub fn is_in(event: &web_sys::Event, selector: &str) -> bool {
    around(event, selector).is_some()
}

/// Calls back for every press of the pointer, wherever it is.
pub fn on_pointer_down(act: impl Fn(&web_sys::Event) + 'static) {
    let listener = window_event_listener(ev::pointerdown, move |event| {
        // Who goes elsewhere does not go on from the card.
        leave_cards(&event);
        act(&event);
    });
    on_cleanup(move || listener.remove());
}

/// Calls back for every click, once whatever was clicked has heard of it.
pub fn on_click(act: impl Fn() + 'static) {
    let listener = window_event_listener(ev::click, move |_| act());
    on_cleanup(move || listener.remove());
}

/// What is marked on the page: in the field that the cursor leaves, or in its text. Browsers keep what was once
/// marked in every other field.
pub fn marked_text(left: Option<EventTarget>) -> String {
    let left = left.or_else(|| document().active_element().map(EventTarget::from));
    let area = left.and_then(|left| left.dyn_into::<HtmlTextAreaElement>().ok());
    if let Some(area) = area.filter(|area| area.matches("main textarea").unwrap_or_default())
        && let (Ok(Some(from)), Ok(Some(to))) = (area.selection_start(), area.selection_end())
        && from < to
    {
        let letters: Vec<u16> = area.value().encode_utf16().collect();
        let marked = letters.get(from as usize..to as usize).unwrap_or_default();
        return String::from_utf16_lossy(marked);
    }
    let selection = window().get_selection().ok().flatten();
    // One's own words in the bar are no passage of the page.
    let on_page = selection.filter(|selection| {
        let from = selection.anchor_node();
        by_id("bar").is_none_or(|bar| !bar.contains(from.as_ref()))
    });
    on_page.map(|selection| String::from(selection.to_string())).unwrap_or_default()
}

/// Sends a form of ours.
pub async fn send_words(form: HtmlFormElement, aside: bool, wait: bool) -> Result<RunId, ApiError> {
    let hidden = |name: &str| -> Option<HtmlInputElement> {
        form.query_selector(&format!("input[name={name}]")).ok().flatten()?.dyn_into().ok()
    };
    if let (Some(to_companion), Some(parent)) = (hidden("aside"), hidden("parent")) {
        to_companion.set_disabled(!aside);
        hidden("wait").iter().for_each(|field| field.set_disabled(!wait));
        // In a chat, what is said follows what is shown.
        let chat = by_id("chat");
        let said = |name: &str| chat.as_ref().and_then(|chat| chat.get_attribute(name));
        parent.set_value(&said("data-reply").or_else(|| said("data-leaf")).unwrap_or_default());
    }
    let answered = send_form(&form, None).await?;
    serde_json::from_str(&answered.result).map_err(|_| ApiError::Unavailable)
}

/// Sends one field to a server function and does not wait for what it says.
pub fn post(address: &'static str, id: &RunId) {
    let body = format!("id={id}");
    spawn_local(async move {
        let request = Request::post(address)
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        if let Ok(request) = request {
            drop(request.send().await);
        }
    });
}

/// Whether something in the rail waits for an answer: a draft, or what was said last.
pub fn waits_in_rail() -> bool {
    let waits = "#rail-body :is([data-draft]:is([data-state=pending], [data-state=conflict]), \
                 .turn:last-child > [data-waits])";
    document().query_selector(waits).ok().flatten().is_some()
}

/// Where the pointer is, counted from the right edge of the window.
pub fn from_right(event: &web_sys::PointerEvent) -> i32 {
    let room = window().inner_width().ok().and_then(|width| width.as_f64()).unwrap_or_default();
    room as i32 - event.client_x()
}

/// Lets an element hear the pointer until it is released, wherever it goes.
pub fn hold_pointer(event: &web_sys::PointerEvent) {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    if let Some(target) = target {
        target.set_pointer_capture(event.pointer_id()).unwrap_or_default();
    }
}

/// Makes the rail so wide, in pixels, within what fits the window.
pub fn resize_rail(width: i32) -> i32 {
    let width = width.clamp(280, widest_rail());
    set_length("--rail-width", width);
    width
}

/// As wide as the panel can be: beside it the page keeps the room of a narrow column, and the navigation its
/// own.
pub fn widest_rail() -> i32 {
    let room = window().inner_width().ok().and_then(|width| width.as_f64()).unwrap_or(1280.0);
    (room as i32 - 700).max(320)
}

/// Tells the page how high the bar is, once it shows what was just changed.
pub fn measure_bar() {
    request_animation_frame(|| {
        let bar = by_id("bar").and_then(|bar| bar.dyn_into::<HtmlElement>().ok());
        set_length("--bar-height", bar.map_or(0, |bar| bar.offset_height()));
    });
}

fn set_length(name: &str, pixels: i32) {
    if let Some(root) = document().document_element()
        && let Ok(root) = root.dyn_into::<HtmlElement>()
    {
        root.style().set_property(name, &format!("{pixels}px")).unwrap_or_default();
    }
}

/// Remembers something in this browser.
pub fn remember(name: &str, value: &str) {
    super::keep_draft(name, value);
}

fn tab() -> Option<Storage> {
    window().session_storage().ok().flatten()
}

/// Notes something in this tab, for the document after this one: what another tab does is not its own.
pub fn note(name: &str, text: &str) {
    if let Some(tab) = tab() {
        // Without room it is not known there.
        tab.set_item(name, text).unwrap_or_default();
    }
}

/// What was noted.
pub fn noted(name: &str) -> Option<String> {
    tab()?.get_item(name).ok().flatten()
}

/// A number that was remembered.
pub fn read_number(name: &str) -> Option<u32> {
    super::kept_draft(name)?.parse().ok()
}

/// Does what a button in the rail's content asks for. Gives the conversation that one asks to see.
pub fn press_in_rail(event: &web_sys::Event) -> Option<String> {
    let button = around(event, "button")?;
    if button.has_attribute("data-load") {
        put_earlier();
    }
    button.get_attribute("data-conversation")
}
