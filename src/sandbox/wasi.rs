//! What the interpreter may ask of its host: the few functions of WASI that are answered here.
//!
//! The one rule of the room: no answer comes from the system below. Files are a tree in memory, output is
//! a buffer, time is a number that sleeping moves on, randomness follows from a seed. Whatever is not
//! defined here ends the program when it is called.

mod clocks;
mod console;
mod files;
mod streams;
mod types;

use std::time::Instant;

use wasmtime::{
    ResourceLimiter, StoreContextMut,
    component::{Linker, Resource, ResourceTable},
};

pub(super) use self::types::ErrorCode;
use super::{
    limits::{Limit, MEMORY_BYTES},
    tree::Tree,
};

/// The version that the guest was made with; a later one of the same line fits as well.
const VERSION: &str = "0.2.9";
/// The files, streams and waits that may be open at once.
const RESOURCES: usize = 1024;
/// The elements of the tables of a module; Python's own has some thousands.
const TABLE_ELEMENTS: usize = 100_000;

/// Ends a program.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    /// It reached a limit.
    #[error("{0}")]
    Reached(Limit),
    /// It asked to leave, with this status.
    #[error("The program left with status {0}.")]
    Exit(i32),
}

/// One program's world.
#[derive(Debug)]
pub(super) struct Host {
    table: ResourceTable,
    pub(super) tree: Tree,
    input: Vec<u8>,
    input_at: usize,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// Whether memory was refused.
    pub(super) is_memory_full: bool,
    started: Instant,
    /// Nanoseconds since 1970 at the start.
    started_at: u64,
    /// Nanoseconds that were slept.
    slept: u64,
    seed: [u8; 16],
    drawn: u64,
}

impl Host {
    /// A world that begins with these files and this input, at a time.
    pub(super) fn new(tree: Tree, input: Vec<u8>, started_at: u64, seed: [u8; 16]) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        Self {
            table,
            tree,
            input,
            input_at: 0,
            stdout: Vec::new(),
            stderr: Vec::new(),
            is_memory_full: false,
            started: Instant::now(),
            started_at,
            slept: 0,
            seed,
            drawn: 0,
        }
    }
}

impl ResourceLimiter for Host {
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let fits = desired <= MEMORY_BYTES;
        self.is_memory_full |= !fits;
        Ok(fits)
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }
}

/// Defines everything that is answered.
pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    streams::define(linker)?;
    clocks::define(linker)?;
    console::define(linker)?;
    files::define(linker)?;
    streams::share(linker)
}

fn named(interface: &str) -> String {
    format!("wasi:{interface}@{VERSION}")
}

/// Forgets a thing that the guest let go of.
fn forget<T: Send + 'static>(
    mut store: StoreContextMut<'_, Host>,
    number: u32,
) -> wasmtime::Result<()> {
    store.data_mut().table.delete(Resource::<T>::new_own(number))?;
    Ok(())
}
