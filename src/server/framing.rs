//! Where requests end, read off the wire. Of a request that says so in two ways the reader of HTTP takes one and
//! drops the other, and whoever stands before us may have taken the other: nothing of it can be seen later.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The longest line of a head that is held. The reader of HTTP takes no head of that size.
const MAX_LINE_BYTES: usize = 256 * 1024;

/// Whether a connection left it open where one of its requests ends. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Doubt(Arc<AtomicBool>);

impl Doubt {
    /// Whether there is any.
    pub fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection whose heads are looked at as they come.
pub struct Watched<S> {
    stream: S,
    framing: Framing,
}

impl<S> Watched<S> {
    /// Looks at what comes on this connection.
    pub fn new(stream: S) -> Self {
        Self { stream, framing: Framing::default() }
    }

    /// Whether what came leaves something open.
    pub fn doubt(&self) -> Doubt {
        self.framing.doubt.clone()
    }
}

/// What comes next.
#[derive(Debug, Default)]
enum Part {
    /// A head, or more of it.
    #[default]
    Head,
    /// So many bytes of a body.
    Body(u64),
    /// What is not looked at: no further request is taken after a body in pieces.
    Last,
}

/// How far a connection's requests were read.
#[derive(Debug, Default)]
struct Framing {
    part: Part,
    /// The line of a head that is not whole yet.
    line: Vec<u8>,
    /// Whether the first line of the head was there.
    began: bool,
    length: Option<Vec<u8>>,
    codings: Vec<Vec<u8>>,
    doubt: Doubt,
}

impl Framing {
    fn see(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match &mut self.part {
                Part::Last => return,
                Part::Body(left) => {
                    let here = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= here as u64;
                    bytes = &bytes[here..];
                    if *left == 0 {
                        self.part = Part::Head;
                    }
                }
                Part::Head => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let (line, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
                    self.line.extend_from_slice(line);
                    bytes = rest;
                    if self.line.len() > MAX_LINE_BYTES {
                        self.refuse();
                    } else if end.is_some() {
                        let line = std::mem::take(&mut self.line);
                        self.end_line(line.strip_suffix(b"\n").unwrap_or(&line));
                    }
                }
            }
        }
    }

    fn end_line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match (line.is_empty(), self.began) {
            // Empty lines before a request are nothing.
            (true, false) => {}
            (true, true) => self.end_head(),
            (false, false) => self.began = true,
            (false, true) => {
                let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
                let (name, value) = line.split_at(colon);
                let (name, value) = (name.trim_ascii(), value.get(1..).unwrap_or_default());
                let value = value.trim_ascii().to_ascii_lowercase();
                if name.eq_ignore_ascii_case(b"content-length") {
                    self.length = Some(value);
                } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                    self.codings.push(value);
                }
            }
        }
    }

    fn end_head(&mut self) {
        self.began = false;
        let length = self.length.take();
        match (length, &std::mem::take(&mut self.codings)[..]) {
            (None, []) => {}
            (Some(length), []) => {
                let length = std::str::from_utf8(&length).ok().and_then(|told| told.parse().ok());
                // What is no number is refused by the reader of HTTP.
                self.part = match length {
                    Some(0) => Part::Head,
                    Some(length) => Part::Body(length),
                    None => Part::Last,
                };
            }
            (None, [coding]) if coding == b"chunked" => self.part = Part::Last,
            (_, _) => self.refuse(),
        }
    }

    fn refuse(&mut self) {
        self.line = Vec::new();
        self.part = Part::Last;
        self.doubt.0.store(true, Ordering::Relaxed);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        this.framing.see(buffer.filled().get(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether something is left open, however the bytes are cut.
    fn doubted(words: &str) -> bool {
        let doubts = [1, 3, words.len()].map(|size| {
            let mut framing = Framing::default();
            words.as_bytes().chunks(size).for_each(|piece| framing.see(piece));
            framing.doubt.is_there()
        });
        assert!(doubts.iter().all(|doubt| *doubt == doubts[0]), "{words:?}: {doubts:?}");
        doubts[0]
    }

    #[test]
    fn a_request_with_two_ends_is_seen_wherever_it_comes() {
        let two = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\ncontent-length: 6\r\n\r\n";
        assert!(doubted(two));
        assert!(doubted(&two.replace("\r\n", "\n")));
        assert!(doubted(&format!("\r\nGET / HTTP/1.1\r\nhost: x\r\n\r\n{two}")));
        assert!(doubted(&format!("PUT / HTTP/1.1\r\ncontent-length: 5\r\n\r\n12\r\n3{two}")));
        for codings in ["gzip, chunked", "identity, chunked", "chunked, chunked", ""] {
            let words = format!("POST / HTTP/1.1\r\ntransfer-encoding: {codings}\r\n\r\n");
            assert!(doubted(&words), "{codings}");
        }
        let lines = "transfer-encoding: chunked\r\ntransfer-encoding: chunked";
        assert!(doubted(&format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n")));
        assert!(doubted(&format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(MAX_LINE_BYTES))));
    }

    #[test]
    fn what_stands_in_a_body_is_no_head() {
        let two = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 6\r\n\r\n";
        let length = two.len();
        assert!(!doubted(&format!("PUT / HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{two}")));
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n";
        assert!(!doubted(&format!("{chunked}{length:x}\r\n{two}\r\n0\r\n\r\n")));
        assert!(!doubted("GET / HTTP/1.1\r\nx: transfer-encoding: gzip\r\n\r\n"));
    }
}
