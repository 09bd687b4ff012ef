//! What page parts remember while they are open: pure types, each with `apply` and its tests.

pub mod answer;
pub mod draft;
pub mod panel;
pub mod shortcut;
pub mod versions;
