//! The terminal's screen: a conversation, a field to write in, and what opens above them.
//!
//! Events go into a pure [`state`], effects come out; [`render`] draws what the state says, and
//! [`driver`] is the only part that waits for anything.

pub mod clean;
mod command;
mod copied;
mod draft;
pub mod driver;
pub mod entry;
pub mod event;
mod find;
mod help;
pub mod input;
mod keys;
mod list;
mod markdown;
pub mod models;
mod panels;
pub mod render;
pub mod review;
#[cfg(test)]
pub mod scene;
mod screen;
pub mod sessions;
pub mod state;
mod table;
pub mod theme;
pub mod transcript;
mod typing;
mod wrap;
