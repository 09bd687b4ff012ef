//! In the browser: messages are swiped, the map is moved and made larger, the price follows what is
//! typed, and this browser remembers by itself where it was in each chat.

use std::cell::{Cell, RefCell};

use gloo_timers::callback::Timeout;
use leptos::{ev, prelude::*};
use leptos_router::hooks::use_navigate;
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{
    AddEventListenerOptions, Element, Event, HtmlTextAreaElement, PointerEvent, WheelEvent,
};

use super::{keep_draft, kept_draft};
use crate::domain::{sent::Estimate, tokens};

/// How far a finger goes across a message to turn it over.
const SWIPE: i32 = 60;
/// How far a pointer may go and still have pressed.
const STILL: i32 = 4;
/// How long typing rests before the price is told.
const TYPING_MS: u32 = 200;
/// One step of making the map larger or smaller, in percent.
const LARGER: i32 = 125;
const SMALLER: i32 = 80;

thread_local! {
    /// Where a finger touched a message.
    static TOUCHED: Cell<Option<(i32, i32)>> = const { Cell::new(None) };
    /// The pointers that are down on the map.
    static HOLDING: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
    /// How far the map was dragged.
    static DRAGGED: Cell<i32> = const { Cell::new(0) };
    /// How large the map is, in percent.
    static ZOOM: Cell<i32> = const { Cell::new(100) };
    /// How far two fingers were apart when they touched the map, and how large it was then.
    static PINCHED: Cell<(i32, i32)> = const { Cell::new((1, 100)) };
    /// Set while somebody types.
    static TYPING: RefCell<Option<Timeout>> = const { RefCell::new(None) };
    /// The chats in which this browser went back by itself to where it was.
    static RETURNED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What an event happened in, if it fits.
pub fn around(event: &Event, selector: &str) -> Option<Element> {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok())?;
    target.closest(selector).ok().flatten()
}

fn map() -> Option<Element> {
    document().get_element_by_id("map")
}

/// Hears what is done on the page of a chat, until it is left.
pub fn hear_chat() {
    let navigate = use_navigate();
    let listeners = [
        window_event_listener(ev::pointerdown, |event| press(&event)),
        window_event_listener(ev::pointermove, |event| drag(&event)),
        window_event_listener(ev::pointerup, |event| release(&event)),
        window_event_listener(ev::pointercancel, |event| let_go(&event)),
        window_event_listener(ev::input, |event| {
            if around(&event, "#composer").is_some() {
                TYPING.set(Some(Timeout::new(TYPING_MS, tell_estimate)));
            }
        }),
        window_event_listener(ev::keydown, |event| {
            let percent = match event.key().as_str() {
                "+" | "=" => LARGER,
                "-" => SMALLER,
                _ => return,
            };
            if around(&event, ".map").is_some() {
                event.prevent_default();
                zoom(ZOOM.get() * percent / 100);
            }
        }),
        window_event_listener(ev::click, move |event| {
            if let Some(button) = around(&event, "[data-zoom]") {
                let larger = button.get_attribute("data-zoom").as_deref() == Some("in");
                zoom(ZOOM.get() * if larger { LARGER } else { SMALLER } / 100);
            }
            // A link in a drawing is none that the router knows.
            if let Some(link) = around(&event, ".map a") {
                let stays = event.default_prevented() || DRAGGED.get() > STILL;
                event.prevent_default();
                if !stays {
                    navigate(&link.get_attribute("href").unwrap_or_default(), Default::default());
                }
            }
        }),
    ];
    on_cleanup(move || listeners.into_iter().for_each(WindowListenerHandle::remove));
}

/// A pointer that is down on the map, and where.
type Held = (i32, i32, i32);

fn apart(holding: &[Held]) -> Option<i32> {
    match holding {
        [one, other] => Some((one.1 - other.1).abs() + (one.2 - other.2).abs()),
        _ => None,
    }
}

fn press(event: &PointerEvent) {
    let touch = event.pointer_type() == "touch";
    if around(event, ".map").is_some() {
        DRAGGED.set(0);
        HOLDING.with_borrow_mut(|holding| {
            holding.push((event.pointer_id(), event.client_x(), event.client_y()));
            PINCHED.set((apart(holding).unwrap_or_default().max(1), ZOOM.get()));
        });
    } else if touch && event.is_primary() && around(event, ".chat-turn").is_some() {
        TOUCHED.set(Some((event.client_x(), event.client_y())));
    }
}

fn let_go(event: &PointerEvent) {
    TOUCHED.take();
    HOLDING.with_borrow_mut(|holding| holding.retain(|(id, ..)| *id != event.pointer_id()));
}

/// One pointer moves the map, two make it larger or smaller. A single finger moves it without us.
fn drag(event: &PointerEvent) {
    let (x, y) = (event.client_x(), event.client_y());
    HOLDING.with_borrow_mut(|holding| {
        let here = holding.iter_mut().find(|(id, ..)| *id == event.pointer_id());
        let Some(here) = here else { return };
        let (across, down) = (here.1 - x, here.2 - y);
        (here.1, here.2) = (x, y);
        DRAGGED.set(DRAGGED.get() + across.abs() + down.abs());
        if let Some(apart) = apart(holding) {
            let (first, size) = PINCHED.get();
            zoom(size * apart / first);
        } else if let Some(map) = map().filter(|_| event.pointer_type() != "touch") {
            map.scroll_by_with_x_and_y(across.into(), down.into());
        }
    });
}

/// A finger that went across a message turns it over to the one before or after it.
fn release(event: &PointerEvent) {
    let touched = TOUCHED.take();
    let_go(event);
    let Some((x, y)) = touched else { return };
    let (across, down) = (event.client_x() - x, event.client_y() - y);
    let marked =
        window().get_selection().ok().flatten().is_some_and(|marked| !marked.is_collapsed());
    // What scrolls or is written in by itself is left to the browser.
    let own = around(event, "pre, table, textarea, input").is_some();
    if across.abs() < SWIPE || down.abs() * 2 > across.abs() || marked || own {
        return;
    }
    let key = if across > 0 { "h" } else { "l" };
    let turn = around(event, ".chat-turn");
    let arrow =
        turn.and_then(|turn| turn.query_selector(&format!("[data-key={key}]")).ok().flatten());
    if let Some(arrow) = arrow.and_then(|arrow| arrow.dyn_into::<web_sys::HtmlElement>().ok()) {
        arrow.click();
    }
}

/// Makes the map so large, in percent, around its middle.
fn zoom(percent: i32) {
    let before = ZOOM.get();
    let now = percent.clamp(25, 300);
    ZOOM.set(now);
    let root = document().document_element();
    if let Some(root) = root.and_then(|root| root.dyn_into::<web_sys::HtmlElement>().ok()) {
        root.style().set_property("--map-zoom", &format!("{now}%")).unwrap_or_default();
    }
    if let Some(map) = map() {
        let moved = |at: i32, seen: i32| (at + seen / 2) * now / before - seen / 2;
        map.set_scroll_left(moved(map.scroll_left(), map.client_width()));
        map.set_scroll_top(moved(map.scroll_top(), map.client_height()));
    }
}

/// Shows the part of the map that matters, and hears the wheel there.
fn open_map() {
    let Some(map) = map() else { return };
    if let Some(here) = document().get_element_by_id("map-here") {
        let (place, seen) = (here.get_bounding_client_rect(), map.get_bounding_client_rect());
        let down = place.top() - seen.top() - seen.height() / 2.0;
        let across = place.left() - seen.left() - seen.width() / 2.0;
        map.scroll_by_with_x_and_y(across, down);
    }
    let wheel = Closure::<dyn Fn(WheelEvent)>::new(|event: WheelEvent| {
        // With Ctrl, or two fingers on a pad, it is about the size.
        if event.ctrl_key() {
            event.prevent_default();
            zoom(ZOOM.get() * if event.delta_y() > 0.0 { 90 } else { 112 } / 100);
        }
    });
    let options = AddEventListenerOptions::new();
    options.set_passive(false);
    let heard = map.add_event_listener_with_callback_and_add_event_listener_options(
        "wheel",
        wheel.as_ref().unchecked_ref(),
        &options,
    );
    // It goes with the map.
    heard.map(|()| wheel.forget()).unwrap_or_default();
}

/// Tells what the next message would take with what is typed so far.
fn tell_estimate() {
    let Some(place) = document().get_element_by_id("estimate") else { return };
    let facts = place.get_attribute("data-estimate").unwrap_or_default();
    let area = document().query_selector("#composer textarea").ok().flatten();
    let typed = area.and_then(|area| area.dyn_into::<HtmlTextAreaElement>().ok());
    if let (Ok(estimate), Some(typed)) = (serde_json::from_str::<Estimate>(&facts), typed) {
        let told = estimate.with(tokens::estimate(&typed.value()) as u64).told();
        if place.text_content().as_deref() != Some(&told) {
            place.set_text_content(Some(&told));
        }
    }
}

/// The page of a chat was put in place: gives the address to look at first when the server does not know
/// this browser, and the browser remembers where it was.
pub fn shown_chat(is_new: bool) -> Option<String> {
    if is_new {
        open_map();
    }
    tell_estimate();
    let chat = document().get_element_by_id("chat")?;
    let (id, leaf) = (chat.get_attribute("data-chat")?, chat.get_attribute("data-leaf")?);
    let memory = format!("leaf {id}");
    let known = kept_draft(&memory).filter(|known| *known != leaf);
    let first = !RETURNED.with_borrow(|chats| chats.contains(&id));
    if let Some(known) = known.filter(|_| first && chat.has_attribute("data-new")) {
        let address = format!("/chats/{id}?leaf={known}");
        RETURNED.with_borrow_mut(|chats| chats.push(id));
        return Some(address);
    }
    keep_draft(&memory, &leaf);
    None
}
