//! What is kept of a run for its trace, and who is told once it has ended.
//!
//! The database is no collector of this kind: what a model is told is kept with the beginning of its run, what
//! a run tells as it tells it, and how it ends with its message, each in the transaction of what it belongs
//! to. A collector is told once for each run, when all of that is there, and reads it from there.

use std::sync::Arc;

use super::{Agent, asking::told, driver::Brief, tool::Registry};
use crate::{
    domain::{
        id::{RunId, SpaceId},
        sent::{Parameters, Recorded, Section},
    },
    providers::Route,
};

/// What stands around the persona's own words.
const INSTRUCTIONS: &str = "Instructions";

/// A run that ended and is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its Space.
    pub space: SpaceId,
    /// The run.
    pub run: RunId,
}

/// Somebody who collects the traces of runs.
pub trait Collector: Send + Sync {
    /// A run ended. This is called where runs are driven, so it may not wait.
    fn collect(&self, ended: Ended);
}

impl Agent {
    /// Tells somebody of every run that ends here from now on. The first who asks for it is told.
    pub fn tell_ends_to(&self, collector: Arc<dyn Collector>) {
        if self.shared.collector.set(collector).is_err() {
            tracing::warn!("the ends of runs are told to somebody already");
        }
    }

    /// A run ended, and is kept.
    pub(super) fn collect(&self, space: &SpaceId, run: &RunId) {
        if let Some(collector) = self.shared.collector.get() {
            collector.collect(Ended { space: space.clone(), run: run.clone() });
        }
    }

    /// With what a model is asked.
    pub(super) fn parameters(&self, route: &Route, tools: &Registry) -> Parameters {
        let told = tools.specs().iter().filter(|_| route.model.tools);
        Parameters {
            service: route.service.service.clone(),
            model: route.model.name.clone(),
            max_tokens: self.answer_tokens(route),
            tools: told.map(|tool| tool.name.clone()).collect(),
        }
    }

    /// What is kept of what the model is told in a run that is not of a chat.
    pub(super) fn recorded(&self, brief: &Brief) -> Recorded {
        let prompt = &brief.persona.fields.system_prompt;
        let system = brief.system();
        let told = told(&brief.route, &system, &brief.tools);
        let room = self.history_room(&brief.route, told);
        let messages = brief.window.as_ref().map_or(0, |window| window.messages);
        let mut recorded = Recorded::of(&sections(&system, prompt), prompt, messages, room);
        recorded.words_only = !brief.route.model.tools;
        recorded.cut_results = brief.window.as_ref().is_some_and(|window| window.cut_results);
        recorded.parameters = Some(self.parameters(&brief.route, &brief.tools));
        recorded
    }
}

/// What a model is told, with the persona's own words apart: those are kept with its version.
fn sections(system: &str, prompt: &str) -> Vec<Section> {
    let section = |title: &str, text: &str| Section { title: title.into(), text: text.into() };
    let own = prompt.trim();
    let Some((before, after)) =
        Some(own).filter(|own| !own.is_empty()).and_then(|own| system.split_once(own))
    else {
        return vec![section(INSTRUCTIONS, system)];
    };
    let around = |text: &str| {
        let text = text.trim();
        (!text.is_empty()).then(|| section(INSTRUCTIONS, text))
    };
    let own = [section("Persona", prompt)];
    around(before).into_iter().chain(own).chain(around(after)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_personas_own_words_stand_apart() {
        let told = |system: &str, prompt: &str| -> Vec<(String, String)> {
            let sections = sections(system, prompt).into_iter();
            sections.map(|section| (section.title, section.text)).collect()
        };
        let pair = |title: &str, text: &str| (title.to_owned(), text.to_owned());

        assert_eq!(told("Be brief.\n", "Be brief.\n"), [pair("Persona", "Be brief.\n")]);
        assert_eq!(
            told("You help.\n\nBe brief.\n\nUse tools.", "Be brief."),
            [
                pair(INSTRUCTIONS, "You help."),
                pair("Persona", "Be brief."),
                pair(INSTRUCTIONS, "Use tools.")
            ]
        );
        assert_eq!(told("You edit.", "Be brief."), [pair(INSTRUCTIONS, "You edit.")]);
        assert_eq!(told("You edit.", ""), [pair(INSTRUCTIONS, "You edit.")]);
    }
}
