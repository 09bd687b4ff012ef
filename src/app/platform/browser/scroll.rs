//! How far a page is scrolled. A conversation is read from its end.

use leptos::prelude::{document, window};

/// So many pixels from an end of the page are at that end.
pub const NEAR: f64 = 240.0;

/// How much of the page is below what is seen.
pub fn below() -> f64 {
    let whole = document().document_element().map_or(0, |root| root.scroll_height());
    f64::from(whole) - height() - window().scroll_y().unwrap_or_default()
}

/// How much of it is seen.
pub fn height() -> f64 {
    window().inner_height().ok().and_then(|height| height.as_f64()).unwrap_or_default()
}

/// Whether its end is seen, or nearly.
pub fn is_at_end() -> bool {
    below() < NEAR
}

/// Whether a conversation is shown.
pub fn talks() -> bool {
    document().get_element_by_id("chat-turns").is_some()
}

/// A conversation is read from its end.
pub fn scroll_to_end() {
    if let Some(root) = document().document_element().filter(|_| talks()) {
        window().scroll_to_with_x_and_y(0.0, f64::from(root.scroll_height()));
    }
}
