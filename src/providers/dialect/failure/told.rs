//! The bodies of errors, in all the shapes that services and the proxies before them have.

use std::time::Duration;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::wait;

/// What could be read of an error.
#[derive(Default)]
pub struct Told {
    /// The service's own message.
    pub message: Option<String>,
    /// Its types, codes and reasons, in lower case.
    pub words: Vec<String>,
    /// How long it wants us to wait.
    pub wait: Option<Duration>,
    /// Whether a quota of the day is used up.
    pub is_daily: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    error: Option<Shape>,
    detail: Option<Value>,
    #[serde(flatten)]
    flat: Detail,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Shape {
    Text(String),
    Detail(Box<Detail>),
    Other(IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Detail {
    message: Option<Word>,
    r#type: Option<Word>,
    code: Option<Word>,
    status: Option<Word>,
    details: Option<Infos>,
    metadata: Option<Metadata>,
}

/// A code that is a text here and a number there.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
    Text(String),
    Number(i64),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Infos {
    List(Vec<Info>),
    Other(IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Info {
    reason: Option<String>,
    retry_delay: Option<String>,
    violations: Vec<Violation>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Violation {
    quota_id: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Metadata {
    Passed { raw: Word },
    Other(IgnoredAny),
}

impl Word {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(number) => Some(number.to_string()),
            Self::Other(_) => None,
        }
    }
}

impl Told {
    /// Reads the body of an HTTP answer: JSON, plain text, or a proxy's page.
    pub fn from_body(body: &str) -> Self {
        if let Ok(value) = serde_json::from_str::<Value>(body) {
            return Self::from_value(&value);
        }
        let text = body.trim();
        let message = if text.starts_with('<') { title(text) } else { Some(text.to_owned()) };
        Self { message, ..Self::default() }
    }

    /// Reads an error that is JSON, alone or as the only element of an array.
    pub fn from_value(value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        if let Value::String(text) = value {
            return Self { message: Some(text.clone()), ..Self::default() };
        }
        let body = Body::deserialize(value).unwrap_or_default();
        let mut told = Self::default();
        match body.error {
            Some(Shape::Text(text)) => told.message = Some(text),
            Some(Shape::Detail(detail)) => told.take(*detail),
            Some(Shape::Other(_)) | None => {}
        }
        told.take(body.flat);
        told.message = told.message.or_else(|| detail_text(body.detail.as_ref()?));
        told
    }

    /// The number among the words that can be an HTTP status.
    pub fn status(&self) -> Option<u16> {
        let mut numbers = self.words.iter().filter_map(|word| word.parse().ok());
        numbers.find(|number| (400..600).contains(number))
    }

    fn take(&mut self, detail: Detail) {
        let words = [detail.r#type, detail.code, detail.status].into_iter().flatten();
        self.words.extend(words.filter_map(Word::text).map(|word| word.to_lowercase()));
        if let Some(Infos::List(infos)) = detail.details {
            for info in infos {
                self.words.extend(info.reason.map(|word| word.to_lowercase()));
                self.wait = self.wait.or_else(|| wait::from_delay(&info.retry_delay?));
                self.is_daily |= info.violations.iter().any(|one| one.quota_id.contains("PerDay"));
            }
        }
        let message = detail.message.and_then(Word::text);
        // OpenRouter's own message says nothing; the one it passes on does.
        let raw = match detail.metadata {
            Some(Metadata::Passed { raw }) => raw.text(),
            Some(Metadata::Other(_)) | None => None,
        };
        let message = match (message, raw) {
            (Some(message), Some(raw)) => Some(format!("{message}: {raw}")),
            (message, raw) => message.or(raw),
        };
        self.message = self.message.take().or(message);
    }
}

/// FastAPI's detail: a text, or a list of what is wrong with which field.
fn detail_text(detail: &Value) -> Option<String> {
    #[derive(Deserialize)]
    struct Wrong {
        #[serde(alias = "message")]
        msg: String,
    }
    if let Value::String(text) = detail {
        return Some(text.clone());
    }
    if let Ok(wrong) = Wrong::deserialize(detail) {
        return Some(wrong.msg);
    }
    let list = Vec::<Wrong>::deserialize(detail).ok()?;
    Some(list.into_iter().map(|wrong| wrong.msg).collect::<Vec<_>>().join("; "))
}

/// The title of a proxy's page, which is all of it that tells something.
fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let end = start + lower[start..].find("</title>")?;
    Some(page[start..end].trim().to_owned())
}
