//! What can be written instead of pressed: the commands of the line mode, and those that open something.

use crate::domain::terminal::TerminalChanges;

/// A command that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The keys are shown.
    Help,
    /// One leaves.
    Leave,
    /// The sessions are listed.
    Sessions,
    /// A session is begun, and called this.
    Begin(String),
    /// Something is set for the session; nothing asks which model.
    Set(Box<TerminalChanges>),
    /// The session goes into the bin.
    Delete,
    /// The drafts are reviewed.
    Drafts,
    /// The last decision on a draft is taken back.
    TakeBack,
    /// Words are searched for.
    Search(String),
    /// The last answer is copied.
    Copy,
    /// There is no such command.
    Unknown(String),
}

impl Command {
    /// The command that a text is; most texts are none, and a path is none either.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        if !word.starts_with('/') || word[1..].contains('/') || text.contains('\n') {
            return None;
        }
        let rest = rest.trim().to_owned();
        let given = || Some(rest.clone()).filter(|rest| !rest.is_empty());
        let set = |changes| Self::Set(Box::new(changes));
        Some(match word {
            "/help" | "/?" => Self::Help,
            "/exit" | "/quit" => Self::Leave,
            "/sessions" => Self::Sessions,
            "/new" => Self::Begin(rest),
            "/model" => set(TerminalChanges { model: given(), ..TerminalChanges::default() }),
            "/describe" => {
                set(TerminalChanges { description: Some(rest), ..TerminalChanges::default() })
            }
            "/delete" => Self::Delete,
            "/drafts" | "/accept" | "/reject" => Self::Drafts,
            "/undo" => Self::TakeBack,
            "/search" => Self::Search(rest),
            "/copy" => Self::Copy,
            word => Self::Unknown(word.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_words_and_paths() {
        assert_eq!(Command::read("hello /new"), None);
        assert_eq!(Command::read("/etc/passwd says?"), None);
        assert_eq!(Command::read("/new\nlines"), None);
        assert_eq!(Command::read(" /new  my plan "), Some(Command::Begin("my plan".into())));
        assert_eq!(Command::read("/quit"), Some(Command::Leave));
        assert_eq!(Command::read("/nonsense x"), Some(Command::Unknown("/nonsense".into())));
        let model = TerminalChanges { model: Some("demo".into()), ..TerminalChanges::default() };
        assert_eq!(Command::read("/model demo"), Some(Command::Set(Box::new(model))));
        assert_eq!(Command::read("/model"), Some(Command::Set(Box::default())));
    }
}
