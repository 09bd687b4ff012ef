//! A publication: one version of a persona that anyone with its address may read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    id::{TestInputId, UserId},
    timestamp::Timestamp,
    version::Revision,
};

/// The field with the address, as JSON names it.
pub const SLUG: &str = "slug";
/// How long a chosen address may be.
pub const SLUG_CHARS: std::ops::RangeInclusive<usize> = 3..=64;
/// The most examples on a page.
pub const MAX_EXAMPLES: usize = 5;

/// Addresses that would be taken for something else.
const RESERVED: [&str; 24] = [
    "about",
    "admin",
    "api",
    "assets",
    "audit",
    "bin",
    "chats",
    "favicon",
    "gallery",
    "greenroom",
    "help",
    "inbox",
    "index",
    "knowledge",
    "login",
    "logout",
    "new",
    "null",
    "personas",
    "robots",
    "search",
    "settings",
    "undefined",
    "usage",
];

/// What is public of a persona.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Publication {
    /// Its address: the page is at `/p/{slug}`.
    pub slug: String,
    /// The version that is public, whatever the persona says by now.
    pub revision: Revision,
    /// Whether the page shows the system prompt.
    #[serde(default)]
    pub shows_prompt: bool,
    /// What it shows of test inputs and answers, as they were when they were chosen.
    #[serde(default)]
    pub examples: Vec<Example>,
    /// Whether search engines may list it.
    #[serde(default)]
    pub indexed: bool,
}

/// A test input with the answer of the version that is public.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Example {
    /// The test input; never on the page.
    pub test_input_id: TestInputId,
    /// What was said.
    pub input: String,
    /// What was answered.
    pub answer: String,
}

impl Publication {
    /// The path of its page.
    pub fn path(&self) -> String {
        format!("/p/{}", self.slug)
    }

    /// Refuses what cannot be public.
    pub fn check(&self) -> Result<(), ApiError> {
        check_slug(&self.slug)?;
        if self.examples.len() > MAX_EXAMPLES {
            let rule = format!("At most {MAX_EXAMPLES} examples stand on a page.");
            return Err(ApiError::invalid("testInputIds", rule));
        }
        Ok(())
    }
}

/// A publication with who made it so, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// What is public.
    #[serde(flatten)]
    pub publication: Publication,
    /// Who published it.
    pub published_by: Option<UserId>,
    /// When it was last published.
    pub published_at: Timestamp,
}

/// All that the public page of a persona knows: what its publisher chose, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicPage {
    /// The name.
    pub name: String,
    /// How it looks.
    pub appearance: String,
    /// The system prompt, if it is shown.
    pub system_prompt: Option<String>,
    /// What was said and answered.
    pub examples: Vec<Example>,
    /// Whether search engines may list it.
    pub indexed: bool,
}

/// What to publish. What is absent stays as it is; of a persona that is not public, the version it is
/// at becomes public under an address that nobody can guess, and shows no more than it must.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PublishWish {
    /// The version.
    pub revision: Option<Revision>,
    /// The address: 3 to 64 small letters, digits and dashes. Empty makes one that nobody can guess.
    pub slug: Option<String>,
    /// Whether the page shows the system prompt.
    pub shows_prompt: Option<bool>,
    /// The test inputs that it shows with the version's last answers, in this order.
    pub test_input_ids: Option<Vec<TestInputId>>,
    /// Whether search engines may list it.
    pub indexed: Option<bool>,
}

/// Refuses what cannot be an address.
pub fn check_slug(slug: &str) -> Result<(), ApiError> {
    let fits = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-');
    if !SLUG_CHARS.contains(&slug.len()) || !slug.chars().all(fits) {
        let rule = "The address has 3 to 64 small letters, digits and dashes.";
        return Err(ApiError::invalid(SLUG, rule));
    }
    if slug.starts_with('-') || slug.ends_with('-') {
        return Err(ApiError::invalid(SLUG, "The address begins and ends with a letter or digit."));
    }
    if RESERVED.contains(&slug) {
        let rule = format!("The address “{slug}” is kept for Greenroom itself. Choose another.");
        return Err(ApiError::invalid(SLUG, rule));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_short_plain_and_not_ours() {
        for good in ["ann", "a-1", "marta-the-innkeeper", &"x".repeat(64)] {
            assert_eq!(check_slug(good), Ok(()), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", "ab", &long, "Ann", "a b c", "a_b", "é-é", "../x", "-ann", "ann-", "a/b"]
        {
            assert_eq!(check_slug(bad).map_err(|error| error.status()), Err(422), "{bad}");
        }
        for ours in RESERVED {
            assert!(check_slug(ours).is_err(), "{ours}");
        }
    }
}
