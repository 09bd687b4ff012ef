//! Running Python for an agent: a program, the session's files, and what came of them.
//!
//! The one rule of the room: a program reaches nothing but the files it is given. It runs in an
//! interpreter compiled to WebAssembly, whose host has no disk, network, environment or clock to give,
//! inside a process that gave them up. What comes back is untrusted text.

mod command;
pub mod limits;
mod line;
mod machine;
mod message;
mod module;
mod pool;
mod tree;
mod walls;
mod wasi;
mod worker;

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::BoxFuture;
use limits::{GIVEN_BYTES, GIVEN_FILES, INPUT_BYTES, SOURCE_BYTES, VALUE_BYTES};
use serde_json::{Map, Value};

pub use self::{
    command::{CommandError, Invocation, parse, what_works_instead},
    limits::Limit,
    message::End,
    module::HOW_TO_GET,
    worker::{COMMAND, work},
};

/// What a model is told of this Python.
pub const DESCRIPTION: &str = include_str!("sandbox/python.md");

/// Files by their paths, which are written as `folder/name`: no slash before, no dots as names.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Run this text.
    Source(String),
    /// Run this file of the session.
    Script(String),
    /// Say how a function of this text is called: [`Outcome::value`] has its name, signature,
    /// description, and its parameters and result as JSON Schema.
    Describe {
        /// The text.
        source: String,
        /// The function's name.
        function: String,
    },
    /// Call a function of this text: [`Outcome::value`] is what it returns.
    Call {
        /// The text.
        source: String,
        /// The function's name.
        function: String,
        /// Its arguments by their names.
        keywords: Map<String, Value>,
    },
}

/// Whose program it is: where others wait, nobody has all turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The Space.
    pub space: String,
    /// The session in it.
    pub session: String,
}

/// A program with all it gets to see.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// What is to be done.
    pub what: What,
    /// What follows the program's name in `sys.argv`.
    pub arguments: Vec<String>,
    /// What it reads from its standard input.
    pub stdin: String,
    /// The session's files.
    pub files: Files,
    /// What randomness begins with. The same seed gives the same numbers; none gives others each time.
    pub seed: Option<u64>,
    /// When it is for the program; now, unless it is said.
    pub now: Option<SystemTime>,
    /// Whose it is.
    pub owner: Owner,
}

impl Program {
    /// A program without arguments, input and files.
    pub fn new(what: What) -> Self {
        let (arguments, stdin, files) = (Vec::new(), String::new(), Files::new());
        Self { what, arguments, stdin, files, seed: None, now: None, owner: Owner::default() }
    }

    /// What a command says, beside these files.
    pub fn from_command(invocation: Invocation, files: Files) -> Self {
        let Invocation { what, arguments } = invocation;
        Self { arguments, files, ..Self::new(what) }
    }

    fn check(&self) -> Result<(), SandboxError> {
        let bytes: usize = self.files.values().map(Vec::len).sum();
        if self.files.len() > GIVEN_FILES || bytes > GIVEN_BYTES {
            return Err(SandboxError::TooManyFiles);
        }
        for path in self.files.keys() {
            let is_proper = tree::key(path).is_ok_and(|key| key == *path && !key.is_empty());
            let has_file_above =
                path.match_indices('/').any(|(at, _)| self.files.contains_key(&path[..at]));
            if !is_proper || has_file_above {
                return Err(SandboxError::BadPath { path: path.clone() });
            }
        }
        let input = self.stdin.len() + self.arguments.iter().map(String::len).sum::<usize>();
        if input > INPUT_BYTES {
            return Err(SandboxError::TooMuchInput);
        }
        let source = match &self.what {
            What::Source(source) | What::Describe { source, .. } => source.len(),
            What::Call { source, keywords, .. } => {
                let given = serde_json::to_string(keywords).map_or(usize::MAX, |json| json.len());
                if given > VALUE_BYTES {
                    return Err(SandboxError::TooMuchInput);
                }
                source.len()
            }
            What::Script(path) => {
                let file = tree::key(path).ok().and_then(|key| self.files.get(&key));
                file.ok_or_else(|| SandboxError::NoScript { path: path.clone() })?.len()
            }
        };
        if source > SOURCE_BYTES { Err(SandboxError::TooLong) } else { Ok(()) }
    }
}

/// What came of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What was asked for beyond running: a description, or what a function returned.
    pub value: Option<Value>,
    /// What it printed.
    pub stdout: String,
    /// What it printed as an error.
    pub stderr: String,
    /// The files that it created or changed, and `None` for those it deleted. None when it was stopped.
    pub changed: BTreeMap<String, Option<Vec<u8>>>,
    /// The limits that it met, whether it went on or not.
    pub reached: Vec<Limit>,
    /// The processor's time.
    pub guest_time: Duration,
    /// The time on the wall, without waiting in line.
    pub wall_time: Duration,
}

impl Outcome {
    /// Whether the program ended as it should.
    pub fn is_success(&self) -> bool {
        self.end == End::Exit(0)
    }
}

/// Why a program did not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// Python was not built in.
    #[error("{HOW_TO_GET}")]
    Missing,
    /// Too many programs wait.
    #[error("Too many programs are waiting to run. Try again in a moment.")]
    Busy,
    /// The program is too long.
    #[error("The program is longer than {} KiB.", SOURCE_BYTES / 1024)]
    TooLong,
    /// It is given too many files.
    #[error("A program is given at most {GIVEN_FILES} files with {} MiB together.", GIVEN_BYTES / 1024 / 1024)]
    TooManyFiles,
    /// It is given too much to read.
    #[error("The program's input and arguments are larger than {} KiB.", INPUT_BYTES / 1024)]
    TooMuchInput,
    /// A file is named in a way that no program could name it.
    #[error("{path:?} is not the path of a file. Write it as folder/name.")]
    BadPath {
        /// The path.
        path: String,
    },
    /// The script is none of the files.
    #[error("There is no file {path:?} in this session.")]
    NoScript {
        /// The path.
        path: String,
    },
    /// No process could be started for it.
    #[error("Python could not be started: {reason}")]
    NotStarted {
        /// Why.
        reason: String,
    },
    /// The process ended in the middle, or said what it must not say.
    #[error(
        "The process that ran the program ended unexpectedly. Nothing was changed; run it again."
    )]
    Lost,
}

/// What runs programs. The one there is keeps workers; an operator's own could stand in its place.
pub trait Engine: Send + Sync {
    /// Runs a program that keeps to the limits.
    fn run(&self, program: Program) -> BoxFuture<'_, Result<Outcome, SandboxError>>;

    /// Gets ready, so that the first program need not wait.
    fn warm(&self) -> BoxFuture<'_, Result<(), SandboxError>>;
}

/// Runs Python. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox {
    engine: Arc<dyn Engine>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Sandbox").finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Runs programs in processes of this binary, which is Greenroom's: `std::env::current_exe()`.
    pub fn new(binary: &Path) -> Self {
        Self::with(Arc::new(pool::Pool::new(binary)))
    }

    /// Runs programs elsewhere.
    pub fn with(engine: Arc<dyn Engine>) -> Self {
        Self { engine }
    }

    /// Whether Python was built in.
    pub fn is_built_in() -> bool {
        module::IS_THERE
    }

    /// Gets ready, so that the first program need not wait.
    pub async fn warm(&self) -> Result<(), SandboxError> {
        self.engine.warm().await
    }

    /// Runs a program to its end, waiting in line for a turn.
    pub async fn run(&self, program: Program) -> Result<Outcome, SandboxError> {
        program.check()?;
        self.engine.run(program).await
    }
}
