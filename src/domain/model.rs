//! Models and the services that run them, as people choose and set them up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{error::ApiError, field::TextField, run::Usage};

/// The model string that needs no key and no network.
pub const DEMO: &str = "demo";

/// The address of a service.
pub const BASE_URL: TextField = TextField { name: "baseUrl", label: "The address", max_chars: 500 };
/// Where a key is found.
pub const KEY_REF: TextField = TextField { name: "keyRef", label: "The key", max_chars: 500 };
/// How a key begins that was pasted, and is kept sealed.
pub const SEALED: &str = "sealed:";
/// The name of a model as its service knows it.
pub const WIRE_NAME: TextField =
    TextField { name: "name", label: "The model's name", max_chars: 200 };
/// What people call a model.
pub const LABEL: TextField = TextField { name: "label", label: "The label", max_chars: 100 };

/// What a million tokens cost, in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Price {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the service's cache; as `input` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Put into the service's cache; as `input` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// What it costs when more than so much is read at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPrice>,
}

/// What a million tokens cost, in dollars, when a request is long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LongPrice {
    /// Over how many tokens a request is long.
    pub over: u64,
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
}

impl Price {
    /// The price that a person wrote: dollars per million tokens read and written, or nothing.
    pub fn read(input: &str, output: &str) -> Result<Option<Self>, ApiError> {
        if input.trim().is_empty() && output.trim().is_empty() {
            return Ok(None);
        }
        let parse = |text: &str| {
            let price = text.trim().trim_start_matches('$').parse::<f64>().ok();
            price.filter(|price| (0.0..=10_000.0).contains(price)).ok_or_else(|| {
                let rule = "Both prices are needed, in dollars a million tokens: 0 to 10000.";
                ApiError::invalid("price", rule)
            })
        };
        Ok(Some(Self { input: parse(input)?, output: parse(output)?, ..Self::default() }))
    }

    /// What this usage costs, in millionths of a dollar: dollars per million tokens are just that per
    /// token.
    pub fn micros(&self, usage: Usage) -> u64 {
        let read = usage.cache_read.unwrap_or_default();
        let written = usage.cache_write.unwrap_or_default();
        let plain = usage.input.unwrap_or_default().saturating_sub(read + written);
        let output = usage.output.unwrap_or_default();
        let long = self.long.filter(|long| usage.input.is_some_and(|input| input > long.over));
        let (reading, writing) =
            long.map_or((self.input, self.output), |long| (long.input, long.output));
        // What the cache saves or costs keeps its proportion in a long request.
        let cached = |price: Option<f64>| match price {
            Some(price) if self.input > 0.0 => price * reading / self.input,
            Some(price) => price,
            None => reading,
        };
        let part = |tokens: u64, price: f64| tokens as f64 * price;
        let sum = part(plain, reading)
            + part(read, cached(self.cache_read))
            + part(written, cached(self.cache_write))
            + part(output, writing);
        sum.round() as u64
    }
}

/// A model that a persona can have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Model {
    /// The model string: `claude-sonnet-5-5`, `ollama/qwen3:4b`, `demo`.
    pub id: String,
    /// The service that runs it: `anthropic`, `openai`, `ollama`, …
    pub service: String,
    /// The name under which its service knows it.
    pub name: String,
    /// What people call it.
    pub label: String,
    /// How many tokens it can read.
    pub context: u64,
    /// How many tokens one answer may have.
    pub max_output: u64,
    /// What it costs; `null` when that is not known.
    pub price: Option<Price>,
    /// Whether it can be given tools.
    pub tools: bool,
    /// Whether it can be shown pictures.
    pub vision: bool,
    /// Whether it reasons before it answers.
    pub reasoning: bool,
}

impl Model {
    /// What it can do beside words.
    pub fn abilities(&self) -> impl Iterator<Item = &'static str> {
        let known = [(self.tools, "tools"), (self.vision, "images"), (self.reasoning, "thinking")];
        known.into_iter().filter_map(|(can, name)| can.then_some(name))
    }
}

/// A service that runs models: how it is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    /// Its word in model strings: `anthropic`, `ollama`, `my-server`.
    pub service: String,
    /// What people call it.
    pub label: String,
    /// The dialect it speaks: `anthropic`, `openai-chat`, `openai-responses`, `gemini` or `demo`.
    pub dialect: String,
    /// Its address; for OpenAI's dialects with the `/v1` at the end.
    pub base_url: String,
    /// Where its key is found: `env:NAME`, `file:/path`, or nothing when it needs none. A key that was
    /// pasted is shown as `sealed:…` with its last letters; sent back so, it stays. Who is no owner is
    /// shown `…` where there is one.
    pub key_ref: String,
}

impl Service {
    /// Refuses what a service cannot be.
    pub fn check(&self) -> Result<(), ApiError> {
        if !super::id::is_wellformed(&self.service) {
            let rule = "A service's name has 1 to 64 letters, digits, dashes and underscores.";
            return Err(ApiError::invalid("service", rule));
        }
        if self.label.trim().is_empty() {
            return Err(ApiError::invalid(LABEL.name, "The service needs a label."));
        }
        LABEL.check(&self.label)?;
        BASE_URL.check(&self.base_url)?;
        let rest = self.base_url.strip_prefix("https://");
        let rest = rest.or_else(|| self.base_url.strip_prefix("http://")).unwrap_or_default();
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.is_empty() || host.contains(['@', ' ']) || self.base_url.contains(['?', '#']) {
            let rule = "The address must be like https://example.org/v1, without a name, a key or a \
                        question mark in it.";
            return Err(ApiError::invalid(BASE_URL.name, rule));
        }
        if !self.key_ref.is_empty() {
            KeyRef::parse(&self.key_ref)?;
        }
        Ok(())
    }

    /// The scheme, host and port of its address: whom a key is shown to.
    pub fn origin(&self) -> String {
        let (scheme, rest) = self.base_url.split_once("://").unwrap_or_default();
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        format!("{scheme}://{host}").to_ascii_lowercase()
    }

    /// The same service as it may be shown: of a pasted key only the last letters.
    pub fn shown(mut self) -> Self {
        if let Some(kept) = self.key_ref.strip_prefix(SEALED) {
            let hint = kept.split(':').next().unwrap_or_default();
            let hint: String = hint.chars().filter(|letter| *letter != '…').take(4).collect();
            self.key_ref = format!("{SEALED}…{hint}");
        }
        self
    }

    /// The same service for whoever may not set it: of where its key is, only that there is one.
    pub fn veiled(mut self) -> Self {
        if !self.key_ref.is_empty() {
            self.key_ref = "…".into();
        }
        self
    }
}

/// A service as the settings show it: how it is reached, and whether that works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// How it is reached.
    pub service: Service,
    /// Whether it comes with the program; its name and dialect are fixed then.
    pub built_in: bool,
    /// Whether a Space has set it up otherwise than it comes.
    pub changed: bool,
    /// Whether its key can be found, or it needs none.
    pub ready: bool,
}

/// Where a key is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyRef {
    /// In a variable of the server's environment.
    Env(String),
    /// In a file on the server.
    File(String),
    /// Beside the service, sealed.
    Sealed,
}

impl KeyRef {
    /// Reads `env:NAME` or `file:/path`.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let text = text.trim();
        if text.starts_with(SEALED) {
            return Ok(Self::Sealed);
        }
        KEY_REF.check(text)?;
        let name_fits = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        match text.split_once(':') {
            Some(("env", name)) if name_fits(name) => Ok(Self::Env(name.into())),
            Some(("file", path)) if path.starts_with('/') => Ok(Self::File(path.into())),
            _ => Err(ApiError::invalid(
                KEY_REF.name,
                "Say where the key is: env:NAME for a variable, or file:/path for a file. \
                 The key itself does not belong here.",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_not_paid_twice() {
        let price = Price {
            input: 2.0,
            output: 10.0,
            cache_read: Some(0.2),
            cache_write: Some(2.5),
            long: None,
        };
        let usage = Usage {
            input: Some(1000),
            cache_read: Some(600),
            cache_write: Some(100),
            output: Some(50),
            reasoning: Some(20),
        };

        assert_eq!(price.micros(usage), 300 * 2 + 120 + 250 + 500);
    }

    #[test]
    fn a_key_is_named_by_where_it_is_and_never_by_itself() {
        assert_eq!(KeyRef::parse(" env:MY_KEY "), Ok(KeyRef::Env("MY_KEY".into())));
        assert_eq!(KeyRef::parse("file:/run/key"), Ok(KeyRef::File("/run/key".into())));
        for bad in ["sk-live-123", "env:", "env:A B", "file:relative", "", "http://x"] {
            assert!(KeyRef::parse(bad).is_err(), "{bad}");
        }
    }
}
