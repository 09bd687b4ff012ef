//! A ref: a text from elsewhere, by its address or pasted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Card, Knowledge, NOTE, TITLE, first_words};
use crate::domain::{
    change::EntityKind, error::ApiError, field::TextField, id::RefId, search::Texts,
    timestamp::Timestamp,
};

/// The address of a ref.
pub const URL: TextField = TextField { name: "url", label: "The address", max_chars: 2_000 };
/// The text of a ref.
pub const TEXT: TextField = TextField { name: "text", label: "The text", max_chars: 500_000 };

/// What a revision of a ref keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefFields {
    /// Where it is, beginning with http:// or https://; empty for a pasted text.
    #[serde(default)]
    pub url: String,
    /// What it is called, up to 200 characters on one line. It may be empty.
    #[serde(default)]
    pub title: String,
    /// What its author wants to remember of it.
    #[serde(default)]
    pub note: String,
    /// What it says, pasted or fetched, up to 500 000 characters.
    #[serde(default)]
    pub text: String,
    /// When the text was fetched; `null` when it never was.
    #[serde(default)]
    pub fetched_at: Option<Timestamp>,
}

impl RefFields {
    /// The host that its address names; `None` without an address of the web.
    pub fn host(&self) -> Option<&str> {
        host(&self.url)
    }

    /// What it is called, or else where it is, or else how it begins.
    fn shown_title(&self) -> String {
        let named = [&self.title, &self.url].into_iter().find(|text| !text.trim().is_empty());
        let title = named.cloned().unwrap_or_else(|| first_words(&self.text));
        title.chars().take(TITLE.max_chars).collect()
    }
}

impl Knowledge for RefFields {
    type Id = RefId;
    const KIND: EntityKind = EntityKind::Ref;
    const PLURAL: &'static str = "refs";

    fn check(&self) -> Result<(), ApiError> {
        if self.url.is_empty() && self.text.trim().is_empty() {
            return Err(ApiError::invalid(URL.name, "A ref needs an address or a text."));
        }
        if !self.url.is_empty() {
            check_url(&self.url)?;
        }
        if !self.title.is_empty() {
            TITLE.check_line(&self.title)?;
        }
        NOTE.check(&self.note)?;
        TEXT.check(&self.text)
    }

    fn texts(&self) -> Texts {
        Texts {
            title: self.title.clone(),
            secondary: format!("{}\n{}", self.note, self.url).trim().to_owned(),
            body: self.text.clone(),
        }
    }

    fn card(&self) -> Card {
        let about = if self.note.trim().is_empty() { &self.text } else { &self.note };
        Card {
            title: self.shown_title(),
            excerpt: first_words(about),
            url: Some(self.url.clone()).filter(|url| !url.is_empty()),
            ..Card::default()
        }
    }
}

/// The host of an address of the web, with its port.
pub fn host(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    (is_web && !host.is_empty()).then_some(host)
}

/// Refuses what is no address of a document on the web, or holds a password.
fn check_url(url: &str) -> Result<(), ApiError> {
    URL.check_line(url)?;
    let refuse = |rule: &str| Err(ApiError::invalid(URL.name, rule));
    let host = host(url).unwrap_or_default();
    if host.is_empty() || url.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return refuse("The address must begin with http:// or https:// and have no spaces in it.");
    }
    if host.contains('@') {
        return refuse("The address must not hold a name or a password.");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_url(url: &str) -> RefFields {
        RefFields { url: url.into(), ..RefFields::default() }
    }

    #[test]
    fn only_the_web_has_addresses() {
        for good in ["https://example.org", "http://localhost:8080/a?b#c", "HTTPS://EXAMPLE.ORG/"] {
            assert_eq!(with_url(good).check(), Ok(()), "{good}");
        }
        for bad in [
            "example.org",
            "ftp://example.org",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://",
            "https:///a",
            "https://a b",
            "https://a\tb",
            "https://me:secret@example.org",
        ] {
            assert!(with_url(bad).check().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_ref_is_called_by_its_title_its_address_or_its_first_words() {
        let mut fields =
            RefFields { text: "# A head\n\nFirst words.".into(), ..Default::default() };
        assert_eq!(fields.card().title, "First words.");
        fields.url = "https://example.org".into();
        assert_eq!(fields.card().title, "https://example.org");
        fields.title = "Example".into();
        assert_eq!(fields.card().title, "Example");
        assert!(RefFields::default().check().is_err());
    }
}
