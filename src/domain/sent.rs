//! What a model was sent: the exact prompt in sections, the window of messages, and what it took.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    id::{MessageId, RunId},
    message::{PartBody, Role},
    run::{Spent, Usage, told_dollars},
};

/// A section of what a model is told before the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Section {
    /// What a person calls it.
    pub title: String,
    /// What the model is told.
    pub text: String,
}

/// The sections as the model reads them.
pub fn joined(sections: &[Section]) -> String {
    sections.iter().map(|section| section.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// What is kept of what a run's model was told. The rest is in the messages and in the version of the
/// persona, which never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// The sections; `None` for a text is the persona's own prompt.
    pub sections: Vec<(String, Option<String>)>,
    /// How many of the last messages went along.
    pub window: u32,
    /// Whether the question went along too that the first of them answers; not so in runs from before this was
    /// kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reaches_back: bool,
    /// How many tokens there were for them.
    pub room: u64,
    /// Whether only their words went along, because the model knows no tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub words_only: bool,
    /// Whether long results of tools in earlier exchanges went along cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_results: bool,
    /// With what it was asked; not known of runs from before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Parameters>,
}

/// With what a model is asked in the steps of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Parameters {
    /// The service that runs the model.
    pub service: String,
    /// What that service calls the model.
    pub model: String,
    /// How long one answer may be, in tokens. A step that a limit let be less long says so itself.
    pub max_tokens: u64,
    /// The tools that the model is told of.
    #[serde(default)]
    pub tools: Vec<String>,
}

impl Recorded {
    /// What is kept of these sections, beside a persona with this prompt.
    pub fn of(sections: &[Section], prompt: &str, window: u32, room: u64) -> Self {
        let kept = |section: &Section| {
            let text = Some(section.text.clone()).filter(|text| text != prompt);
            (section.title.clone(), text)
        };
        let sections = sections.iter().map(kept).collect();
        Self {
            sections,
            window,
            room,
            reaches_back: false,
            words_only: false,
            cut_results: false,
            parameters: None,
        }
    }

    /// The sections again.
    pub fn sections(self, prompt: &str) -> Vec<Section> {
        let whole = |(title, text): (String, Option<String>)| Section {
            title,
            text: text.unwrap_or_else(|| prompt.to_owned()),
        };
        self.sections.into_iter().map(whole).collect()
    }
}

/// A section with its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentSection {
    /// What a person calls it.
    pub title: String,
    /// What the model was told.
    pub text: String,
    /// About how many tokens that is.
    pub tokens: u64,
}

/// A message in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentMessage {
    /// The message.
    pub id: MessageId,
    /// Who said it.
    pub role: Role,
    /// Its words.
    pub text: String,
    /// Its words, its calls of tools and their results, in their order; empty for a message of words alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartBody>,
    /// About how many tokens it is.
    pub tokens: u64,
}

/// A tool that the model was told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// About how many tokens that is.
    pub tokens: u64,
}

/// All that a model was sent for one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// The run.
    pub run_id: RunId,
    /// The model.
    pub model: String,
    /// What it was told before the conversation.
    pub sections: Vec<SentSection>,
    /// The tools it was told of.
    pub tools: Vec<SentTool>,
    /// With what it was asked; `null` where that is not kept.
    pub parameters: Option<Parameters>,
    /// The messages it was sent, the oldest first.
    pub messages: Vec<SentMessage>,
    /// The cut line: the first message that was sent.
    pub first_sent: Option<MessageId>,
    /// How many messages stand before the cut line; 1000 means that or more.
    pub left_out: i64,
    /// How many messages the window has; when the first of them is an answer, what it answers goes along too.
    pub window: u32,
    /// About how many tokens all of it is.
    pub tokens: u64,
    /// What part of what was read came from the service's cache, from 0 to 1; `null` when that is not
    /// known.
    pub cached_share: Option<f64>,
    /// What the run took.
    pub spent: Spent,
}

/// What part of what was read came from the service's cache.
pub fn cached_share(usage: Usage) -> Option<f64> {
    let (read, cached) = (usage.input?, usage.cache_read?);
    (read > 0).then(|| cached as f64 / read as f64)
}

/// What the next message would take.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// The model that would answer; several with commas between them.
    pub model: String,
    /// About how many tokens it would read.
    pub input_tokens: u64,
    /// About how many it would write: as in the last answers.
    pub output_tokens: u64,
    /// The price in millionths of a dollar; `null` when the model's price is not known.
    pub cost_micros: Option<u64>,
    /// What a thousand tokens more would add to it.
    pub more_micros: Option<u64>,
    /// How many messages would go along, this one included.
    pub messages: u64,
}

impl Estimate {
    /// For people: the model, the tokens, and the price.
    pub fn told(&self) -> String {
        let tokens = self.input_tokens + self.output_tokens;
        let price = match self.cost_micros {
            Some(0) => "free".to_owned(),
            Some(micros) => format!("about {}", told_dollars(micros)),
            None => "at a price that is not known".to_owned(),
        };
        format!("The next message: {}, about {tokens} tokens, {price}", self.model)
    }

    /// The same with so many tokens more.
    pub fn with(mut self, tokens: u64) -> Self {
        self.input_tokens += tokens;
        let more = self.more_micros.map(|micros| micros * tokens / 1000).unwrap_or_default();
        self.cost_micros = self.cost_micros.map(|micros| micros + more);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_personas_own_prompt_is_kept_once_and_told_whole() {
        let section = |title: &str, text: &str| Section { title: title.into(), text: text.into() };
        let sections = vec![section("Persona", "Be brief."), section("Mode", "Play.")];

        let kept = Recorded::of(&sections, "Be brief.", 20, 100);

        assert_eq!(kept.sections[0].1, None);
        assert_eq!(kept.sections("Be brief."), sections);
    }

    #[test]
    fn an_estimate_grows_with_what_is_typed() {
        let estimate = Estimate {
            model: "m".into(),
            input_tokens: 900,
            output_tokens: 100,
            cost_micros: Some(1200),
            more_micros: Some(3000),
            messages: 1,
        };

        assert_eq!(estimate.told(), "The next message: m, about 1000 tokens, about $0.0012");
        assert!(estimate.clone().with(500).told().ends_with("about 1500 tokens, about $0.0027"));
        let unknown = Estimate { cost_micros: None, more_micros: None, ..estimate.clone() };
        assert!(unknown.with(1).told().ends_with("at a price that is not known"));
        assert!(Estimate { cost_micros: Some(0), ..estimate }.told().ends_with("free"));
    }

    #[test]
    fn a_share_that_nobody_told_is_not_known() {
        let usage = |input, cache_read| Usage { input, cache_read, ..Usage::default() };

        assert_eq!(cached_share(usage(Some(200), Some(50))), Some(0.25));
        assert_eq!(cached_share(usage(Some(200), None)), None);
        assert_eq!(cached_share(usage(Some(0), Some(0))), None);
    }
}
