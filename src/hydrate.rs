//! Where the browser's program begins.

use wasm_bindgen::prelude::wasm_bindgen;

/// Takes over the page that the server rendered.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    crate::app::platform::note_early_typing();
    leptos::mount::hydrate_body(crate::app::App);
}
