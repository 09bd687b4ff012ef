//! The services that run models.
//!
//! One file per dialect, as pure translation: a request goes out as JSON, the data of each
//! server-sent event is fed to a decoder, [`ModelEvent`]s come out. `transport` owns the connection,
//! the retries and the time limits; `catalog` knows the models; `demo` needs neither key nor network;
//! `images` asks for pictures.
//!
//! The one rule of the room: a key is read when it is needed, goes into one header, and nowhere else.

mod anthropic;
mod asking;
mod catalog;
mod demo;
mod dialect;
mod echo;
mod embeddings;
mod error;
mod fence;
mod gemini;
mod images;
mod keys;
mod limits;
mod lines;
mod openai_chat;
mod openai_responses;
mod pieces;
mod question;
mod seal;
mod services;
#[cfg(test)]
pub(crate) mod tests;
mod transport;
mod trust;

pub use asking::{Ask, Decoder, ModelEvent, Quirks, Thoughts, ToolSpec};
pub use catalog::{Catalog, Environment, Route};
pub use demo::{Demo, Pace, Script};
pub use dialect::Dialect;
pub use embeddings::{Embedder, EmbeddingSettings};
pub use error::{Fault, ProviderError};
pub use fence::Allowance;
pub use images::{Artist, Drawn, ImageSettings, ImageStyle, Undrawn};
pub use keys::Key;
pub use limits::TimeLimits;
pub use seal::Seal;
pub use services::built_in;
pub use transport::Providers;
pub use trust::trust;
