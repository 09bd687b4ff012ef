//! The text in a CHARX archive: `card.json` alone is unpacked, and the rest must be what it says it is.

use std::io::{Cursor, Read};

use zip::ZipArchive;

use super::{CardError, MAX_TEXT_BYTES};

/// The most files.
const MAX_ENTRIES: usize = 1000;
/// The most bytes of all of them, unpacked.
const MAX_ALL_BYTES: u64 = 50 * 1024 * 1024;
/// How many times as long as it is packed a file may be, beyond the first few thousand bytes.
const MAX_RATIO: u64 = 100;
const FREE_BYTES: u64 = 64 * 1024;
/// The end of an archive, behind which stands at most a comment of 64 KiB.
const END: &[u8] = b"PK\x05\x06";
const LARGE_END: &[u8] = b"PK\x06\x07";
const END_BYTES: usize = 22;
const TAIL_BYTES: usize = END_BYTES + 0xffff + 20;
/// Where the card is.
const CARD: &str = "card.json";

const DAMAGED: CardError = CardError::Damaged("the archive cannot be read");

/// The text of the card.
pub fn text(bytes: &[u8]) -> Result<Vec<u8>, CardError> {
    check_end(bytes)?;
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| DAMAGED)?;
    if archive.len() > MAX_ENTRIES {
        return Err(CardError::TooMuch("the archive has too many files"));
    }
    let (mut all, mut card) = (0_u64, None);
    for place in 0..archive.len() {
        let file = archive.by_index_raw(place).map_err(|_| DAMAGED)?;
        let name = file.name().map_err(|_| DAMAGED)?;
        if file.enclosed_name().is_none() || name.starts_with('/') || name.contains('\\') {
            return Err(CardError::TooMuch("a file in the archive leads out of it"));
        }
        if file.is_symlink() {
            return Err(CardError::TooMuch("a file in the archive is a link"));
        }
        all = all.saturating_add(file.size());
        if all > MAX_ALL_BYTES || is_bomb(file.size(), file.compressed_size()) {
            return Err(CardError::TooMuch("the archive unpacks to more than any card"));
        }
        if name == CARD {
            card = Some(place);
        }
    }
    let card = card.ok_or(CardError::NoCardInArchive)?;
    let file = archive.by_index(card).map_err(|_| DAMAGED)?;
    counted(file.compressed_size(), file)
}

fn is_bomb(size: u64, packed: u64) -> bool {
    size > FREE_BYTES && size / MAX_RATIO > packed
}

/// Unpacks a file and counts meanwhile: what it says of its size may be a lie.
fn counted(packed: u64, mut file: impl Read) -> Result<Vec<u8>, CardError> {
    let mut out = Vec::new();
    let mut piece = [0; 8 * 1024];
    loop {
        let read = file.read(&mut piece).map_err(|_| DAMAGED)?;
        if read == 0 {
            return Ok(out);
        }
        out.extend_from_slice(&piece[..read]);
        if out.len() > MAX_TEXT_BYTES || is_bomb(out.len() as u64, packed) {
            return Err(CardError::TooMuch("its text is longer than a card's"));
        }
    }
}

/// Refuses an archive that says it has more files than are taken, before any of them is listed.
fn check_end(bytes: &[u8]) -> Result<(), CardError> {
    let tail = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
    if tail.windows(LARGE_END.len()).any(|part| part == LARGE_END) {
        return Err(CardError::TooMuch("the archive is made for more than any card"));
    }
    for end in tail.windows(END_BYTES).filter(|part| part.starts_with(END)) {
        if usize::from(u16::from_le_bytes([end[10], end[11]])) > MAX_ENTRIES {
            return Err(CardError::TooMuch("the archive has too many files"));
        }
    }
    Ok(())
}
