//! Time and randomness: a clock that sleeping moves on, and numbers that follow from a seed.

use ring::digest::{SHA256, digest};
use wasmtime::{StoreContextMut, component::Linker};

use super::{Host, Stop, named, streams::Pollable, types::Datetime};
use crate::sandbox::limits::Limit;

/// What the clock is rounded to: enough to measure a program, too little to measure the processor.
const RESOLUTION: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// The random bytes that are given at once.
const RANDOM_BYTES: u64 = 64 * 1024;

impl Host {
    /// Nanoseconds since the start.
    fn now(&self) -> u64 {
        let passed = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        (passed / RESOLUTION * RESOLUTION).saturating_add(self.slept)
    }

    /// Nanoseconds since 1970.
    pub(super) fn wall_now(&self) -> u64 {
        self.started_at.saturating_add(self.now())
    }

    pub(super) fn sleep_until(&mut self, at: u64) {
        self.slept = self.slept.saturating_add(at.saturating_sub(self.now()));
    }

    fn random(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        if length > RANDOM_BYTES {
            return Err(wasmtime::Error::new(Stop::Reached(Limit::Memory)));
        }
        let length = usize::try_from(length)?;
        let mut out = Vec::new();
        while out.len() < length {
            let mut block = self.seed.to_vec();
            block.extend(self.drawn.to_le_bytes());
            self.drawn += 1;
            out.extend_from_slice(digest(&SHA256, &block).as_ref());
        }
        out.truncate(length);
        Ok(out)
    }
}

pub(super) fn datetime(nanoseconds: u64) -> Datetime {
    let rest = u32::try_from(nanoseconds % SECOND).unwrap_or_default();
    Datetime { seconds: nanoseconds / SECOND, nanoseconds: rest }
}

pub(super) fn nanoseconds(at: Datetime) -> u64 {
    at.seconds.saturating_mul(SECOND).saturating_add(u64::from(at.nanoseconds))
}

type Store<'a> = StoreContextMut<'a, Host>;

pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let mut clock = linker.instance(&named("clocks/monotonic-clock"))?;
    clock.func_wrap("now", |store: Store, (): ()| Ok((store.data().now(),)))?;
    clock.func_wrap("resolution", |_: Store, (): ()| Ok((RESOLUTION,)))?;
    clock.func_wrap("subscribe-instant", |mut store: Store, (at,): (u64,)| {
        Ok((store.data_mut().table.push(Pollable { ready_at: Some(at) })?,))
    })?;
    clock.func_wrap("subscribe-duration", |mut store: Store, (length,): (u64,)| {
        let at = store.data().now().saturating_add(length);
        Ok((store.data_mut().table.push(Pollable { ready_at: Some(at) })?,))
    })?;

    let mut clock = linker.instance(&named("clocks/wall-clock"))?;
    clock.func_wrap("now", |store: Store, (): ()| Ok((datetime(store.data().wall_now()),)))?;
    clock.func_wrap("resolution", |_: Store, (): ()| Ok((datetime(RESOLUTION),)))?;

    linker
        .instance(&named("random/random"))?
        .func_wrap("get-random-bytes", |mut store: Store, (length,): (u64,)| {
            Ok((store.data_mut().random(length)?,))
        })
}
