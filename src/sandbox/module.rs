//! The interpreter: compiled when Greenroom was built, packed into the binary, and checked before use.

use std::io::Read;

use flate2::read::ZlibDecoder;
use ring::digest::{SHA256, digest};

include!(concat!(env!("OUT_DIR"), "/sandbox.rs"));

/// How to get what is missing.
pub const HOW_TO_GET: &str =
    "This Greenroom was built without Python. Install python3 and run `make build`.";

/// Whether it was built in.
pub(super) const IS_THERE: bool = MODULE.is_some();

/// The compiled interpreter, or why there is none.
pub(super) fn unpack() -> Result<Vec<u8>, String> {
    let (packed, expected) = MODULE.ok_or_else(|| HOW_TO_GET.to_owned())?;
    let found: String =
        digest(&SHA256, packed).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    if found != expected {
        return Err("The built-in Python is damaged: its checksum differs.".to_owned());
    }
    let mut out = Vec::new();
    ZlibDecoder::new(packed)
        .read_to_end(&mut out)
        .map_err(|error| format!("The built-in Python cannot be unpacked: {error}."))?;
    Ok(out)
}
