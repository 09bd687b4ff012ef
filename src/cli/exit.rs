//! How a command ends: a code that scripts can use, and a sentence for people.

use std::process::ExitCode;

use super::{stage::StageError, tui::driver::ScreenError};
use crate::domain::error::ApiError;

/// The codes with which commands end. They are documented in `docs/terminal.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Done,
    /// The answer failed or is not whole, or a service or server did not do its part.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// There is no such session or file, or several sessions are meant.
    NotFound,
    /// The session is being answered already.
    Busy,
    /// The configuration makes no sense.
    Configuration,
    /// A person stopped it.
    Interrupted,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 66,
            Self::Busy => 75,
            Self::Configuration => 78,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// How it ends.
    pub exit: Exit,
    /// What people are told.
    pub message: String,
}

impl Failure {
    /// One that ends like this.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// The command line makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let exit = match &error {
            ApiError::NotFound { .. } | ApiError::InBin { .. } => Exit::NotFound,
            ApiError::Invalid { field, .. } if field == "session" => Exit::NotFound,
            ApiError::Invalid { .. }
            | ApiError::Malformed { .. }
            | ApiError::TooLarge { .. }
            | ApiError::WrongType { .. }
            | ApiError::WrongMethod { .. } => Exit::Usage,
            ApiError::Busy { .. } => Exit::Busy,
            ApiError::Conflict(_)
            | ApiError::Taken { .. }
            | ApiError::AddressTaken { .. }
            | ApiError::NotNow { .. }
            | ApiError::Decided { .. }
            | ApiError::MovedOn { .. }
            | ApiError::Provider { .. }
            | ApiError::Limited { .. }
            | ApiError::Denied { .. }
            | ApiError::SignIn { .. }
            | ApiError::Misdirected { .. }
            | ApiError::Unavailable
            | ApiError::DiskFull
            | ApiError::Offline
            | ApiError::Internal { .. } => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Told(error) => error.into(),
            StageError::Address(_) => Self::usage(error.to_string()),
            StageError::Folder(_) | StageError::Client(_) => {
                Self::new(Exit::Failed, error.to_string())
            }
        }
    }
}

impl From<ScreenError> for Failure {
    fn from(error: ScreenError) -> Self {
        Self::new(Exit::Failed, error.to_string())
    }
}
