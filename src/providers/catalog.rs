//! Which model a model string means, and how its service is reached.

use std::sync::LazyLock;

use super::{
    Dialect, Quirks, Thoughts,
    services::{BUILT_IN, SELF_RUN, built_in},
};
use crate::domain::{
    error::ApiError,
    model::{DEMO, Model, Service, ServiceStatus},
};

/// The facts of the models that come with the program.
static FACTS: LazyLock<Vec<Model>> =
    LazyLock::new(|| serde_json::from_str(include_str!("catalog.json")).unwrap_or_default());

/// What is assumed of a model of which nothing is known.
const UNKNOWN_CONTEXT: u64 = 32_000;
const UNKNOWN_OUTPUT: u64 = 4096;

/// How a name tells its service when nothing else does.
const BY_NAME: &[(&str, &str)] = &[
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("chatgpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "gemini"),
];

/// Looks a variable up in the server's environment.
pub type Environment = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The models and services of a Space.
#[derive(Clone, Debug)]
pub struct Catalog {
    models: Vec<Model>,
    services: Vec<ServiceStatus>,
    default: String,
}

/// A model, and the way to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The model.
    pub model: Model,
    /// Its service.
    pub service: Service,
    /// What the service speaks; `None` is the scripted one.
    pub dialect: Option<Dialect>,
    /// What the service does differently.
    pub quirks: Quirks,
    /// Whether the model's thoughts can be asked for.
    pub thoughts: Thoughts,
}

impl Catalog {
    /// What comes with the program, as the environment points it, with what a Space has added and set.
    /// `ready` says whether the key of a service can be read, or it needs none.
    pub fn new(
        added: Vec<Model>,
        set: Vec<Service>,
        preferred: Option<String>,
        environment: &Environment,
        ready: impl Fn(&Service) -> bool,
    ) -> Self {
        let mut services: Vec<ServiceStatus> = BUILT_IN
            .iter()
            .map(|built_in| {
                let service = built_in.settings(environment);
                ServiceStatus { ready: ready(&service), service, built_in: true, changed: false }
            })
            .collect();
        for service in set {
            let ready = ready(&service);
            match services.iter_mut().find(|known| known.service.service == service.service) {
                Some(known) => {
                    *known = ServiceStatus { service, built_in: true, changed: true, ready };
                }
                None => {
                    services.push(ServiceStatus { service, built_in: false, changed: true, ready })
                }
            }
        }
        let mut models = added;
        let known: Vec<String> = models.iter().map(|model| model.id.clone()).collect();
        models.extend(FACTS.iter().filter(|model| !known.contains(&model.id)).cloned());
        let mut catalog = Self { models, services, default: DEMO.into() };
        catalog.default = match preferred {
            Some(preferred) if !preferred.is_empty() && catalog.find(&preferred).is_ok() => {
                preferred
            }
            _ => catalog.first_ready(),
        };
        catalog
    }

    /// The default model of the first service that has a key, or else the scripted one.
    fn first_ready(&self) -> String {
        let mut keyed = BUILT_IN.iter().filter(|known| !known.key_variables.is_empty());
        let found = keyed.find(|known| {
            !known.default_model.is_empty()
                && self
                    .services
                    .iter()
                    .any(|status| status.service.service == known.service && status.ready)
        });
        found.map_or(DEMO, |known| known.default_model).to_owned()
    }

    /// All models, those that were added first.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// All services, as they may be shown: what stands before an `@` in an address is a secret, and so is a
    /// pasted key.
    pub fn services(&self) -> Vec<ServiceStatus> {
        let mut services = self.services.clone();
        for ServiceStatus { service, .. } in &mut services {
            *service = std::mem::take(service).shown();
            let scheme = service.base_url.find("://").map_or(0, |at| at + 3);
            let host = &service.base_url[scheme..];
            let host = host.split('/').next().unwrap_or_default();
            if let Some(secret) = host.rfind('@') {
                service.base_url.replace_range(scheme..scheme + secret, "…");
            }
        }
        services
    }

    /// The model that speaks when nobody says which.
    pub fn default_model(&self) -> &str {
        &self.default
    }

    /// The model that a model string means; the default one for an empty string.
    pub fn find(&self, text: &str) -> Result<Route, ApiError> {
        let text = if text.trim().is_empty() { self.default.as_str() } else { text.trim() };
        let model = self
            .models
            .iter()
            .find(|model| model.id == text)
            .cloned()
            .or_else(|| self.guess(text))
            .ok_or_else(|| unknown(text))?;
        let status = self.services.iter().find(|status| status.service.service == model.service);
        let service = status.ok_or_else(|| unknown(text))?.service.clone();
        let quirks = built_in(&model.service).map_or(SELF_RUN, |known| known.quirks);
        let mut dialect = Dialect::from_word(&service.dialect);
        // OpenAI's reasoning models lose their thoughts between tool calls in the older dialect.
        if model.service == "openai" && model.reasoning && dialect == Some(Dialect::OpenaiChat) {
            dialect = Some(Dialect::OpenaiResponses);
        }
        let thoughts = dialect.map_or(Thoughts::AsIs, |dialect| thoughts(dialect, &model));
        Ok(Route { model, service, dialect, quirks, thoughts })
    }

    /// The model that a person chooses. A name that only tells its service may be a slip of the pen, so it is taken
    /// with its service before it, or once it was described; what was chosen earlier is found all the same.
    pub fn choose(&self, text: &str) -> Result<Route, ApiError> {
        let route = self.find(text)?;
        let Model { id, service, name, .. } = &route.model;
        let is_described =
            self.models.iter().any(|known| known.service == *service && known.name == *name);
        if is_described || id != name { Ok(route) } else { Err(undescribed(service, name)) }
    }

    /// A model that is named otherwise than by its identifier: `service/name`, or a name that tells its
    /// service. Nobody need have described it.
    fn guess(&self, text: &str) -> Option<Model> {
        let named = text.split_once('/').filter(|(service, name)| {
            !name.is_empty() && self.services.iter().any(|known| known.service.service == *service)
        });
        let by_name = || {
            let (_, service) = BY_NAME.iter().find(|(start, _)| text.starts_with(start))?;
            Some((*service, text))
        };
        let (service, name) = named.or_else(by_name)?;
        if service == DEMO {
            return None;
        }
        // One that was described has the name that it was given there, however it is written here.
        let named =
            || self.models.iter().filter(|model| model.service == service && model.name == name);
        let described = named().find(|model| model.id == model.name).or_else(|| named().next());
        Some(described.cloned().unwrap_or_else(|| Model {
            id: text.into(),
            service: service.into(),
            name: name.into(),
            label: name.into(),
            context: UNKNOWN_CONTEXT,
            max_output: UNKNOWN_OUTPUT,
            price: None,
            tools: true,
            vision: false,
            reasoning: service == "openai" && is_reasoning_name(name),
        }))
    }
}

/// Whether a name is one of OpenAI's reasoning models: `o1`, `o3`, …, and GPT since its fifth generation,
/// but for those that only chat.
fn is_reasoning_name(name: &str) -> bool {
    let generation = |rest: &str| -> Option<u32> {
        rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    };
    let is_o = name.strip_prefix('o').and_then(generation).is_some();
    let is_late = name.strip_prefix("gpt-").and_then(generation).is_some_and(|number| number >= 5);
    (is_o || is_late) && !name.contains("-chat")
}

/// Whether a model's thoughts can be asked for: only where its service is known to take the question.
fn thoughts(dialect: Dialect, model: &Model) -> Thoughts {
    let taken = match dialect {
        // Those before think only with a budget, and of the small ones nothing is certain.
        Dialect::Anthropic => ["claude-sonnet-5", "claude-opus-5", "claude-fable-5"]
            .iter()
            .any(|family| model.name.starts_with(family)),
        Dialect::OpenaiResponses => true,
        // The small ones do not think unless they are told to, and have nothing to show then.
        Dialect::Gemini => !model.name.contains("flash-lite"),
        Dialect::OpenaiChat => false,
    };
    if model.reasoning && taken { Thoughts::Shown } else { Thoughts::AsIs }
}

fn unknown(text: &str) -> ApiError {
    let shown: String = text.chars().take(80).collect();
    ApiError::invalid(
        "model",
        format!(
            "There is no model “{shown}”. Choose one from the settings, or name it with its service, \
             like ollama/qwen3."
        ),
    )
}

fn undescribed(service: &str, name: &str) -> ApiError {
    let shown: String = name.chars().take(80).collect();
    ApiError::invalid(
        "model",
        format!(
            "Nothing is known of a model “{shown}”. If its service has it, write {service}/{shown}, or add it in \
             the settings."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(variables: &'static [(&'static str, &'static str)]) -> Catalog {
        let environment = move |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let ready = |service: &Service| {
            service.key_ref.is_empty()
                || super::super::keys::read(&service.key_ref, &environment).is_ok()
        };
        Catalog::new(Vec::new(), Vec::new(), None, &environment, ready)
    }

    #[test]
    fn every_fact_is_read_and_has_its_service() {
        assert!(FACTS.len() >= 20);
        for model in FACTS.iter() {
            let route = catalog(&[]).find(&model.id).unwrap();
            assert_eq!(route.model, *model);
            assert!(model.max_output <= model.context, "{}", model.id);
        }
    }

    #[test]
    fn without_a_key_the_demo_speaks_and_with_one_its_service() {
        assert_eq!(catalog(&[]).default_model(), "demo");
        assert_eq!(catalog(&[("OPENAI_API_KEY", "k")]).default_model(), "gpt-6.1-sol");
        assert_eq!(catalog(&[("GOOGLE_API_KEY", "k")]).default_model(), "gemini-3.8-flash");
        assert_eq!(
            catalog(&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]).default_model(),
            "claude-sonnet-5-5"
        );
    }

    #[test]
    fn a_model_can_be_named_with_its_service_or_by_a_name_that_tells_it() {
        let catalog = catalog(&[]);

        let local = catalog.find("ollama/hf.co/some/qwen3:4b").unwrap();
        assert_eq!(
            (local.model.service.as_str(), local.model.name.as_str()),
            ("ollama", "hf.co/some/qwen3:4b")
        );
        assert_eq!(catalog.find("claude-next").unwrap().service.service, "anthropic");
        assert_eq!(catalog.find("anthropic/claude-opus-5").unwrap().model.context, 1_000_000);
        for unknown in ["", "nothing-known", "nowhere/model", "demo/other"] {
            let found = catalog.find(unknown).map(|route| route.model.id);
            assert_eq!(found.is_ok(), unknown.is_empty(), "{unknown}: {found:?}");
        }
    }

    /// One model was counted under two names: by its identifier, and with its service before it.
    #[test]
    fn a_described_model_has_one_name_however_it_is_written() {
        let plain = catalog(&[]);
        let facts = plain.find("gpt-4o").unwrap().model;
        let own =
            |id: &str, name: &str| Model { id: id.into(), name: name.into(), ..facts.clone() };
        let added = vec![own("cheap", "gpt-4o"), own("ours", "tuned"), own("openai/kept", "kept")];
        let catalog = Catalog { models: [added, plain.models.clone()].concat(), ..plain.clone() };
        let id = |text: &str| catalog.find(text).unwrap().model.id;

        assert_eq!(id("openai/gpt-4o"), "gpt-4o");
        assert_eq!(id("gemini/gemini-2.5-flash"), "gemini-2.5-flash");
        // What was added is called as it was added.
        assert_eq!(
            (id("cheap"), id("ours"), id("openai/tuned")),
            ("cheap".into(), "ours".into(), "ours".into())
        );
        assert_eq!(id("openai/kept"), "openai/kept");
        // Of another nobody knows more than what is written.
        assert_eq!(
            (id("openai/gpt-nope"), id("ollama/gpt-4o")),
            ("openai/gpt-nope".into(), "ollama/gpt-4o".into())
        );
        assert_eq!(catalog.choose("openai/gpt-4o").unwrap().model.id, "gpt-4o");
    }

    #[test]
    fn a_name_that_only_tells_its_service_is_found_and_not_chosen() {
        let added = Model { id: "gpt-own".into(), ..catalog(&[]).find("gpt-4o").unwrap().model };
        let catalog = Catalog { models: vec![added], ..catalog(&[]) };

        for slip in ["gpt-nope", "claude-sonet-5", "o3-none", "gemini-"] {
            let refused = catalog.choose(slip).unwrap_err().to_string();
            assert!(refused.contains(&format!("/{slip}, or add it")), "{refused}");
            assert!(catalog.find(slip).is_ok(), "{slip}");
        }
        for known in ["", "demo", "gpt-own", "openai/gpt-nope", "ollama/qwen3"] {
            let described = Catalog {
                models: [catalog.models.clone(), FACTS.clone()].concat(),
                ..catalog.clone()
            };
            assert_eq!(described.choose(known).unwrap(), described.find(known).unwrap());
        }
        assert_eq!(catalog.choose("nothing-known"), catalog.find("nothing-known"));
    }

    #[test]
    fn a_password_in_an_address_is_used_and_not_shown() {
        let catalog = catalog(&[("OPENAI_BASE_URL", "https://me:secret@proxy/v1@2")]);

        let used = catalog.find("gpt-4o").unwrap().service.base_url;
        let services = catalog.services();
        let openai = services.iter().find(|known| known.service.service == "openai").unwrap();
        assert_eq!(used, "https://me:secret@proxy/v1@2");
        assert_eq!(openai.service.base_url, "https://…@proxy/v1@2");
    }

    #[test]
    fn reasoning_models_of_openai_are_asked_through_responses() {
        let dialect = |model: &str| catalog(&[]).find(model).unwrap().dialect;

        assert_eq!(dialect("gpt-4o"), Some(Dialect::OpenaiChat));
        assert_eq!(dialect("gpt-6-sol"), Some(Dialect::OpenaiResponses));
    }

    #[test]
    fn a_name_that_nobody_described_tells_whether_openai_reasons_under_it() {
        for name in
            ["o1", "o3-pro", "o4-mini", "gpt-5", "gpt-5.9-nova", "openai/gpt-12", "openai/o5"]
        {
            let route = catalog(&[]).find(name).unwrap();
            assert!(route.model.reasoning, "{name}");
            assert_eq!(route.dialect, Some(Dialect::OpenaiResponses), "{name}");
        }
        for name in [
            "gpt-4.1",
            "gpt-3.5-turbo",
            "gpt-5-chat-latest",
            "chatgpt-4o-latest",
            "openai/omni",
            "openrouter/gpt-5",
        ] {
            let route = catalog(&[]).find(name).unwrap();
            assert!(!route.model.reasoning, "{name}");
            assert_eq!(route.dialect, Some(Dialect::OpenaiChat), "{name}");
        }
    }

    #[test]
    fn thoughts_are_asked_for_only_where_the_service_takes_the_question() {
        let thoughts = |model: &str| catalog(&[]).find(model).unwrap().thoughts;

        for model in [
            "claude-sonnet-5-5",
            "claude-opus-5",
            "claude-fable-5-1",
            "gpt-6.1-sol",
            "o3",
            "gemini-2.5-pro",
            "gemini-3.8-flash",
        ] {
            assert_eq!(thoughts(model), Thoughts::Shown, "{model}");
        }
        for model in [
            "claude-sonnet-4-5-20250929",
            "claude-haiku-4-5-20251001",
            "claude-haiku-5-5",
            "claude-next",
            "gpt-4o",
            "gemini-2.5-flash-lite",
            "ollama/qwen3",
            "demo",
        ] {
            assert_eq!(thoughts(model), Thoughts::AsIs, "{model}");
        }
    }
}
