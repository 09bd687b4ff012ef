//! The services that come with the program, and how each differs from the one whose dialect it speaks.

use super::{Dialect, Quirks};
use crate::domain::model::Service;

/// A service as it comes.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its word in model strings.
    pub service: &'static str,
    /// What people call it.
    pub label: &'static str,
    /// What it speaks; `None` is the scripted one.
    pub dialect: Option<Dialect>,
    /// Where it is.
    pub base_url: &'static str,
    /// The variable that points it elsewhere.
    pub base_variable: &'static str,
    /// The variables that may hold its key, the first that is set counts. None: it needs no key.
    pub key_variables: &'static [&'static str],
    /// The model that speaks when only this service has a key; empty when that cannot be known.
    pub default_model: &'static str,
    /// What it does differently.
    pub quirks: Quirks,
}

const PLAIN: Quirks = Quirks {
    old_max_tokens: false,
    echo_reasoning: false,
    reasoning_details: false,
    no_stream_options: false,
    short_call_ids: false,
    reasoning_outside: false,
    think_tags: false,
};
/// What most servers that speak OpenAI's dialect want.
const COMPATIBLE: Quirks = Quirks { old_max_tokens: true, ..PLAIN };
/// What servers that somebody runs want: how a model's thoughts are told is for whoever set it up to say.
pub const SELF_RUN: Quirks = Quirks { think_tags: true, ..COMPATIBLE };

const fn compatible(
    service: &'static str,
    label: &'static str,
    base_url: &'static str,
    key_variables: &'static [&'static str],
) -> BuiltIn {
    BuiltIn {
        service,
        label,
        dialect: Some(Dialect::OpenaiChat),
        base_url,
        base_variable: "",
        key_variables,
        default_model: "",
        quirks: COMPATIBLE,
    }
}

/// All of them, the preferred first.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        service: "anthropic",
        label: "Anthropic",
        dialect: Some(Dialect::Anthropic),
        base_url: "https://api.anthropic.com",
        base_variable: "ANTHROPIC_BASE_URL",
        key_variables: &["ANTHROPIC_API_KEY"],
        default_model: "claude-sonnet-5-5",
        quirks: PLAIN,
    },
    BuiltIn {
        service: "openai",
        label: "OpenAI",
        // Its reasoning models are asked through Responses: see `Catalog::find`.
        dialect: Some(Dialect::OpenaiChat),
        base_url: "https://api.openai.com/v1",
        base_variable: "OPENAI_BASE_URL",
        key_variables: &["OPENAI_API_KEY"],
        default_model: "gpt-6.1-sol",
        quirks: PLAIN,
    },
    BuiltIn {
        service: "gemini",
        label: "Google Gemini",
        dialect: Some(Dialect::Gemini),
        base_url: "https://generativelanguage.googleapis.com",
        base_variable: "GEMINI_BASE_URL",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        default_model: "gemini-3.8-flash",
        quirks: PLAIN,
    },
    BuiltIn {
        base_variable: "OLLAMA_HOST",
        quirks: SELF_RUN,
        ..compatible("ollama", "Ollama", "http://127.0.0.1:11434/v1", &[])
    },
    BuiltIn {
        quirks: SELF_RUN,
        ..compatible("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", &[])
    },
    BuiltIn { quirks: SELF_RUN, ..compatible("vllm", "vLLM", "http://127.0.0.1:8000/v1", &[]) },
    BuiltIn {
        quirks: Quirks { reasoning_details: true, ..COMPATIBLE },
        ..compatible(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            &["OPENROUTER_API_KEY"],
        )
    },
    compatible("groq", "Groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    BuiltIn {
        quirks: Quirks { echo_reasoning: true, ..COMPATIBLE },
        ..compatible("deepseek", "DeepSeek", "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"])
    },
    BuiltIn {
        quirks: Quirks { short_call_ids: true, no_stream_options: true, ..COMPATIBLE },
        ..compatible("mistral", "Mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"])
    },
    BuiltIn {
        quirks: Quirks { reasoning_outside: true, ..COMPATIBLE },
        ..compatible("xai", "xAI", "https://api.x.ai/v1", &["XAI_API_KEY"])
    },
    BuiltIn {
        service: "demo",
        label: "Demo, scripted",
        dialect: None,
        base_url: "",
        base_variable: "",
        key_variables: &[],
        default_model: "demo",
        quirks: PLAIN,
    },
];

/// The service that comes under this word.
pub fn built_in(service: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|known| known.service == service)
}

impl BuiltIn {
    /// How it is reached, with what the environment says.
    pub fn settings(&self, environment: &dyn Fn(&str) -> Option<String>) -> Service {
        let base = self.pointed_at(environment);
        let named = self
            .key_variables
            .iter()
            .find(|name| environment(name).is_some_and(|key| !key.trim().is_empty()));
        Service {
            service: self.service.into(),
            label: self.label.into(),
            dialect: self.dialect.map_or("demo", Dialect::word).into(),
            base_url: base.map_or(self.base_url.into(), |base| self.complete(&base)),
            key_ref: named
                .or(self.key_variables.first())
                .map(|name| format!("env:{name}"))
                .unwrap_or_default(),
        }
    }

    /// Whether the environment says where it is.
    pub fn is_pointed(&self, environment: &dyn Fn(&str) -> Option<String>) -> bool {
        self.pointed_at(environment).is_some()
    }

    fn pointed_at(&self, environment: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        let base = Some(self.base_variable).filter(|name| !name.is_empty()).and_then(environment);
        base.filter(|base| !base.trim().is_empty())
    }

    /// An address as people write it in a variable: `OLLAMA_HOST` is often only host and port.
    fn complete(&self, base: &str) -> String {
        let base = base.trim().trim_end_matches('/');
        if self.service != "ollama" {
            return base.to_owned();
        }
        let base = if base.contains("://") { base.to_owned() } else { format!("http://{base}") };
        let host = base.split("://").nth(1).unwrap_or_default();
        let base = if host.contains(':') { base } else { format!("{base}:11434") };
        // A server that listens everywhere is spoken to here.
        let base = base.replace("//0.0.0.0:", "//127.0.0.1:");
        if base.ends_with("/v1") { base } else { format!("{base}/v1") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_ollama_may_be_a_bare_host() {
        let address = |host: &str| {
            let host = host.to_owned();
            let environment = move |name: &str| (name == "OLLAMA_HOST").then(|| host.clone());
            built_in("ollama").map(|ollama| ollama.settings(&environment).base_url).unwrap()
        };

        assert_eq!(address("box"), "http://box:11434/v1");
        assert_eq!(address("0.0.0.0:99"), "http://127.0.0.1:99/v1");
        assert_eq!(address("http://box:1/v1/"), "http://box:1/v1");
    }

    #[test]
    fn the_second_name_of_a_key_counts_when_the_first_is_not_set() {
        let environment = |name: &str| (name == "GOOGLE_API_KEY").then(|| "k".to_owned());

        let gemini = built_in("gemini").unwrap().settings(&environment);

        assert_eq!(gemini.key_ref, "env:GOOGLE_API_KEY");
    }
}
