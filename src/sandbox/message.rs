//! What a parent and its worker tell each other: a length, a header as JSON, and the bytes of files.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    Files,
    limits::{
        CHANGED_BYTES, ERROR_BYTES, GIVEN_BYTES, INPUT_BYTES, Limit, OUTPUT_BYTES, VALUE_BYTES,
    },
};

/// The largest header. JSON writes a control character as six.
const HEADER_BYTES: usize =
    6 * (OUTPUT_BYTES + INPUT_BYTES + VALUE_BYTES + ERROR_BYTES) + 1024 * 1024;
/// The largest body.
const BODY_BYTES: usize = if GIVEN_BYTES > CHANGED_BYTES { GIVEN_BYTES } else { CHANGED_BYTES };

/// What Python is asked; the guest reads this as it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Task {
    Run { source: Option<String>, script: Option<String>, arguments: Vec<String> },
    Describe { source: String, function: String },
    Call { source: String, function: String, keywords: Map<String, Value> },
}

/// What a worker is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub task: Task,
    pub stdin: String,
    /// Nanoseconds since 1970.
    pub now: u64,
    pub seed: [u8; 16],
    /// The files and their lengths, in the order of their bytes.
    pub files: Vec<(String, usize)>,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself, with this status; 0 is success.
    Exit(i32),
    /// With an error: its traceback, which names the program's own lines.
    Error(String),
    /// It was stopped. Its files are as they were before.
    Stopped(Limit),
}

/// What a worker answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    pub end: End,
    pub value: Option<Value>,
    pub stdout: String,
    pub stderr: String,
    pub reached: Vec<Limit>,
    /// Microseconds of the processor.
    pub guest_time: u64,
    /// The changed files and their lengths; `None` for one that was deleted.
    pub files: Vec<(String, Option<usize>)>,
}

/// What a worker says when it is there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Greeting {
    /// It can be asked. These walls could not be raised around it.
    Ready { missing_walls: Vec<String> },
    /// It cannot be asked, and why.
    Failed { reason: String },
}

/// Writes a header and a body.
pub(super) fn send<T: Serialize>(out: &mut impl Write, header: &T, body: &[u8]) -> io::Result<()> {
    let header = serde_json::to_vec(header)?;
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(|_| too_large());
    out.write_all(&length(&header)?.to_le_bytes())?;
    out.write_all(&length(body)?.to_le_bytes())?;
    out.write_all(&header)?;
    out.write_all(body)?;
    out.flush()
}

/// Reads a header and a body.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<(T, Vec<u8>)> {
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths)?;
    let [header, body] = [&lengths[..4], &lengths[4..]]
        .map(|bytes| bytes.iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)));
    if header > HEADER_BYTES || body > BODY_BYTES {
        return Err(too_large());
    }
    let mut read = |length: usize| {
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes).map(|()| bytes)
    };
    let header = read(header)?;
    let body = read(body)?;
    Ok((serde_json::from_slice(&header)?, body))
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message is too large")
}

fn too_short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message is shorter than its files")
}

/// Files as their names with lengths, and their bytes.
pub(super) fn pack(files: &Files) -> (Vec<(String, usize)>, Vec<u8>) {
    let lengths = files.iter().map(|(path, bytes)| (path.clone(), bytes.len())).collect();
    (lengths, files.values().flatten().copied().collect())
}

/// Changes as their names with lengths, and their bytes.
pub(super) fn pack_changes(
    changes: BTreeMap<String, Option<Vec<u8>>>,
) -> (Vec<(String, Option<usize>)>, Vec<u8>) {
    let mut body = Vec::new();
    let mut lengths = Vec::new();
    for (path, bytes) in changes {
        lengths.push((path, bytes.as_ref().map(Vec::len)));
        body.extend(bytes.unwrap_or_default());
    }
    (lengths, body)
}

/// The files of a body.
pub(super) fn unpack(lengths: Vec<(String, usize)>, body: &[u8]) -> io::Result<Files> {
    let lengths = lengths.into_iter().map(|(path, length)| (path, Some(length))).collect();
    let files = unpack_changes(lengths, body)?.into_iter();
    Ok(files.map(|(path, bytes)| (path, bytes.unwrap_or_default())).collect())
}

/// The changes of a body.
pub(super) fn unpack_changes(
    lengths: Vec<(String, Option<usize>)>,
    mut body: &[u8],
) -> io::Result<BTreeMap<String, Option<Vec<u8>>>> {
    let mut out = BTreeMap::new();
    for (path, length) in lengths {
        let bytes = match length {
            Some(length) => {
                let (bytes, rest) = body.split_at_checked(length).ok_or_else(too_short)?;
                body = rest;
                Some(bytes.to_vec())
            }
            None => None,
        };
        out.insert(path, bytes);
    }
    Ok(out)
}
