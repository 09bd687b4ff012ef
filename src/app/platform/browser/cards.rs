//! In the browser: drafts and messages are gone through by keys.

use std::cell::{Cell, RefCell};

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{forms::listed, rail::is_in};

/// What can be gone through by keys.
const CARDS: &str = "[data-draft], .chat-turn";

thread_local! {
    /// Which card was last turned over to another branch by a key.
    static LAST_TURN: Cell<Option<usize>> = const { Cell::new(None) };
    /// The card that a key was last about, by its identifier and its place.
    static LAST_CARD: RefCell<Option<(String, usize)>> = const { RefCell::new(None) };
}

/// Goes from card to card, or presses a button of the one that has the cursor. Says whether there was
/// something to do.
pub fn act_on_card(key: char) -> bool {
    let cards: Vec<HtmlElement> = listed(document().query_selector_all(CARDS))
        .into_iter()
        .filter_map(|element| element.dyn_into::<HtmlElement>().ok())
        .filter(|element| element.offset_parent().is_some())
        .collect();
    let focused = document().active_element();
    let here = focused.and_then(|element| element.closest(CARDS).ok().flatten());
    let focused = cards.iter().position(|card| here.as_ref() == Some(card.unchecked_ref()));
    // Another branch takes the place of the one that had the cursor.
    let turned = LAST_TURN.take().filter(|at| matches!(key, 'h' | 'l') && *at < cards.len());
    let at = focused.or(turned);
    LAST_TURN.set(at.filter(|_| matches!(key, 'h' | 'l')));
    let keep = |at: usize| LAST_CARD.set(cards.get(at).map(|card| (card.id(), at)));
    let go = |to: usize| match cards.get(to) {
        Some(card) => {
            card.scroll_into_view_with_bool(true);
            keep(to);
            card.focus().is_ok()
        }
        None => false,
    };
    let in_sight = |card: &HtmlElement| {
        let place = card.get_bounding_client_rect();
        let height = window().inner_height().ok().and_then(|height| height.as_f64());
        place.bottom() > 0.0 && place.top() < height.unwrap_or_default()
    };
    // What had the cursor may be decided on, and gone: the next is the one that took its place.
    let (next, last) = match (at, LAST_CARD.take()) {
        (Some(at), _) => {
            keep(at);
            (Some(at + 1), at.checked_sub(1))
        }
        (None, Some((id, place))) if cards.get(place).is_some_and(in_sight) => {
            let stays = cards.iter().position(|card| card.id() == id);
            (Some(stays.map_or(place, |at| at + 1)), stays.unwrap_or(place).checked_sub(1))
        }
        (None, _) => (cards.iter().position(in_sight), cards.iter().rposition(in_sight)),
    };
    match (key, at) {
        ('j', _) => next.is_some_and(go),
        ('k', _) => last.is_some_and(go),
        ('a' | 'e' | 'r' | 'h' | 'l' | 't', Some(at)) => {
            // Of a draft with changes that are not marked, those are left.
            let left = cards[at].query_selector("input[name='hunks[]']:not(:checked)");
            let button = match left {
                Ok(Some(_)) if key == 'a' => cards[at].query_selector("[value=chosen]"),
                _ => cards[at].query_selector(&format!("[data-key={key}]")),
            };
            let button = button.ok().flatten();
            let Some(button) = button.and_then(|button| button.dyn_into::<HtmlElement>().ok())
            else {
                return false;
            };
            button.click();
            let opened =
                button.closest("details[id*=edit], details[id*=reject], label").ok().flatten();
            let field = opened.and_then(|opened| {
                opened.query_selector("textarea, input:not([type=hidden])").ok().flatten()
            });
            if let Some(field) = field.and_then(|field| field.dyn_into::<HtmlElement>().ok()) {
                field.focus().unwrap_or_default();
            }
            true
        }
        _ => false,
    }
}

/// Forgets which card the keys were about, when somebody presses elsewhere.
pub fn leave_cards(event: &web_sys::Event) {
    if !is_in(event, CARDS) {
        LAST_CARD.take();
    }
}
