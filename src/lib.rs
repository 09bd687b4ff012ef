//! Greenroom: where AI personas get ready before they go on stage.
//!
//! One package, two builds: the server (`ssr`, native) and the browser
//! (`hydrate`, wasm). Rooms without a `cfg` compile for both; a room that is
//! fenced here is fenced nowhere else but in `app/platform.rs`.
//!
//! Read `domain` first, then `changes`, then `app`.

#![recursion_limit = "256"]

pub mod app;
pub mod domain;

#[cfg(feature = "ssr")]
pub mod accounts;
#[cfg(feature = "ssr")]
pub mod agent;
#[cfg(feature = "ssr")]
pub mod api;
#[cfg(feature = "ssr")]
pub mod archive;
#[cfg(feature = "ssr")]
pub mod cards;
#[cfg(feature = "ssr")]
pub mod changes;
#[cfg(feature = "ssr")]
pub mod cli;
#[cfg(feature = "ssr")]
pub mod config;
#[cfg(feature = "ssr")]
pub mod fetch;
#[cfg(feature = "ssr")]
pub mod jobs;
#[cfg(feature = "ssr")]
pub mod markdown;
#[cfg(feature = "ssr")]
pub mod providers;
#[cfg(feature = "ssr")]
pub mod sandbox;
#[cfg(feature = "ssr")]
pub mod search;
#[cfg(feature = "ssr")]
pub mod server;
#[cfg(feature = "ssr")]
pub mod state;
#[cfg(feature = "ssr")]
pub mod store;
#[cfg(feature = "ssr")]
pub mod traces;
#[cfg(feature = "ssr")]
pub mod yaml;

#[cfg(feature = "hydrate")]
mod hydrate;

#[cfg(all(feature = "ssr", feature = "hydrate"))]
compile_error!("build with `ssr` or with `hydrate`, never with both");
