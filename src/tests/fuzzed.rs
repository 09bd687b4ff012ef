//! The fuzz targets, on kept seeds and on what is made of them: the same every time, and bounded.
//! `GREENROOM_TEST_FUZZ` says how many are made of each seed; `scripts/fuzz` runs the same targets with
//! cargo-fuzz, which learns from what they do.

use std::fs;

use crate::hostile::collected;

#[path = "../../fuzz/targets.rs"]
mod targets;

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }
}

/// Pieces that mean something to what reads them.
const PIECES: [&[u8]; 24] = [
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"-1",
    b"1e999",
    b"\\u0000",
    b"\\ud800",
    b"\n",
    b"\r",
    b"\0",
    b"\xff\xfe",
    b"../",
    b"..\\",
    b"`",
    b"```",
    b"[[",
    b"](",
    b"<",
    b"> ",
    "\u{202e}".as_bytes(),
    b"\"type\":",
];

/// Something else made of this.
fn mutated(seed: &[u8], others: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut out = seed.to_vec();
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(out.len() + 1);
        match dice.roll(6) {
            0 if at < out.len() => out[at] ^= 1 << dice.roll(8),
            1 => out.truncate(at),
            2 => {
                let end = (at + dice.roll(40)).min(out.len());
                drop(out.drain(at..end));
            }
            3 => {
                let end = (at + 1 + dice.roll(200)).min(out.len());
                let copied = out[at..end].repeat(1 + dice.roll(20));
                drop(out.splice(at..at, copied));
            }
            4 => {
                let other = &others[dice.roll(others.len())];
                let from = dice.roll(other.len());
                drop(out.splice(at..at, other[from..].iter().copied()));
            }
            _ => drop(out.splice(at..at, PIECES[dice.roll(PIECES.len())].iter().copied())),
        }
        out.truncate(20_000);
    }
    out
}

fn run(name: &str, more: Vec<String>, target: fn(&[u8])) {
    let folder = fs::read_dir(format!("fuzz/seeds/{name}")).unwrap();
    let mut files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
    files.sort();
    let kept = files.iter().map(|file| fs::read(file).unwrap());
    let seeds: Vec<Vec<u8>> = kept.chain(more.into_iter().map(String::into_bytes)).collect();
    let each = std::env::var("GREENROOM_TEST_FUZZ").ok().and_then(|each| each.parse().ok());
    // A few thousand in all, whatever is collected.
    let each: usize = each.unwrap_or(6000 / seeds.len()).max(1);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for seed in &seeds {
        target(seed);
        for _ in 0..each {
            let made = mutated(seed, &seeds, &mut dice);
            let ran = std::panic::catch_unwind(|| target(&made));
            assert!(ran.is_ok(), "{name} broke on {:?}", String::from_utf8_lossy(&made));
        }
    }
}

#[test]
fn decoders_survive_whatever_a_service_sends() {
    let broken = collected("json_test_suite.json", "b64").into_iter().filter_map(|text| {
        use base64::{Engine, prelude::BASE64_STANDARD};
        String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok()
    });
    run("decoders", broken.collect(), targets::decoders);
}

#[test]
fn markdown_stays_harmless_whatever_it_is() {
    let mut hostile = collected("xss_markdown.json", "payload");
    hostile.extend(collected("xss_core.json", "payload"));
    run("markdown", hostile, targets::markdown);
}

#[test]
fn patches_apply_whole_or_not_at_all() {
    run("patch", Vec::new(), targets::patch);
}

#[test]
fn cards_are_personas_or_refused() {
    run("cards", Vec::new(), targets::cards);
}

#[test]
fn paths_lead_nowhere_else() {
    run("paths", collected("path_traversal.json", "payload"), targets::paths);
}
