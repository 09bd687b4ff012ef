//! The text in a PNG: its chunks are walked through, and not one pixel is decoded.

use std::io::Read;

use base64::{
    Engine,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use flate2::read::ZlibDecoder;

use super::{CardError, MAX_TEXT_BYTES};

/// How every PNG begins.
pub const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The widest and highest picture: a larger one is made to exhaust whoever draws it.
const MAX_SIDE: u32 = 16_384;
/// What cards are kept under, the newer first.
const KEYWORDS: [&str; 2] = ["ccv3", "chara"];

/// The texts in which a card may be, the one that counts first.
pub fn texts(bytes: &[u8]) -> Result<Vec<Vec<u8>>, CardError> {
    let mut found: [Option<Vec<u8>>; 2] = [None, None];
    let mut rest = bytes.get(SIGNATURE.len()..).unwrap_or_default();
    let mut is_first = true;
    loop {
        let (kind, data, after) = chunk(rest).ok_or(CardError::Damaged("it breaks off"))?;
        if is_first {
            check_size(kind, data)?;
            is_first = false;
        }
        match kind {
            b"tEXt" | b"zTXt" | b"iTXt" => {
                let (keyword, packed) = split(data).unwrap_or_default();
                let place = KEYWORDS
                    .iter()
                    .position(|known| keyword.eq_ignore_ascii_case(known.as_bytes()));
                if let Some(place) = place.filter(|place| found[*place].is_none()) {
                    found[place] = Some(plain(&unpacked(kind, packed)?));
                }
            }
            b"IEND" => break,
            _ => {}
        }
        rest = after;
    }
    Ok(found.into_iter().flatten().collect())
}

/// The first chunk's name and content, and what follows it.
fn chunk(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (kind, rest) = rest.split_at_checked(4)?;
    let (data, rest) = rest.split_at_checked(length)?;
    let (_, rest) = rest.split_at_checked(4)?;
    Some((kind, data, rest))
}

fn check_size(kind: &[u8], data: &[u8]) -> Result<(), CardError> {
    let side = |at: usize| {
        data.get(at..at + 4)
            .and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?)))
            .filter(|_| kind == b"IHDR")
            .ok_or(CardError::Damaged("it has no size"))
    };
    match (side(0)?, side(4)?) {
        (1..=MAX_SIDE, 1..=MAX_SIDE) => Ok(()),
        _ => Err(CardError::TooMuch("its picture is too large")),
    }
}

/// What stands before the first NUL, and after it.
fn split(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = data.iter().position(|byte| *byte == 0)?;
    Some((&data[..at], &data[at + 1..]))
}

/// The text of a chunk, without its keyword.
fn unpacked(kind: &[u8], data: &[u8]) -> Result<Vec<u8>, CardError> {
    const BROKEN: CardError = CardError::Damaged("its text cannot be read");
    let (is_packed, text) = match kind {
        b"zTXt" => (true, data.get(1..).ok_or(BROKEN)?),
        b"iTXt" => {
            let (head, rest) = data.split_at_checked(2).ok_or(BROKEN)?;
            let (_, rest) = split(rest).ok_or(BROKEN)?;
            let (_, text) = split(rest).ok_or(BROKEN)?;
            (head[0] != 0, text)
        }
        _ => (false, data),
    };
    let mut out = Vec::new();
    let most = MAX_TEXT_BYTES as u64 + 1;
    if is_packed {
        ZlibDecoder::new(text).take(most).read_to_end(&mut out).map_err(|_| BROKEN)?;
    } else {
        text.take(most).read_to_end(&mut out).map_err(|_| BROKEN)?;
    }
    match out.len() > MAX_TEXT_BYTES {
        true => Err(CardError::TooMuch("its text is longer than a card's")),
        false => Ok(out),
    }
}

/// The JSON that a text is in base64, of either kind and however it is broken into lines; or the text.
fn plain(text: &[u8]) -> Vec<u8> {
    let packed: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let lenient =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let decoded = [STANDARD, URL_SAFE]
        .iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, lenient).decode(&packed).ok());
    decoded.unwrap_or_else(|| text.to_vec())
}
