//! The four dialects that services speak, behind one face.
//!
//! The one rule of the room: pure translation. Nothing here opens a connection.

pub(super) mod arguments;
pub(super) mod failure;
pub(super) mod history;
pub(super) mod reading;
pub(super) mod writing;

use serde_json::Value;

use super::{Ask, Decoder, ProviderError, anthropic, gemini, openai_chat, openai_responses};
use crate::domain::message::Turn;

/// How a service is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which many others speak too.
    OpenaiChat,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Google's generateContent.
    Gemini,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Anthropic, Self::OpenaiChat, Self::OpenaiResponses, Self::Gemini];

    /// The word in the settings and in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Gemini => "gemini",
        }
    }

    /// The dialect with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.word() == word)
    }

    /// Where a service with this base address is asked. Some write a base address with its version and some
    /// without, so it is not said twice.
    pub fn address(self, base: &str, model: &str) -> String {
        let base = base.trim_end_matches('/');
        let (version, path) = match self {
            Self::Anthropic => ("/v1", "/messages".into()),
            Self::OpenaiChat => ("", "/chat/completions".into()),
            Self::OpenaiResponses => ("", "/responses".into()),
            Self::Gemini => ("/v1beta", format!("/models/{model}:streamGenerateContent?alt=sse")),
        };
        format!("{}{version}{path}", base.strip_suffix(version).unwrap_or(base))
    }

    /// The headers that this dialect wants, the one with the key among them.
    pub fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| match self {
            Self::Anthropic => ("x-api-key", key.to_owned()),
            Self::OpenaiChat | Self::OpenaiResponses => ("authorization", format!("Bearer {key}")),
            Self::Gemini => ("x-goog-api-key", key.to_owned()),
        });
        let version = match self {
            Self::Anthropic => Some(("anthropic-version", "2023-06-01".to_owned())),
            Self::OpenaiChat | Self::OpenaiResponses | Self::Gemini => None,
        };
        key.into_iter().chain(version).collect()
    }

    /// The request, as JSON.
    pub fn body(self, ask: &Ask<'_>) -> Value {
        match self {
            Self::Anthropic => anthropic::body(ask),
            Self::OpenaiChat => openai_chat::body(ask),
            Self::OpenaiResponses => openai_responses::body(ask),
            Self::Gemini => gemini::body(ask),
        }
    }

    /// Takes the wish to see the model's thoughts out of a request; `false` when there is none in it.
    pub fn leave_thoughts(self, body: &mut Value) -> bool {
        let (holder, wish) = match self {
            Self::Anthropic => (Some(body), "thinking"),
            Self::OpenaiResponses => (Some(body), "reasoning"),
            Self::Gemini => (body.get_mut("generationConfig"), "thinkingConfig"),
            Self::OpenaiChat => (None, ""),
        };
        holder.and_then(Value::as_object_mut).is_some_and(|holder| holder.remove(wish).is_some())
    }

    /// What reads the answer to this request.
    pub fn decoder(self, ask: &Ask<'_>) -> Box<dyn Decoder> {
        match self {
            Self::Anthropic => Box::new(anthropic::Events::new(ask)),
            Self::OpenaiChat => Box::new(openai_chat::Chunks::new(ask)),
            Self::OpenaiResponses => Box::new(openai_responses::Events::new(ask)),
            Self::Gemini => Box::new(gemini::Chunks::new(ask)),
        }
    }

    /// The turns that a request holds, with identifiers of their own.
    pub fn read_messages(
        self,
        body: &Value,
        service: &str,
        model: &str,
    ) -> Result<Vec<Turn>, String> {
        let reader = reading::Reader::new(service, model);
        match self {
            Self::Anthropic => anthropic::read(body, reader),
            Self::OpenaiChat => openai_chat::read(body, reader),
            Self::OpenaiResponses => openai_responses::read(body, reader),
            Self::Gemini => gemini::read(body, reader),
        }
    }

    /// What an HTTP answer that is no success means. `headers` looks one up by its lower-case name.
    pub fn error(
        self,
        status: u16,
        headers: &dyn Fn(&str) -> Option<String>,
        body: &str,
    ) -> ProviderError {
        // The shapes of errors overlap so much between compatible servers that one reading serves all.
        failure::answered(status, headers, body)
    }

    /// What a body that is one piece of JSON means where a stream was to come.
    pub fn unstreamed(self, headers: &dyn Fn(&str) -> Option<String>, body: &str) -> ProviderError {
        failure::unstreamed(headers, body)
    }
}
