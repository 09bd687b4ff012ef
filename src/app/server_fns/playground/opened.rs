//! What is looked at beside a session: a file, what a step did, or a text that could not be saved.

use serde::{Deserialize, Serialize};

use crate::domain::{diff::Segment, id::CallId, version::Revision, virtual_file::FileInfo};

/// What is looked at beside a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Opened {
    /// Nothing.
    Nothing,
    /// A file that is looked at.
    Viewed(FileInfo, FileView),
    /// A file that is edited, with its text; `None` when it is no text.
    File(FileInfo, Option<String>),
    /// A file of which one has a text that could not be saved.
    Unsaved(UnsavedFile),
    /// What a call did to files.
    Step(Vec<FileDiff>),
    /// Why it cannot be shown.
    Problem(String),
}

/// How a file is looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileView {
    /// Line by line, as it is written.
    Lines {
        /// The text.
        text: String,
        /// Whether it could be drawn, too.
        drawn: bool,
    },
    /// Markdown, as HTML.
    Prose(String),
    /// The rows of a table.
    Table(Vec<Vec<String>>),
    /// A picture.
    Picture,
    /// Nothing that could be shown.
    Bytes,
}

/// What a page looks at beside a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// The file.
    #[serde(default)]
    pub file: Option<String>,
    /// Whether it is edited.
    #[serde(default)]
    pub edited: bool,
    /// Whether it is shown as it is written, though it could be drawn.
    #[serde(default)]
    pub as_written: bool,
    /// The call whose files are looked at.
    #[serde(default)]
    pub call: Option<CallId>,
}

/// A text that could not be saved, because another one stands there by now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnsavedFile {
    /// Where it stands.
    pub path: String,
    /// What one wrote.
    pub yours: String,
    /// What stands there now; nothing when the file was deleted, or is no text.
    pub theirs: Option<String>,
    /// Which revision that is; 0 when there is none.
    pub revision: Revision,
}

/// What came of saving a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedFile {
    /// For people.
    pub told: String,
}

/// What a call did to one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileDiff {
    /// Where it stands.
    pub path: String,
    /// What happened to it: made, changed or deleted.
    pub told: String,
    /// Word by word, when it is text.
    pub segments: Option<Vec<Segment>>,
}
