//! Parts that pages are made of.

pub mod answers;
pub mod avatar;
pub mod chat_map;
pub mod chat_settings;
pub mod chat_turn;
pub mod draft_box;
pub mod draft_card;
pub mod entry_form;
pub mod entry_versions;
pub mod frame;
pub mod icon;
pub mod live;
pub mod notice;
pub mod page_title;
pub mod palette;
pub mod picture;
pub mod picture_settings;
pub mod problem;
pub mod rail;
pub mod test_inputs;
pub mod theme_switch;
pub mod turn;
pub mod versions;
pub mod when;
pub mod written;
