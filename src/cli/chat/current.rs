//! Which session is the current one: a variable says so, or what this terminal was last used for.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    cli::place::Place,
    domain::{id::ConversationId, terminal::TerminalSession},
};

/// The variables that name the current session, in the order in which they count.
pub const VARIABLES: [&str; 2] = ["GREENROOM_SESSION_ID", "RETIRE_CURRENT_SESSION_ID"];
/// The variable that names a file to which the current session is written, for a shell to read.
pub const HANDED_OVER: &str = "GREENROOM_SESSION_FILE";

/// The variable in which a shell says what it keeps by itself in the first of those.
pub const KEPT: &str = "GREENROOM_SESSION_KEPT";

/// How long it is remembered at least what a terminal was last used for.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the current session is kept for this terminal.
#[derive(Clone, Debug)]
pub struct Current {
    file: PathBuf,
    handed_over: Option<PathBuf>,
}

/// The session that a variable names, and which variable does.
pub fn by_variable() -> Option<(&'static str, String)> {
    VARIABLES.into_iter().find_map(|name| {
        let id = std::env::var(name).ok()?.trim().to_owned();
        (!id.is_empty()).then_some((name, id))
    })
}

impl Current {
    /// The one of this terminal, at this place.
    pub fn at(place: &Place) -> Self {
        let mut name = terminal();
        // Another server or database has other sessions.
        if let Some(elsewhere) = place.elsewhere() {
            let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
            name.push('@');
            name.extend(elsewhere.chars().map(plain));
        }
        let handed_over = std::env::var_os(HANDED_OVER).filter(|file| !file.is_empty());
        Self {
            file: place.chat_folder().join("current").join(name),
            handed_over: handed_over.map(PathBuf::from),
        }
    }

    /// Whether a shell keeps the variable. It may name a session of another place then, which that shell
    /// was last used for.
    pub fn is_handed_over(&self) -> bool {
        self.handed_over.is_some()
    }

    /// Whether the variable has what the shell put there, and nobody else. A part of that shell, as in a pipe,
    /// cannot tell it of another session: what this terminal was last used for counts first then.
    pub fn is_kept(&self) -> bool {
        let kept = std::env::var(KEPT).unwrap_or_default();
        self.is_handed_over() && by_variable().is_some_and(|named| named == (VARIABLES[0], kept))
    }

    /// The current one of these sessions: a variable names it, or this terminal was last used for it.
    pub fn among(&self, sessions: &[TerminalSession]) -> Option<ConversationId> {
        let is_here = |id: &ConversationId| sessions.iter().any(|session| session.id == *id);
        let newer = self.read().filter(|id| self.is_kept() && is_here(id));
        let named = by_variable().map(|(_, id)| ConversationId::new(id));
        let named = named.filter(|id| is_here(id) || !self.is_handed_over());
        newer.or(named).or_else(|| self.read())
    }

    /// The session that this terminal was last used for.
    pub fn read(&self) -> Option<ConversationId> {
        let text = fs::read_to_string(&self.file).ok()?;
        Some(ConversationId::new(text.trim())).filter(|id| !id.as_str().is_empty())
    }

    /// Whether anything names a current session, wherever it is.
    pub fn is_known(&self) -> bool {
        by_variable().is_some() || self.read().is_some()
    }

    /// Remembers the session.
    pub fn write(&self, id: &ConversationId) {
        let kept = match self.file.parent() {
            Some(folder) => fs::create_dir_all(folder),
            None => Ok(()),
        };
        if let Err(error) = kept.and_then(|()| fs::write(&self.file, id.as_str())) {
            tracing::warn!(%error, "the current session is not remembered");
        }
        if let Some(folder) = self.file.parent() {
            forget_gone(folder);
        }
        self.hand_over(id.as_str());
    }

    /// Forgets the session, if it is this one.
    pub fn forget(&self, id: &ConversationId) {
        if self.read().as_ref() == Some(id) {
            fs::remove_file(&self.file).unwrap_or_default();
        }
        if by_variable().is_some_and(|(_, known)| known == id.as_str()) {
            self.hand_over("-");
        }
    }

    /// Leaves it where the shell that started us looks: a program cannot set its parent's variable.
    fn hand_over(&self, text: &str) {
        if let Some(file) = &self.handed_over
            && let Err(error) = fs::write(file, text)
        {
            tracing::warn!(%error, "the shell is not told of the current session");
        }
    }
}

/// A name for the terminal that this process was started from: that of its first process, and when it
/// began, because numbers are used again.
fn terminal() -> String {
    let stat = |of: &str| fs::read_to_string(format!("/proc/{of}/stat")).unwrap_or_default();
    match session(&stat("self")) {
        Some((0, device)) => format!("0-{device}"),
        Some((leader, _)) => named(leader, &stat(&leader.to_string())),
        // No `/proc` here: the leader is asked for in the way that is there everywhere.
        None => rustix::process::getsid(None)
            .map_or(0, |leader| leader.as_raw_nonzero().get())
            .to_string(),
    }
}

/// Forgets what terminals were last used for that are closed. Those of another machine or container on the same
/// folder look as if they were, so that what was written lately stays.
fn forget_gone(folder: &Path) {
    let stat = |of: &str| fs::read_to_string(format!("/proc/{of}/stat"));
    if stat("self").is_err() {
        return;
    }
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let written = file.metadata().and_then(|about| about.modified());
        let is_old = written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > REMEMBERED));
        if is_old && is_gone(&name, |leader| stat(leader).ok()) {
            fs::remove_file(file.path()).unwrap_or_default();
        }
    }
}

/// Whether the terminal with this name is closed, where that can be known.
fn is_gone(name: &str, stat: impl Fn(&str) -> Option<String>) -> bool {
    let terminal = name.split('@').next().unwrap_or_default();
    let leader = terminal.split('-').next().unwrap_or_default();
    match leader.parse::<i32>() {
        Ok(number) if number > 0 => {
            stat(leader).is_none_or(|stat| terminal != leader && named(number, &stat) != terminal)
        }
        _ => false,
    }
}

/// The leader of a process's session and the terminal's device, out of its `stat`. The leader is 0 where
/// it cannot be seen from here: in a container that was entered from outside.
fn session(stat: &str) -> Option<(i32, i32)> {
    let mut fields = after_name(stat).skip(3);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// A leader's name, with when it began where its `stat` tells.
fn named(leader: i32, stat: &str) -> String {
    match after_name(stat).nth(19) {
        Some(began) => format!("{leader}-{began}"),
        None => leader.to_string(),
    }
}

/// The fields of a `stat` behind the name, which stands in brackets and may hold anything.
fn after_name(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit(')').next().unwrap_or_default().split_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "812 (a) S 7 (odd) S 800 812 790 34816 812 4194304 1 0 0 0 2 1 0 0 20 0 1 0 5521 8 1";

    #[test]
    fn a_terminal_is_named_by_its_first_process_and_when_that_began() {
        assert_eq!(session(STAT), Some((790, 34816)));
        assert_eq!(named(790, STAT), "790-5521");
        assert_eq!(named(790, ""), "790");
    }

    #[test]
    fn a_terminal_is_closed_when_its_first_process_is_gone_or_another_one() {
        let stat = |leader: &str| (leader == "790").then(|| STAT.to_owned());

        for open in ["790-5521", "790-5521@postgres---host", "790", "0-34816", "0-1@x", "odd", ""] {
            assert!(!is_gone(open, stat), "{open}");
        }
        for closed in ["790-5520", "790-5520@x", "791-5521", "791", "791@x"] {
            assert!(is_gone(closed, stat), "{closed}");
        }
    }

    #[test]
    fn a_container_that_was_entered_from_outside_has_a_leader_that_is_not_seen() {
        assert_eq!(session("9 (sh) S 1 9 0 34817 9 0"), Some((0, 34817)));
        assert_eq!(session(""), None);
    }
}
