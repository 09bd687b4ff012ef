//! The terminal, as whoever types or writes scripts meets it: the real program, from outside.

mod ab;
mod beside;
mod between;
mod configuration;
mod drafts;
mod files;
mod following;
mod options;
mod pages;
mod plain;
mod processes;
mod program;
mod rate;
mod screen;
mod services;
mod sessions;
mod store;
mod tools;
mod window;
