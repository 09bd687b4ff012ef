//! The words that browser and server share, and the rules that both apply.
//!
//! The one rule of the room: pure. No clock, no I/O, no question which build this is.

pub mod actor;
pub mod address;
pub mod audit;
pub mod budget;
pub mod change;
pub mod chat;
pub mod compare;
pub mod date;
pub mod diff;
pub mod enhancement;
pub mod error;
pub mod event;
pub mod field;
pub mod id;
pub mod knowledge;
pub mod line;
pub mod list;
pub mod merge;
pub mod message;
pub mod model;
pub mod news;
pub mod paragraph;
pub mod persona;
pub mod picture;
pub mod playground;
pub mod position;
pub mod proposal;
pub mod publication;
pub mod run;
pub mod search;
pub mod sent;
pub mod test_answer;
pub mod test_input;
pub mod theme;
pub mod timestamp;
pub mod tokens;
pub mod trace;
pub mod tree;
pub mod usage;
pub mod version;
pub mod virtual_file;
pub mod wiki;
