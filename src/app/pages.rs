//! The pages, one file each.

pub mod bin;
pub mod conflict;
pub mod not_found;
pub mod persona;
pub mod personas;
pub mod settings;
