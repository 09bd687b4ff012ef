//! The files of a playground session: they exist in the database only.
//!
//! A path is always relative to the session's own root, and nothing leads out of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    id::{CallId, MessageId},
    timestamp::Timestamp,
};

/// The longest path, in bytes.
pub const MAX_PATH_BYTES: usize = 200;
/// The deepest path: folders and the name.
pub const MAX_PATH_DEPTH: usize = 12;
/// The largest file, in bytes.
pub const MAX_FILE_BYTES: usize = 1024 * 1024;
/// The most files at one place of a conversation.
pub const MAX_FILES: usize = 1000;
/// The most bytes of all of them together.
pub const MAX_ALL_BYTES: usize = 16 * 1024 * 1024;

/// Where a file stands: `notes/plan.md`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct FilePath(String);

impl FilePath {
    /// The path that this text means. A leading `/` is the session's root; what would lead out of it, or
    /// what no file can be called, is refused.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let steps = steps(text)?;
        match steps.is_empty() {
            true => Err(refused(text, "it names no file")),
            false => Ok(Self(steps.join("/"))),
        }
    }

    /// The folder that this text means, as the beginning of the paths in it; empty for the root.
    pub fn parse_folder(text: &str) -> Result<String, ApiError> {
        let steps = steps(text)?;
        Ok(steps.into_iter().map(|step| format!("{step}/")).collect())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last step.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
}

impl std::fmt::Display for FilePath {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

fn refused(text: &str, why: &str) -> ApiError {
    let shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    ApiError::invalid("path", format!("The path “{shown}” cannot be used: {why}."))
}

fn steps(text: &str) -> Result<Vec<&str>, ApiError> {
    if text.trim_matches('/').len() > MAX_PATH_BYTES {
        return Err(refused(text, &format!("it is longer than {MAX_PATH_BYTES} bytes")));
    }
    // What turns the direction of letters would show another name than there is.
    let hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if text.chars().any(|letter| letter == '\\' || hidden(letter)) {
        return Err(refused(text, "it has a backslash, or letters that cannot be seen"));
    }
    let text = text.strip_prefix("./").unwrap_or(text).trim_matches('/');
    if text.is_empty() || text == "." {
        return Ok(Vec::new());
    }
    let steps: Vec<&str> = text.split('/').collect();
    if steps.len() > MAX_PATH_DEPTH {
        return Err(refused(text, &format!("it is deeper than {MAX_PATH_DEPTH} folders")));
    }
    for step in &steps {
        match *step {
            "" => return Err(refused(text, "a folder in it has no name")),
            "." | ".." => return Err(refused(text, "“.” and “..” lead nowhere here")),
            step if step != step.trim() => {
                return Err(refused(text, "a name in it begins or ends with a space"));
            }
            _ => {}
        }
    }
    Ok(steps)
}

/// A file as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileInfo {
    /// Where it stands.
    pub path: String,
    /// How many bytes it has.
    pub size: u64,
    /// Which revision of this path it is.
    pub revision: i64,
    /// The message whose making wrote it; `null` when a person put it there before anything was said.
    pub message_id: Option<MessageId>,
    /// The tool's call that wrote it; `null` when a person did.
    pub call_id: Option<CallId>,
    /// When it was written.
    pub updated_at: Timestamp,
}

/// How many bytes something has, for a model: `1 byte`, `283 bytes`.
pub fn told_bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// A file with what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualFile {
    /// What is known of it.
    pub info: FileInfo,
    /// Its bytes.
    pub content: Vec<u8>,
}

impl VirtualFile {
    /// Its text; `None` when it is no text.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.content).ok().filter(|text| !text.contains('\0'))
    }
}

/// A picture that browsers draw and in which nothing can come to life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
}

impl PictureKind {
    /// What these bytes are, by how they begin; what a file is called says nothing.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }

    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// What a file becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Where it stands.
    pub path: FilePath,
    /// Its bytes; `None` deletes it.
    pub content: Option<Vec<u8>>,
}

/// Whether one of two paths would be a folder in the other.
fn clash(one: &str, other: &str) -> bool {
    let within = |path: &str, folder: &str| {
        path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    within(one, other) || within(other, one)
}

/// Refuses more than a session holds: `files` are those that are there, with their sizes. What counts is how it
/// is after all changes, in their order.
pub fn check_room(files: &[FileInfo], changes: &[FileChange]) -> Result<(), ApiError> {
    let mut sizes: BTreeMap<&str, u64> =
        files.iter().map(|file| (file.path.as_str(), file.size)).collect();
    for change in changes {
        match &change.content {
            Some(content) if content.len() > MAX_FILE_BYTES => {
                let rule = format!(
                    "The file “{}” is too large: {} bytes, and at most {MAX_FILE_BYTES} fit.",
                    change.path,
                    content.len()
                );
                return Err(ApiError::invalid("content", rule));
            }
            Some(content) => sizes.insert(change.path.as_str(), content.len() as u64),
            None => sizes.remove(change.path.as_str()),
        };
    }
    for path in changes.iter().map(|change| change.path.as_str()) {
        if sizes.contains_key(path)
            && let Some(other) = sizes.keys().find(|other| clash(other, path))
        {
            let rule = format!(
                "“{path}” cannot be a file beside “{other}”: one of them would be a folder."
            );
            return Err(ApiError::invalid("path", rule));
        }
    }
    if sizes.len() > MAX_FILES {
        return Err(ApiError::invalid(
            "path",
            format!("There are too many files: at most {MAX_FILES} fit. Delete some first."),
        ));
    }
    if sizes.values().sum::<u64>() > MAX_ALL_BYTES as u64 {
        let rule = format!(
            "All files together are too large: at most {MAX_ALL_BYTES} bytes fit. Delete some first."
        );
        return Err(ApiError::invalid("content", rule));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(path: &str, size: u64) -> FileInfo {
        FileInfo {
            path: path.into(),
            size,
            revision: 1,
            message_id: None,
            call_id: None,
            updated_at: Timestamp(0),
        }
    }

    fn change(path: &str, bytes: Option<usize>) -> FileChange {
        let path = FilePath::parse(path).unwrap();
        FileChange { path, content: bytes.map(|bytes| vec![b'x'; bytes]) }
    }

    #[test]
    fn a_path_stands_under_the_root_however_it_is_written() {
        for (text, path) in [
            ("a.txt", "a.txt"),
            ("/a.txt", "a.txt"),
            ("./a/b.txt", "a/b.txt"),
            ("/naïve/日本.md", "naïve/日本.md"),
            ("a/b/", "a/b"),
            ("...", "..."),
        ] {
            assert_eq!(FilePath::parse(text).unwrap().as_str(), path, "{text:?}");
        }
    }

    #[test]
    fn nothing_leads_out_of_the_root_and_odd_names_are_refused() {
        for odd in [
            "",
            "/",
            ".",
            "..",
            "../a",
            "a/../../b",
            "a//b",
            "a/./b",
            "C:\\a",
            "..\\a",
            "a\0b",
            "a\nb",
            "a/ b",
            " a",
            "a\u{202e}txt.exe",
            "a\u{200b}",
            &"x".repeat(201),
            &"a/".repeat(20),
        ] {
            let error = FilePath::parse(odd).unwrap_err();
            assert_eq!(error.status(), 422, "{odd:?}");
            assert!(!error.to_string().contains('\u{202e}'));
        }
    }

    #[test]
    fn a_folder_is_the_beginning_of_the_paths_in_it() {
        assert_eq!(FilePath::parse_folder("").unwrap(), "");
        assert_eq!(FilePath::parse_folder("/").unwrap(), "");
        assert_eq!(FilePath::parse_folder("/a/b/").unwrap(), "a/b/");
        assert!(FilePath::parse_folder("..").is_err());
    }

    #[test]
    fn a_file_is_no_folder() {
        let files = [info("a/b", 1), info("ab", 1)];

        assert!(check_room(&files, &[change("a", Some(1))]).is_err());
        assert!(check_room(&files, &[change("a/b/c", Some(1))]).is_err());
        assert_eq!(check_room(&files, &[change("a/c", Some(1)), change("a", None)]), Ok(()));
    }

    #[test]
    fn what_a_batch_comes_to_counts_and_not_what_is_on_the_way() {
        let (file, folder) = (change("a", Some(1)), change("a/b", Some(1)));
        let files = [info("a/b", 1)];

        // A folder becomes a file when all in it is deleted, whichever is named first.
        let gone = change("a/b", None);
        assert_eq!(check_room(&files, &[gone.clone(), file.clone()]), Ok(()));
        assert_eq!(check_room(&files, &[file.clone(), gone.clone()]), Ok(()));
        // Two of one batch stand in each other's way as well.
        assert!(check_room(&[], &[file.clone(), folder.clone()]).is_err());
        assert!(check_room(&[], &[folder, file]).is_err());
        // A path that is named twice is what it was named last.
        assert_eq!(check_room(&files, &[gone.clone(), gone.clone()]), Ok(()));
        assert_eq!(check_room(&files, &[change("a/b", Some(9)), gone]), Ok(()));
        let full = MAX_ALL_BYTES as u64;
        let (large, small) = (change("b", Some(MAX_FILE_BYTES)), change("b", Some(1)));
        assert_eq!(check_room(&[info("a", full - 1)], &[large.clone(), small.clone()]), Ok(()));
        assert!(check_room(&[info("a", full - 1)], &[small, large]).is_err());
    }

    #[test]
    fn a_session_holds_so_much_and_no_more() {
        let files: Vec<FileInfo> = (0..MAX_FILES).map(|n| info(&n.to_string(), 10)).collect();

        assert_eq!(check_room(&files, &[change("7", Some(20))]), Ok(()));
        assert!(check_room(&files, &[change("new", Some(1))]).is_err());
        assert_eq!(check_room(&files, &[change("7", None), change("new", Some(1))]), Ok(()));
        assert!(check_room(&[], &[change("a", Some(MAX_FILE_BYTES + 1))]).is_err());
        let full = [info("a", MAX_ALL_BYTES as u64)];
        assert!(check_room(&full, &[change("b", Some(1))]).is_err());
        assert_eq!(check_room(&full, &[change("a", Some(1))]), Ok(()));
    }
}
