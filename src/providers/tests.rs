//! The dialects: from recordings, from streams written by hand, and there and back.

mod errors;
mod recorded;
pub mod replay;
mod requests;
pub mod round_trip;
mod written;
