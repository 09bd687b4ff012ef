//! Streams: the console's, and those that files are read and written through.

use wasmtime::{
    StoreContextMut,
    component::{Linker, Resource, ResourceType},
};

use super::{
    Host, Stop, forget, named,
    types::{KeptError, StreamError},
};
use crate::sandbox::{
    limits::{Limit, OUTPUT_BYTES},
    tree::Number,
};

/// What is read or written at once.
pub(super) const PIECE: usize = 64 * 1024;

/// Something to read from.
#[derive(Debug)]
pub(super) enum InputStream {
    Stdin,
    File { number: Number, at: u64 },
}

/// Something to write to. A file without a place is written at its end.
#[derive(Debug)]
pub(super) enum OutputStream {
    Stdout,
    Stderr,
    File { number: Number, at: Option<u64> },
}

/// Something to wait for: a time, or nothing.
#[derive(Debug)]
pub(super) struct Pollable {
    pub ready_at: Option<u64>,
}

type Told<T> = wasmtime::Result<(Result<T, StreamError>,)>;

impl Host {
    fn read_stream(&mut self, stream: &Resource<InputStream>, length: u64) -> Told<Vec<u8>> {
        let length = usize::try_from(length).unwrap_or(PIECE).min(PIECE);
        let bytes = match self.table.get_mut(stream)? {
            InputStream::Stdin => {
                let rest = &self.input[self.input_at..];
                let bytes = rest[..length.min(rest.len())].to_vec();
                self.input_at += bytes.len();
                bytes
            }
            InputStream::File { number, at } => {
                let Ok(bytes) = self.tree.read(*number, *at, length) else {
                    return Ok((Err(StreamError::Closed),));
                };
                *at += bytes.len() as u64;
                bytes
            }
        };
        let is_over = bytes.is_empty() && length > 0;
        Ok((if is_over { Err(StreamError::Closed) } else { Ok(bytes) },))
    }

    fn write_stream(&mut self, stream: &Resource<OutputStream>, bytes: &[u8]) -> Told<()> {
        let now = self.wall_now();
        let printed = self.stdout.len() + self.stderr.len();
        let buffer = match self.table.get_mut(stream)? {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
            OutputStream::File { number, at } => {
                let written = self.tree.write(*number, *at, bytes, now);
                *at = at.map(|at| at + bytes.len() as u64);
                if written.is_err() {
                    // Closed would be told as a broken pipe.
                    return Ok((Err(StreamError::Failed(self.table.push(KeptError)?)),));
                }
                return Ok((Ok(()),));
            }
        };
        let room = OUTPUT_BYTES.saturating_sub(printed);
        buffer.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            return Err(wasmtime::Error::new(Stop::Reached(Limit::Output)));
        }
        Ok((Ok(()),))
    }

    pub(super) fn ready(&mut self) -> wasmtime::Result<(Resource<Pollable>,)> {
        Ok((self.table.push(Pollable { ready_at: None })?,))
    }

    /// Says which are ready, and moves the time on when none of them is.
    fn poll(&mut self, waits: &[Resource<Pollable>]) -> wasmtime::Result<Vec<u32>> {
        let mut times = Vec::new();
        for wait in waits {
            times.push(self.table.get(wait)?.ready_at.unwrap_or_default());
        }
        let earliest = times.iter().copied().min().unwrap_or_default();
        self.sleep_until(earliest);
        let ready = times.iter().zip(0_u32..).filter(|(at, _)| **at <= earliest);
        Ok(ready.map(|(_, place)| place).collect())
    }
}

fn close_input(mut store: StoreContextMut<'_, Host>, number: u32) -> wasmtime::Result<()> {
    let host = store.data_mut();
    if let InputStream::File { number, .. } = host.table.delete(Resource::new_own(number))? {
        host.tree.release(number);
    }
    Ok(())
}

fn close_output(mut store: StoreContextMut<'_, Host>, number: u32) -> wasmtime::Result<()> {
    let host = store.data_mut();
    if let OutputStream::File { number, .. } = host.table.delete(Resource::new_own(number))? {
        host.tree.release(number);
    }
    Ok(())
}

/// Names these resources where other interfaces use them, those that are not answered among them.
pub(super) fn share(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.instance(&named("io/streams"))?.resource(
        "error",
        ResourceType::host::<KeptError>(),
        forget::<KeptError>,
    )?;
    let waiting = ["io/streams", "clocks/monotonic-clock", "sockets/udp", "sockets/tcp"];
    for user in waiting.into_iter().chain(["sockets/ip-name-lookup"]) {
        let kind = ResourceType::host::<Pollable>();
        linker.instance(&named(user))?.resource("pollable", kind, forget::<Pollable>)?;
    }
    for user in ["cli/stdin", "filesystem/types", "sockets/tcp"] {
        let kind = ResourceType::host::<InputStream>();
        linker.instance(&named(user))?.resource("input-stream", kind, close_input)?;
    }
    for user in ["cli/stdout", "cli/stderr", "filesystem/types", "sockets/tcp"] {
        let kind = ResourceType::host::<OutputStream>();
        linker.instance(&named(user))?.resource("output-stream", kind, close_output)?;
    }
    Ok(())
}

type Store<'a> = StoreContextMut<'a, Host>;
type Output = Resource<OutputStream>;

pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let mut poll = linker.instance(&named("io/poll"))?;
    poll.resource("pollable", ResourceType::host::<Pollable>(), forget::<Pollable>)?;
    poll.func_wrap(
        "[method]pollable.block",
        |mut store: Store, (wait,): (Resource<Pollable>,)| store.data_mut().poll(&[wait]).map(drop),
    )?;
    poll.func_wrap("poll", |mut store: Store, (waits,): (Vec<Resource<Pollable>>,)| {
        Ok((store.data_mut().poll(&waits)?,))
    })?;

    let mut error = linker.instance(&named("io/error"))?;
    error.resource("error", ResourceType::host::<KeptError>(), forget::<KeptError>)?;

    let mut streams = linker.instance(&named("io/streams"))?;
    streams.resource("input-stream", ResourceType::host::<InputStream>(), close_input)?;
    streams.resource("output-stream", ResourceType::host::<OutputStream>(), close_output)?;
    type Read = (Resource<InputStream>, u64);
    streams
        .func_wrap("[method]input-stream.read", |mut store: Store, (stream, length): Read| {
            store.data_mut().read_stream(&stream, length)
        })?;
    streams.func_wrap(
        "[method]input-stream.subscribe",
        |mut store: Store, _: (Resource<InputStream>,)| store.data_mut().ready(),
    )?;
    streams
        .func_wrap("[method]output-stream.check-write", |_: Store, _: (Output,)| -> Told<u64> {
            Ok((Ok(PIECE as u64),))
        })?;
    for name in ["write", "blocking-write-and-flush"] {
        let name = format!("[method]output-stream.{name}");
        streams.func_wrap(&name, |mut store: Store, (stream, bytes): (Output, Vec<u8>)| {
            store.data_mut().write_stream(&stream, &bytes)
        })?;
    }
    streams.func_wrap(
        "[method]output-stream.blocking-flush",
        |_: Store, _: (Output,)| -> Told<()> { Ok((Ok(()),)) },
    )?;
    streams.func_wrap("[method]output-stream.subscribe", |mut store: Store, _: (Output,)| {
        store.data_mut().ready()
    })
}
