//! The few things that differ between the two builds. Both files offer the same functions, so the
//! rest of `app` never asks which build it is in.

#[cfg(feature = "ssr")]
#[path = "platform/server.rs"]
mod here;

#[cfg(not(feature = "ssr"))]
#[path = "platform/browser.rs"]
mod here;

#[cfg(feature = "ssr")]
#[path = "platform/server/served.rs"]
mod served;

#[cfg(not(feature = "ssr"))]
#[path = "platform/browser/served.rs"]
mod served;

#[cfg(not(feature = "ssr"))]
#[path = "platform/browser/cards.rs"]
mod cards;

#[cfg(not(feature = "ssr"))]
#[path = "platform/browser/chat.rs"]
mod chat;

#[cfg(not(feature = "ssr"))]
#[path = "platform/browser/forms.rs"]
mod forms;

#[cfg(not(feature = "ssr"))]
#[path = "platform/browser/morph.rs"]
mod morph;

#[cfg(feature = "ssr")]
#[path = "platform/server/rail.rs"]
mod rail;

#[cfg(not(feature = "ssr"))]
#[path = "platform/browser/rail.rs"]
mod rail;

#[cfg(not(feature = "ssr"))]
#[path = "platform/browser/scroll.rs"]
mod scroll;

pub use here::{
    Alarm, Watch, apply_theme, close_dialog, close_popovers, content_policy, focus, focus_later,
    forget_draft, gathered, keep_cursor, keep_draft, kept_draft, key_help, note_early_typing, now,
    on_shortcut, open_dialog, remember_theme, set_status, theme, title_text, typed_early,
    warn_before_leaving,
};
pub use rail::{
    Following, act_on_card, drafts_told_of, from_right, hear_news, hold_pointer, in_rail, is_in,
    load_earlier_in_sight, marked_text, measure_bar, note, noted, on_click, on_pointer_down, post,
    press_in_rail, put_draft, rail_content, read_number, remember, resize_rail, send_words,
    show_rail, waits_in_rail, widest_rail,
};
pub use served::{
    ask_before_leaving, close_served, is_writing_served, refused_form, renew_served, save_served,
    send_quiet_forms, served, show_said,
};
