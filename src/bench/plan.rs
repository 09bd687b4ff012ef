//! How much is measured, and of which binary.
//!
//! `GREENROOM_BENCH_BINARY` names another server than the optimised one, `GREENROOM_BENCH_SCALE` makes
//! every count smaller (or larger): both are for trying these measurements out.

use std::{env, path::PathBuf};

/// The parts of the measurement; all of them when none is named.
pub const PARTS: [&str; 10] = [
    "pages",
    "knowledge",
    "chats",
    "files",
    "streams",
    "traces",
    "runs",
    "load",
    "terminal",
    "sandbox",
];

/// What a run of this program does.
pub struct Plan {
    /// The server that is measured.
    pub binary: PathBuf,
    scale: f64,
    parts: Vec<String>,
}

impl Plan {
    /// What the arguments and variables ask for.
    pub fn read(words: &[String]) -> Self {
        let binary = env::var_os("GREENROOM_BENCH_BINARY");
        let scale = env::var("GREENROOM_BENCH_SCALE").ok();
        Self {
            binary: binary.map_or_else(|| "target/release/greenroom".into(), PathBuf::from),
            scale: scale.map_or(1.0, |scale| scale.parse().expect("a scale is a number")),
            parts: words.iter().filter(|word| PARTS.contains(&word.as_str())).cloned().collect(),
        }
    }

    /// Whether a part is wanted.
    pub fn wants(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|named| named == part)
    }

    /// So many at full scale, at least `least`.
    pub fn count(&self, full: usize, least: usize) -> usize {
        ((full as f64 * self.scale) as usize).max(least)
    }

    /// What is unusual about it, if anything is.
    pub fn remark(&self) -> Option<String> {
        let usual = self.scale == 1.0 && self.binary.ends_with("release/greenroom");
        (!usual).then(|| format!("A trial: {} at scale {}.", self.binary.display(), self.scale))
    }
}
