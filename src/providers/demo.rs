//! A provider without a model: scripted, offline, and honest about it.
//!
//! `plan` decides what to say, without waiting for anything; `pace` says it word by word; `script`
//! plays a file instead, errors and stalls included. The one rule of the room: the same question
//! gets the same answer, and no answer pretends to come from a model.

mod agent;
mod answer;
mod arithmetic;
mod background;
mod character;
mod clause;
mod companion;
mod handy;
mod improve;
mod input_request;
mod pace;
mod persona_request;
mod plan;
mod progress;
mod recall;
#[cfg(test)]
mod rehearsal;
mod request;
mod script;
mod sketch;
mod story;
mod topic;
mod voice;
mod which;
mod words;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::Stream;

pub(super) use self::sketch::{SKETCH_MODEL, sketch};
pub use self::{pace::Pace, script::Script};
use super::{Ask, ModelEvent, ProviderError};

/// The scripted provider. Clones share how far the script was played.
#[derive(Clone, Debug)]
pub struct Demo {
    pace: Pace,
    script: Option<Arc<Script>>,
    played: Arc<AtomicUsize>,
}

impl Demo {
    /// The ordinary demo: it understands plain requests and speaks in character.
    pub fn new(pace: Pace) -> Self {
        Self { pace, script: None, played: Arc::default() }
    }

    /// Plays the answers of this script, one each time it is asked, and then the ordinary demo.
    pub fn scripted(script: Script, pace: Pace) -> Self {
        Self { pace, script: Some(Arc::new(script)), played: Arc::default() }
    }

    /// Answers, as a model would.
    pub fn play(
        &self,
        ask: &Ask<'_>,
    ) -> impl Stream<Item = Result<ModelEvent, ProviderError>> + Send + 'static + use<> {
        let part = self.script.as_ref().and_then(|script| script.part_of(ask, self.pace));
        if let Some(beats) = part {
            return pace::stream(beats);
        }
        // The rest of a script is about what people say, whatever else is asked in between.
        if let Some(events) = background::answer(ask) {
            return pace::stream(Pace::AtOnce.beats(events));
        }
        let beats = self.script.as_ref().and_then(|script| {
            script.answer(self.played.fetch_add(1, Ordering::Relaxed), ask, self.pace)
        });
        pace::stream(beats.unwrap_or_else(|| self.pace.beats(plan::plan(ask))))
    }
}
