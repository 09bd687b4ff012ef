//! Accounts: who may come in, what they may do in a Space, and how they prove who they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    id::{SpaceId, UserId},
    timestamp::Timestamp,
};

/// The person who works on this machine without an account.
pub const LOCAL_OWNER: &str = "owner";
/// The fewest characters of a password.
pub const MIN_PASSWORD_CHARS: usize = 8;
/// The most.
pub const MAX_PASSWORD_CHARS: usize = 1024;
/// The most characters of what a browser calls itself that nobody knows.
const MAX_BROWSER_CHARS: usize = 40;
/// The most days that an API token lasts.
pub const MAX_TOKEN_DAYS: u32 = 366;
/// The most characters of an API token's name.
pub const MAX_TOKEN_NAME_CHARS: usize = 60;

/// What somebody is in a Space. Later ones may do what earlier ones may.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks at everything and changes nothing.
    Viewer,
    /// Changes everything, talks, and decides on drafts.
    Editor,
    /// Also sets services, limits and people, and deletes for good.
    Owner,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Editor, Self::Owner];

    /// The word in JSON and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Editor => "editor",
            Self::Owner => "owner",
        }
    }

    /// The role with this word. What is no role may the least.
    pub fn from_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|role| role.word() == word).unwrap_or(Self::Viewer)
    }

    /// What it may do, in a few words.
    pub fn label(self) -> &'static str {
        match self {
            Self::Viewer => "Viewer: looks at everything",
            Self::Editor => "Editor: changes everything and decides on drafts",
            Self::Owner => "Owner: also sets services, limits and people",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|role| role.word() == word);
        known.ok_or_else(|| format!("“{word}” is not owner, editor or viewer"))
    }
}

/// What a program with an API token may do. Deciding on drafts and everything of owners is never in it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum TokenScope {
    /// Reads.
    Read,
    /// Reads and writes, as far as the role of its person goes.
    Write,
}

impl TokenScope {
    /// The word in forms and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// The scope with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|scope| scope.word() == word)
    }
}

/// A link that an owner makes, for somebody to use once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// To come into a Space with a new account.
    Invite,
    /// To choose a new password.
    Reset,
}

impl LinkKind {
    /// The word in addresses and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Invite => "invite",
            Self::Reset => "reset",
        }
    }
}

/// Something that happened to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountDeed {
    /// Somebody signed in.
    SignedIn,
    /// Somebody did not, with a wrong name or password.
    Failed,
    /// Somebody signed out.
    SignedOut,
    /// A browser was signed out from elsewhere.
    SessionEnded,
    /// A password was set or changed.
    PasswordSet,
    /// An account was made, or came into a Space.
    Joined,
    /// A member was taken out of a Space.
    Removed,
    /// A member got another role.
    RoleSet,
    /// An API token was made.
    TokenMade,
    /// An API token was taken away.
    TokenRevoked,
    /// A link to come in was made.
    Invited,
    /// A link to choose a new password was made.
    ResetLinkMade,
    /// A link was taken away before it was used.
    LinkRevoked,
}

impl AccountDeed {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::SignedIn,
        Self::Failed,
        Self::SignedOut,
        Self::SessionEnded,
        Self::PasswordSet,
        Self::Joined,
        Self::Removed,
        Self::RoleSet,
        Self::TokenMade,
        Self::TokenRevoked,
        Self::Invited,
        Self::ResetLinkMade,
        Self::LinkRevoked,
    ];

    /// The word in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::SignedIn => "signed_in",
            Self::Failed => "failed",
            Self::SignedOut => "signed_out",
            Self::SessionEnded => "session_ended",
            Self::PasswordSet => "password_set",
            Self::Joined => "joined",
            Self::Removed => "removed",
            Self::RoleSet => "role_set",
            Self::TokenMade => "token_made",
            Self::TokenRevoked => "token_revoked",
            Self::Invited => "invited",
            Self::ResetLinkMade => "reset_link_made",
            Self::LinkRevoked => "link_revoked",
        }
    }

    /// What happened, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::SignedIn => "Signed in",
            Self::Failed => "Wrong name or password",
            Self::SignedOut => "Signed out",
            Self::SessionEnded => "A browser was signed out",
            Self::PasswordSet => "Password set",
            Self::Joined => "Joined",
            Self::Removed => "Removed",
            Self::RoleSet => "Role changed",
            Self::TokenMade => "API token made",
            Self::TokenRevoked => "API token revoked",
            Self::Invited => "Invitation made",
            Self::ResetLinkMade => "Reset link made",
            Self::LinkRevoked => "Link taken away",
        }
    }
}

/// A line of what happened to accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountEvent {
    /// The account that it is about, as it was typed.
    pub user: String,
    /// What happened.
    pub what: Option<AccountDeed>,
    /// What else there is to say.
    pub detail: String,
    /// From where.
    pub address: String,
    /// When.
    pub at: Timestamp,
}

/// Somebody in a Space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name of the account.
    pub user: UserId,
    /// What they are there.
    pub role: Role,
    /// Whether they can sign in with a password.
    pub has_password: bool,
    /// Since when.
    pub since: Timestamp,
}

/// A Space that somebody is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The Space.
    pub space: SpaceId,
    /// What it is called.
    pub name: String,
    /// What they are there.
    pub role: Role,
}

/// A browser that is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The SHA-256 of what the browser holds: it names the session and opens nothing.
    pub hash: String,
    /// Who signed in.
    pub user: UserId,
    /// Where this browser works.
    pub space: SpaceId,
    /// What the browser calls itself.
    pub browser: String,
    /// From where it signed in.
    pub address: String,
    /// When.
    pub created_at: Timestamp,
    /// When it was last used, to some minutes.
    pub used_at: Timestamp,
    /// When it ends however much it is used.
    pub expires_at: Timestamp,
}

/// An API token, without what opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiToken {
    /// How it is named.
    pub id: String,
    /// For whom it works.
    pub user: UserId,
    /// Where.
    pub space: SpaceId,
    /// What its person calls it.
    pub name: String,
    /// What it may do.
    pub scope: TokenScope,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to some minutes.
    pub used_at: Option<Timestamp>,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A link that waits to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountLink {
    /// How it is named.
    pub id: String,
    /// What it is for.
    pub kind: LinkKind,
    /// Into which Space it leads, or where it was made.
    pub space: SpaceId,
    /// Whose password it sets.
    pub user: Option<UserId>,
    /// What the invited becomes.
    pub role: Role,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// The name of an account as it is kept: in small letters.
pub fn account_name(typed: &str) -> Result<UserId, ApiError> {
    let name = UserId::new(typed.trim().to_ascii_lowercase());
    if name == UserId::default() {
        let rule = "A name has 1 to 64 letters, digits, dashes, underscores, dots, @ and +, and begins with one of \
                    the first four.";
        return Err(ApiError::invalid("name", rule));
    }
    Ok(name)
}

/// Whether a password is long enough and not too long. What is in it is everybody's own choice.
pub fn check_password(password: &str) -> Result<(), ApiError> {
    let chars = password.chars().count();
    if (MIN_PASSWORD_CHARS..=MAX_PASSWORD_CHARS).contains(&chars) {
        return Ok(());
    }
    Err(ApiError::invalid("password", "A password has 8 to 1024 characters."))
}

/// What a person calls a browser that calls itself this.
pub fn browser_name(told: &str) -> String {
    // Each pretends to be those after it.
    let names = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    let systems = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "Mac"),
        ("Linux", "Linux"),
    ];
    let found = |known: &[(&str, &'static str)]| {
        known.iter().find(|(part, _)| told.contains(part)).map(|(_, name)| *name)
    };
    match (found(&names), found(&systems)) {
        (Some(name), Some(system)) => format!("{name} on {system}"),
        (Some(name), None) => name.into(),
        (None, _) if told.trim().is_empty() => "A program without a name".into(),
        (None, _) => told.chars().take(MAX_BROWSER_CHARS).collect(),
    }
}

/// Where to go after signing in: an address within this site, or the first page.
pub fn within_site(next: &str) -> &str {
    let odd = |letter: char| letter == '\\' || letter.is_control() || letter.is_whitespace();
    // What is escaped may be read once more on the way, by a proxy or by us.
    let hidden = ["%5c", "%2f", "%0", "%09"];
    let lower = next.to_ascii_lowercase();
    let path = lower.split(['?', '#']).next().unwrap_or_default();
    let ours = next.is_ascii()
        && next.starts_with('/')
        && !path.contains("//")
        && !next.contains(odd)
        && !path.contains('@')
        && !hidden.iter().any(|code| path.contains(code))
        && next.len() <= 2000;
    if ours { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_measured_in_characters_and_nothing_else_is_asked_of_it() {
        for good in ["12345678", "        ", "ääääääää", &"x".repeat(1024)] {
            assert_eq!(check_password(good), Ok(()));
        }
        for bad in ["", "1234567", "äääääää", &"x".repeat(1025)] {
            assert!(check_password(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_kept_in_small_letters() {
        assert_eq!(account_name(" Ann_1-x ").unwrap().as_str(), "ann_1-x");
        assert_eq!(account_name("Ann.B+c@Example.org").unwrap().as_str(), "ann.b+c@example.org");
        for bad in ["", "a b", "ä", "a/b", ".a", "@a", "x\u{202e}", &"x".repeat(65)] {
            assert!(account_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_browser_is_called_what_people_call_it() {
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
            Chrome/156.0.0.0 Safari/537.36";

        assert_eq!(browser_name(chrome), "Chrome on Linux");
        let phone =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1";
        assert_eq!(browser_name(phone), "Safari on iPhone");
        assert_eq!(browser_name("curl/8.5.0"), "curl/8.5.0");
        assert_eq!(browser_name(" "), "A program without a name");
    }

    #[test]
    fn one_is_led_on_within_the_site_only() {
        for good in ["/", "/personas/a?x=1#y", "/search?q=https://example.org/"] {
            assert_eq!(within_site(good), good);
        }
        for bad in [
            "",
            "x",
            "//evil.test",
            "/\\evil.test",
            "https://evil.test",
            "/ /evil.test",
            "/\t/evil.test",
            "/%2f/evil.test",
            "/%5cevil.test",
            "javascript:alert(1)",
            "/.//evil.test",
            "/\u{3031}evil.test",
        ] {
            assert_eq!(within_site(bad), "/", "{bad}");
        }
    }
}
