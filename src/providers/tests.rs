//! The dialects: from recordings, from streams written by hand, and there and back.

mod errors;
mod recorded;
mod replay;
mod requests;
mod round_trip;
mod written;
