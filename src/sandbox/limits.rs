//! What one run may use. Each limit ends with a sentence that a model can act on.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// The processor time that a program may take.
pub const GUEST_TIME: Duration = Duration::from_secs(2);
/// The time after which the parent ends the worker, whatever it does.
pub const WALL_TIME: Duration = Duration::from_secs(5);
/// The memory of the interpreter and its program.
pub const MEMORY_BYTES: usize = 192 * MIB;
/// What a program may print, both streams together.
pub const OUTPUT_BYTES: usize = MIB;
/// The files that a program may create or change, and their bytes together.
pub const CHANGED_FILES: usize = 100;
/// See [`CHANGED_FILES`].
pub const CHANGED_BYTES: usize = 4 * MIB;
/// The files that a program may be given, and their bytes together.
pub const GIVEN_FILES: usize = 1000;
/// See [`GIVEN_FILES`].
pub const GIVEN_BYTES: usize = 16 * MIB;
/// The program itself.
pub const SOURCE_BYTES: usize = 256 * 1024;
/// What a program may read from its standard input, and its arguments together.
pub const INPUT_BYTES: usize = MIB;
/// The JSON value that a called function may return, and the arguments it is given.
pub const VALUE_BYTES: usize = MIB;
/// What is told of an error.
pub(super) const ERROR_BYTES: usize = 16 * 1024;
/// The folders that may exist at once.
pub(super) const FOLDERS: usize = 1000;
/// The programs that run at once.
pub const AT_ONCE: usize = 2;
/// The programs that may wait for their turn.
pub const WAITING: usize = 256;
/// How long one waits for its turn.
pub const WAITING_TIME: Duration = Duration::from_secs(60);

const MIB: usize = 1024 * 1024;

/// A limit that a program reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// It computed for too long.
    GuestTime,
    /// It took too long by the clock on the wall.
    WallTime,
    /// It wanted more memory than there is.
    Memory,
    /// Its calls went deeper than the stack.
    Stack,
    /// It printed too much.
    Output,
    /// It wrote too many files, or too much into them.
    Files,
    /// It used something that is not there, such as a socket.
    Absent,
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GuestTime => write!(
                out,
                "The program was stopped: it computed for longer than {} seconds.",
                GUEST_TIME.as_secs()
            ),
            Self::WallTime => write!(
                out,
                "The program was stopped: it took longer than {} seconds.",
                WALL_TIME.as_secs()
            ),
            Self::Memory => {
                write!(out, "The program wanted more than {} MiB of memory.", MEMORY_BYTES / MIB)
            }
            Self::Stack => {
                write!(out, "The program was stopped: its calls went deeper than the stack.")
            }
            Self::Output => write!(
                out,
                "The program was stopped: it printed more than {} KiB. Write to a file instead.",
                OUTPUT_BYTES / 1024
            ),
            Self::Files => write!(
                out,
                "A program may create or change {CHANGED_FILES} files with {} MiB together; \
                 what went beyond was not written.",
                CHANGED_BYTES / MIB
            ),
            Self::Absent => write!(
                out,
                "The program was stopped: it used something that this Python does not have, \
                 such as a socket or a process."
            ),
        }
    }
}
