//! On the server the rail is empty: the browser fills it when it is opened.

use leptos::{html::Div, prelude::*};

use crate::{
    app::state::panel::{InRail, Told},
    domain::{error::ApiError, id::RunId, news::News},
};

/// Nothing is followed on the server.
#[derive(Clone, Copy)]
pub struct Following;

impl Following {
    /// Nothing is followed.
    pub fn none() -> Self {
        Self
    }

    /// Follows nothing.
    pub fn open(self, _: &str, _: impl Fn(Told) + Clone + 'static) {}

    /// There is nothing to close.
    pub fn close(self) {}
}

/// Nobody asks on the server.
pub async fn rail_content(_: &str, _: &str) -> Result<String, ApiError> {
    Ok(String::new())
}

/// Nothing is shown.
pub fn in_rail(_: &str) -> Option<InRail> {
    None
}

/// There is nothing to put.
pub fn show_rail(_: NodeRef<Div>, _: &str, _: bool) {}

/// Nothing is shown.
pub fn drafts_told_of(_: &News) -> Vec<String> {
    Vec::new()
}

/// There is nothing to put.
pub fn put_draft(_: &str, _: Box<dyn Fn()>) {}

/// Nobody scrolls on the server.
pub fn load_earlier_in_sight() {}

/// Nobody presses on the server.
pub fn press_in_rail(_: &leptos::web_sys::Event) -> Option<String> {
    None
}

/// The server makes the news.
pub fn hear_news(_: impl Fn(News) + Clone + 'static) {}

/// Nothing happens on the server.
pub fn is_in(_: &leptos::web_sys::Event, _: &str) -> bool {
    false
}

/// Nobody presses on the server.
pub fn on_pointer_down(_: impl Fn(&leptos::web_sys::Event) + 'static) {}

/// Nobody clicks on the server.
pub fn on_click(_: impl Fn() + 'static) {}

/// There is no bar to measure.
pub fn measure_bar() {}

/// Nothing is marked on the server.
pub fn marked_text(_: Option<leptos::web_sys::EventTarget>) -> String {
    String::new()
}

/// Nobody speaks on the server.
pub async fn send_words(
    _: leptos::web_sys::HtmlFormElement,
    _: bool,
    _: bool,
) -> Result<RunId, ApiError> {
    Err(ApiError::Offline)
}

/// Nobody asks on the server.
pub fn post(_: &'static str, _: &RunId) {}

/// There is nothing to act on.
pub fn act_on_card(_: char) -> bool {
    false
}

/// Nothing waits.
pub fn waits_in_rail() -> bool {
    false
}

/// There is no pointer.
pub fn from_right(_: &leptos::web_sys::PointerEvent) -> i32 {
    0
}

/// There is no pointer.
pub fn hold_pointer(_: &leptos::web_sys::PointerEvent) {}

/// Nothing is wide on the server.
pub fn resize_rail(width: i32) -> i32 {
    width
}

/// The server knows no window.
pub fn widest_rail() -> i32 {
    580
}

/// The server remembers nothing of a browser.
pub fn remember(_: &str, _: &str) {}

/// The server remembers nothing of a browser.
pub fn read_number(_: &str) -> Option<u32> {
    None
}

/// The server has no tabs.
pub fn note(_: &str, _: &str) {}

/// The server has no tabs.
pub fn noted(_: &str) -> Option<String> {
    None
}
