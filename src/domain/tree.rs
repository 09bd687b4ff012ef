//! The messages of a chat as a tree: what one page of a path shows, and the map of all of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    field::TextField,
    id::{MessageId, PersonaId},
    line::NextItem,
    message::{Message, Role},
    run::Run,
    timestamp::Timestamp,
    version::Revision,
};

/// How many messages of a path come at once when nobody says otherwise.
pub const PATH_SIZE: u32 = 50;
/// The most that come at once.
pub const MAX_PATH_SIZE: u32 = 100;
/// As far as messages on another branch are counted.
pub const MAX_COUNTED: i64 = 1000;
/// As far as siblings are counted: a page of a path asks for them at every message.
pub const MAX_SIBLINGS: i64 = 100;
/// As far as what follows siblings is counted, and behind how many of them: a page of a path asks for it at
/// every fork.
pub const MAX_HIDDEN: i64 = 100;
/// See [`MAX_HIDDEN`].
pub const MAX_BESIDE: i64 = 10;
/// What a person calls a moment.
pub const MOMENT: TextField = TextField { name: "label", label: "The label", max_chars: 80 };
/// How many letters of a message the map shows.
pub const EXCERPT_CHARS: usize = 80;

/// A message on a path, and what stands beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PathMessage {
    /// The message.
    #[serde(flatten)]
    pub message: Message,
    /// All its words.
    pub content: String,
    /// The persona that said it; `null` for a person's words.
    pub persona_id: Option<PersonaId>,
    /// The version of that persona.
    pub persona_revision: Option<Revision>,
    /// What it was called then.
    pub persona_name: Option<String>,
    /// Its place among the messages with the same parent, from 1.
    pub position: i64,
    /// How many there are; 100 means that or more.
    pub siblings: i64,
    /// The one before it.
    pub previous: Option<MessageId>,
    /// The one after it.
    pub following: Option<MessageId>,
    /// How many messages follow the others; 100 means that or more, and of more than ten others only ten are
    /// counted.
    pub hidden: i64,
    /// What a person calls this moment.
    pub label: String,
    /// Whether a person wants to find it again.
    pub bookmarked: bool,
    /// Whether it is still being written.
    pub generating: bool,
}

/// Newer messages than those that are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Newer {
    /// The newest message.
    pub leaf: MessageId,
    /// How many messages lie on its path and not on the one that is shown; 1000 means that or more.
    pub count: i64,
}

/// A stretch of one path through a chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PathPage {
    /// The messages, the oldest first, the one that is being written included.
    pub items: Vec<PathMessage>,
    /// Send it as `before` to get what was said before them; `null` at the beginning.
    pub next: Option<MessageId>,
    /// Send it as `around` to get what was said after them; `null` when they reach the end.
    pub later: Option<MessageId>,
    /// Where the path ends; `null` in a chat without messages.
    pub leaf: Option<MessageId>,
    /// Messages on another branch that are newer than these.
    pub newer_elsewhere: Option<Newer>,
    /// Whether the path that was asked for is pruned, so that another is shown.
    pub moved: bool,
    /// The run that was last begun in the chat, on whichever branch.
    pub run: Option<Run>,
    /// The answers that are being given, or that ended without words, in the order of their personas.
    pub runs: Vec<Run>,
    /// What comes next, once they are there.
    pub line: Vec<NextItem>,
}

/// A message as the map of a chat shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// The message.
    pub id: MessageId,
    /// What it follows; `null` at the beginning.
    pub parent_id: Option<MessageId>,
    /// Who says it.
    pub role: Role,
    /// Its first words.
    pub excerpt: String,
    /// What a person calls this moment.
    pub label: String,
    /// Whether a person wants to find it again.
    pub bookmarked: bool,
    /// Whether it is hidden with all that follows it.
    pub pruned: bool,
    /// When it was said.
    pub created_at: Timestamp,
}

/// A part of the map: so many messages around one, in the order in which they were written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapWindow {
    /// The messages.
    pub nodes: Vec<TreeNode>,
    /// Those of them that stand on the path that is shown.
    pub on_path: Vec<MessageId>,
    /// Set when there are earlier ones: the first of these.
    pub earlier: Option<MessageId>,
    /// Set when there are later ones: the last of these.
    pub later: Option<MessageId>,
}

/// What was found in the messages of a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundInTree {
    /// The messages, the newest first; their excerpts are what stands around the words.
    pub nodes: Vec<TreeNode>,
    /// Where to go on when there may be more: before this message.
    pub next: Option<MessageId>,
}

/// What stands around words in a text, on one line; `None` when they are not in it. Letters count as
/// the same whether they are large or small.
pub fn excerpt_around(text: &str, words: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    if wanted.is_empty() {
        return None;
    }
    let at = line.to_lowercase().find(&wanted)?;
    // A small letter may be longer than its large one: the place is near enough, and never within one.
    let from = line.to_lowercase()[..at].chars().count().saturating_sub(EXCERPT_CHARS / 3);
    let cut: String = line.chars().skip(from).take(EXCERPT_CHARS).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if from + EXCERPT_CHARS < line.chars().count() { "…" } else { "" };
    Some(format!("{before}{}{after}", cut.trim()))
}

/// The first words of a message, on one line.
pub fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whatever_their_letters_and_shown_with_what_stands_around() {
        assert_eq!(
            excerpt_around("Über\nden Fluss", "über DEN").as_deref(),
            Some("Über den Fluss")
        );
        assert_eq!(excerpt_around("One two", "three"), None);
        assert_eq!(excerpt_around("One two", " "), None);
        let long = format!("{}needle {}", "hay ".repeat(40), "hay ".repeat(40));
        let found = excerpt_around(&long, "needle").unwrap();
        assert!(found.starts_with('…') && found.ends_with('…') && found.contains("needle"));
    }

    #[test]
    fn first_words_are_one_line_and_are_cut_between_letters() {
        assert_eq!(excerpt(" One\n\ntwo "), "One two");
        assert_eq!(excerpt(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
    }
}
