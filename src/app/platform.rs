//! The few things that differ between the two builds. Both files offer the same functions, so the
//! rest of `app` never asks which build it is in.

#[cfg(feature = "ssr")]
#[path = "platform/server.rs"]
mod here;

#[cfg(not(feature = "ssr"))]
#[path = "platform/browser.rs"]
mod here;

pub use here::{
    Alarm, Watch, apply_theme, close_dialog, close_popovers, content_policy, focus, focus_later,
    forget_draft, keep_draft, kept_draft, note_early_typing, now, on_shortcut, open_dialog,
    remember_theme, set_status, theme, title_text, typed_early, warn_before_leaving,
};
