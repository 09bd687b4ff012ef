//! A page of a long list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many rows a page has when nobody says otherwise.
pub const PAGE_SIZE: u32 = 50;
/// The most rows a page may have.
pub const MAX_PAGE_SIZE: u32 = 200;

/// Some rows, and where to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Send it as `after` to get the next page; `null` on the last one.
    pub next: Option<String>,
}
