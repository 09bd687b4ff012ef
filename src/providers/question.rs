//! A question to a service: what of it changes before it is sent again, and what its failure means.

use super::{Ask, Decoder, Dialect, Fault, ProviderError, Quirks, Thoughts};

/// A request that can be sent more than once.
pub struct Question {
    /// In whose words.
    pub dialect: Dialect,
    /// Where it goes.
    pub address: String,
    /// What it says.
    pub body: bytes::Bytes,
    /// Which service.
    pub service: String,
    /// Which model, as the service names it.
    pub model: String,
    /// How the service differs from others.
    pub quirks: Quirks,
}

impl Question {
    /// Takes the wish to see the model's thoughts out, when that is what the service did not take: not every
    /// account may see them. `false` when it was something else.
    pub fn leave_thoughts(&mut self, error: &ProviderError) -> bool {
        let told = error.message.to_lowercase();
        let is_it = ["reasoning", "thinking", "thought"].iter().any(|word| told.contains(word));
        if error.fault != Fault::BadRequest || !is_it {
            return false;
        }
        let Ok(mut body) = serde_json::from_slice(&self.body) else { return false };
        let left = self.dialect.leave_thoughts(&mut body);
        if left {
            self.body = body.to_string().into();
        }
        left
    }

    /// What is not there may be somewhere below the address, where that has no path of its own.
    pub fn below(&self, error: ProviderError) -> ProviderError {
        let has_none = reqwest::Url::parse(&self.address)
            .is_ok_and(|url| matches!(url.path(), "/chat/completions" | "/responses"));
        // A model that is not known is not found either.
        let is_model = error.message.to_lowercase().contains("model");
        let is_it = error.status == Some(404) && has_none && !is_model;
        let fault = if is_it { Fault::NoPath } else { error.fault };
        ProviderError { fault, ..error }
    }

    /// What reads its answer.
    pub fn decoder(&self) -> Box<dyn Decoder> {
        self.dialect.decoder(&Ask {
            service: &self.service,
            model: &self.model,
            system: "",
            turns: &[],
            tools: &[],
            max_tokens: 0,
            thoughts: Thoughts::AsIs,
            quirks: self.quirks,
        })
    }
}
