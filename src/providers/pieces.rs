//! The body of an answer, piece by piece: a service that falls silent is left, and so is one whose line has
//! no end.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_stream::stream;
use futures_util::{Stream, StreamExt};
use reqwest::Response;
use tokio::time::{Instant, sleep};

use super::limits::TimeLimits;

/// The longest line of a stream that is read.
const MAX_LINE_BYTES: usize = 1024 * 1024;
/// What is said of a line that is longer.
pub const ENDLESS: &str = "a line of its answer has no end";

/// The body, piece by piece, until it falls silent, for less long while it is said to write. Comments, which some
/// services send while a model thinks, are no events, but they show that the service lives.
pub fn pieces(
    response: Response,
    limits: TimeLimits,
    writes: Arc<AtomicBool>,
) -> impl Stream<Item = io::Result<bytes::Bytes>> {
    stream! {
        let writing = limits.writing.min(limits.idle);
        let mut pieces = response.bytes_stream();
        // Set anew only when it rings: to set it for every piece costs more than many a piece.
        let (mut bell, mut last) = (Box::pin(sleep(writing)), Instant::now());
        let mut line = 0;
        loop {
            tokio::select! {
                biased;
                piece = pieces.next() => {
                    match piece {
                        Some(Ok(piece)) => {
                            line = unfinished(line, &piece);
                            if line > MAX_LINE_BYTES {
                                yield Err(io::Error::other(ENDLESS));
                                return;
                            }
                            yield Ok(piece);
                        }
                        Some(Err(error)) => yield Err(io::Error::other(error.without_url())),
                        None => return,
                    }
                    // Whoever reads may have taken its time, which is not the service's.
                    last = Instant::now();
                }
                () = &mut bell => {
                    let silent = last.elapsed();
                    let most = if writes.load(Ordering::Relaxed) { writing } else { limits.idle };
                    if silent >= most {
                        let told = format!("nothing came for {} s", most.as_secs());
                        yield Err(io::Error::new(io::ErrorKind::TimedOut, told));
                        return;
                    }
                    bell.as_mut().reset(Instant::now() + writing.min(most - silent));
                }
            }
        }
    }
}

/// How long the line is that a piece leaves unfinished, after so much of it came before.
fn unfinished(before: usize, piece: &[u8]) -> usize {
    match piece.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => piece.len() - end - 1,
        None => before + piece.len(),
    }
}
