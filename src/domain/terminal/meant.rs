//! Which session somebody means by a text.

use super::{TerminalSession, short};
use crate::domain::error::ApiError;

/// The most sessions that are named when a text means several.
pub const NAMED_SESSIONS: usize = 10;

/// The session that somebody means: by its identifier, what it is called, or how its identifier begins.
pub fn meant<'all>(
    sessions: &'all [TerminalSession],
    text: &str,
) -> Result<&'all TerminalSession, ApiError> {
    let (shown, text) = (text.trim(), text.trim().to_lowercase());
    let all = |is_so: &dyn Fn(&TerminalSession) -> bool| -> Vec<&'all TerminalSession> {
        sessions.iter().filter(|one| is_so(one)).collect()
    };
    let id = |one: &TerminalSession| one.id.as_str().to_lowercase();
    let named = all(&|one| !text.is_empty() && one.description.to_lowercase() == text);
    let found = match (all(&|one| id(one) == text), named.is_empty()) {
        (exact, _) if !exact.is_empty() => exact,
        (_, false) => named,
        (_, true) => all(&|one| !text.is_empty() && id(one).starts_with(&text)),
    };
    match found.as_slice() {
        [] => Err(ApiError::not_found("session")),
        [one] => Ok(one),
        several => {
            let listed = several.iter().take(NAMED_SESSIONS);
            let listed: Vec<String> =
                listed.map(|one| format!("{} ({})", short(&one.id), one.title())).collect();
            let more = if several.len() > NAMED_SESSIONS { " and others" } else { "" };
            let rule = format!("“{shown}” means several sessions: {}{more}.", listed.join(", "));
            Err(ApiError::invalid("session", rule))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{terminal::TerminalSettings, timestamp::Timestamp};

    fn session(id: &str, description: &str) -> TerminalSession {
        TerminalSession {
            id: id.into(),
            description: description.into(),
            settings: TerminalSettings::default(),
            turns: 0,
            leaf: None,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            deleted_at: None,
        }
    }

    #[test]
    fn any_beginning_that_only_one_session_has_means_it() {
        let all = [session("324a", ""), session("39bc", "Three"), session("7de0", "3")];
        let meant = |text: &str| meant(&all, text).map(|one| one.id.to_string());

        assert_eq!(meant("32").unwrap(), "324a");
        assert_eq!(meant("9"), Err(ApiError::not_found("session")));
        assert_eq!(meant("").ok(), None);
        assert_eq!(meant("39BC").unwrap(), "39bc");
        assert_eq!(meant("7").unwrap(), "7de0");
        assert_eq!(meant("3").unwrap(), "7de0", "what one is called counts more");
        let two = [session("324a", ""), session("39bc", "Three")];
        let several = super::meant(&two, "3").unwrap_err().to_string();
        assert!(several.contains("324a (Session 324a), 39bc (Three)."), "{several}");
        let many: Vec<_> = (0..12).map(|at| session(&format!("a{at}"), "")).collect();
        let several = super::meant(&many, "a").unwrap_err().to_string();
        assert!(several.ends_with("and others."), "{several}");
    }
}
