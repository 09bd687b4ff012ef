//! Who decides what of a session its model is sent: the last exchanges, with or without a summary of those
//! before.
//!
//! An exchange is what a person said and all that came of it. None is ever sent in part.

use futures_util::future::BoxFuture;

use super::window;
use crate::domain::{
    error::ApiError,
    id::MessageId,
    message::{Message, Role},
    terminal::{ManagerKind, TerminalSettings},
};

/// What stands for the oldest exchanges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The words.
    pub text: String,
    /// The last message that is in it.
    pub until: MessageId,
}

/// What is sent of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The place of the first message that is sent.
    pub from: usize,
    /// What stands for those before.
    pub summary: Option<Summary>,
}

/// What of a conversation is sent.
#[derive(Clone, Debug)]
pub struct Window {
    /// The first message that is.
    pub first: MessageId,
    /// How many there are from there on.
    pub messages: u32,
    /// Whether long results of tools in earlier exchanges are cut.
    pub cut_results: bool,
}

/// Somebody who can sum up what was said.
pub trait Scribe: Send + Sync {
    /// What these messages say, together with what is known from before.
    fn summarise<'a>(
        &'a self,
        before: Option<&'a str>,
        messages: &'a [Message],
    ) -> BoxFuture<'a, Result<String, ApiError>>;
}

/// Decides what of a conversation a model is sent. Another way of deciding is another one of these.
pub trait ConversationManager: Send + Sync {
    /// What of a branch is sent, when this much is summed up already and so many tokens can be read. The last
    /// exchange always is.
    fn fit<'a>(
        &'a self,
        branch: &'a [Message],
        room: u64,
        known: Option<Summary>,
        scribe: &'a dyn Scribe,
    ) -> BoxFuture<'a, Fitted>;
}

/// The manager that a session wants.
pub fn manager(settings: &TerminalSettings) -> Box<dyn ConversationManager> {
    let exchanges = settings.window_size.max(1) as usize;
    match settings.conversation_manager {
        ManagerKind::SlidingWindow => Box::new(SlidingWindow { exchanges }),
        ManagerKind::Summarizing => Box::new(Summarizing { exchanges }),
    }
}

/// The last exchanges, and nothing of those before.
pub struct SlidingWindow {
    /// How many.
    pub exchanges: usize,
}

impl ConversationManager for SlidingWindow {
    fn fit<'a>(
        &'a self,
        branch: &'a [Message],
        room: u64,
        _known: Option<Summary>,
        _scribe: &'a dyn Scribe,
    ) -> BoxFuture<'a, Fitted> {
        let from = last_exchanges(branch, self.exchanges).max(window::cut(branch, room));
        Box::pin(std::future::ready(Fitted { from, summary: None }))
    }
}

/// The last exchanges, and a summary of those before. What leaves the window is summed up by half a window
/// at a time, and sent until then if the model can read it: it need not be asked for every exchange.
pub struct Summarizing {
    /// How many exchanges there are at least.
    pub exchanges: usize,
}

impl ConversationManager for Summarizing {
    fn fit<'a>(
        &'a self,
        branch: &'a [Message],
        room: u64,
        known: Option<Summary>,
        scribe: &'a dyn Scribe,
    ) -> BoxFuture<'a, Fitted> {
        Box::pin(async move {
            let (read, wanted) =
                (window::cut(branch, room), last_exchanges(branch, self.exchanges));
            let window = wanted.max(read);
            let covered = known.as_ref().and_then(|known| {
                branch.iter().position(|message| message.id == known.until).map(|at| at + 1)
            });
            // A summary of another branch stands for nothing here.
            let known = known.filter(|_| covered.is_some());
            let covered = covered.unwrap_or_default();
            // What the model cannot read is summed up now, with more of it, so that the next exchange fits.
            let is_full = read > covered;
            let kept = if is_full { window.max(window::cut(branch, room / 2)) } else { window };
            let leaving = branch.get(covered..kept).unwrap_or_default();
            let at_once = (self.exchanges / 2).max(1);
            let is_due = is_full || exchanges(leaving) >= at_once;
            let (Some(last), true) = (leaving.last(), is_due) else {
                return Fitted { from: covered.min(window), summary: known };
            };
            let before = known.as_ref().map(|known| known.text.as_str());
            match scribe.summarise(before, leaving).await {
                Ok(text) if !text.trim().is_empty() => {
                    let text = text.trim().to_owned();
                    let summary = Some(Summary { text, until: last.id.clone() });
                    Fitted { from: kept, summary }
                }
                // Without a summary it is a window like any other.
                Ok(_) => Fitted { from: window, summary: known },
                Err(error) => {
                    tracing::warn!(%error, "earlier exchanges could not be summed up");
                    Fitted { from: window, summary: known }
                }
            }
        })
    }
}

/// Where the last so many exchanges begin.
fn last_exchanges(branch: &[Message], count: usize) -> usize {
    let said = branch.iter().enumerate().rev().filter(|(_, message)| message.role == Role::User);
    said.take(count).last().map_or(0, |(at, _)| at)
}

/// How many exchanges these messages are.
pub fn exchanges(messages: &[Message]) -> usize {
    messages.iter().filter(|message| message.role == Role::User).count()
}

/// Cuts long results of tools in all exchanges before the last one, and says how many.
pub fn cut_results(branch: &mut [Message]) -> u32 {
    let last = last_exchanges(branch, 1);
    let parts = branch[..last].iter_mut().flat_map(|message| &mut message.parts);
    parts.map(|part| u32::from(window::cut_result(part))).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::domain::{
        message::{Part, PartBody, ToolResult},
        run::Spent,
        timestamp::Timestamp,
    };

    fn message(id: usize, role: Role, body: PartBody) -> Message {
        Message {
            id: format!("m{id}").as_str().into(),
            parent_id: None,
            role,
            parts: vec![Part { id: "p".into(), at: Timestamp(0), body, carried: None }],
            run_id: None,
            model: String::new(),
            stop: None,
            spent: Spent::default(),
            created_at: Timestamp(0),
        }
    }

    /// So many exchanges of two messages each: m0 and m1, m2 and m3, …
    fn branch(exchanges: usize) -> Vec<Message> {
        let role = |at: usize| if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let said = |at| message(at, role(at), PartBody::Text(format!("words {at}")));
        (0..2 * exchanges).map(said).collect()
    }

    /// More than any branch here takes.
    const ROOM: u64 = 10_000;

    /// Sums up by naming what it was given.
    struct Naming(Mutex<u32>);

    impl Scribe for Naming {
        fn summarise<'a>(
            &'a self,
            before: Option<&'a str>,
            messages: &'a [Message],
        ) -> BoxFuture<'a, Result<String, ApiError>> {
            *self.0.lock().unwrap() += 1;
            let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
            let told = format!("{}{}", before.unwrap_or_default(), ids.join(","));
            Box::pin(std::future::ready(Ok(told)))
        }
    }

    struct Silent;

    impl Scribe for Silent {
        fn summarise<'a>(
            &'a self,
            _: Option<&'a str>,
            _: &'a [Message],
        ) -> BoxFuture<'a, Result<String, ApiError>> {
            Box::pin(std::future::ready(Err(ApiError::Unavailable)))
        }
    }

    #[tokio::test]
    async fn a_window_has_whole_exchanges_only() {
        let window = SlidingWindow { exchanges: 2 };

        for (said, from) in [(0, 0), (1, 0), (2, 0), (3, 2), (9, 14)] {
            let fitted = window.fit(&branch(said), ROOM, None, &Silent).await;
            assert_eq!(fitted, Fitted { from, summary: None }, "{said}");
        }
    }

    #[tokio::test]
    async fn what_leaves_the_window_is_summed_up_by_half_a_window_at_a_time() {
        let (manager, scribe) = (Summarizing { exchanges: 4 }, Naming(Mutex::default()));
        let mut known = None;
        let mut sent = Vec::new();
        for said in 1..=8 {
            let fitted = manager.fit(&branch(said), ROOM, known, &scribe).await;
            sent.push(fitted.from);
            known = fitted.summary;
        }

        assert_eq!(sent, [0, 0, 0, 0, 0, 4, 4, 8]);
        assert_eq!(*scribe.0.lock().unwrap(), 2);
        let until = "m7".into();
        assert_eq!(known, Some(Summary { text: "m0,m1,m2,m3m4,m5,m6,m7".into(), until }));
    }

    #[tokio::test]
    async fn without_a_summary_it_is_a_window_like_any_other() {
        let fitted = Summarizing { exchanges: 2 }.fit(&branch(5), ROOM, None, &Silent).await;

        assert_eq!(fitted, Fitted { from: 6, summary: None });
    }

    #[tokio::test]
    async fn what_a_model_cannot_read_is_left_out_though_the_window_is_larger() {
        // An exchange takes about twenty tokens.
        let fitted = SlidingWindow { exchanges: 20 }.fit(&branch(5), 45, None, &Silent).await;

        assert_eq!(fitted, Fitted { from: 6, summary: None });
    }

    #[tokio::test]
    async fn what_a_model_cannot_read_is_summed_up_by_half_of_what_it_can() {
        let (manager, scribe) = (Summarizing { exchanges: 20 }, Naming(Mutex::default()));
        let mut known = None;
        let mut sent = Vec::new();
        for said in 1..=7 {
            let branch = branch(said);
            let fitted = manager.fit(&branch, 85, known, &scribe).await;
            assert!(fitted.from >= window::cut(&branch, 85), "{said}");
            sent.push(fitted.from);
            known = fitted.summary;
        }

        assert_eq!(sent, [0, 0, 0, 0, 6, 4, 6]);
        assert_eq!(*scribe.0.lock().unwrap(), 1, "not for every exchange");
        let until = "m5".into();
        assert_eq!(known, Some(Summary { text: "m0,m1,m2,m3,m4,m5".into(), until }));
    }

    #[test]
    fn long_results_are_cut_but_not_those_of_the_last_exchange() {
        let result = |id| {
            let result = ToolResult {
                call: "c".into(),
                name: "read".into(),
                output: "x".repeat(5000),
                is_error: false,
                change_id: None,
                sources: Vec::new(),
            };
            message(id, Role::Assistant, PartBody::ToolResult(result))
        };
        let mut said = branch(1);
        said.push(result(7));
        said.extend(branch(1));
        said.push(result(8));

        assert_eq!(cut_results(&mut said), 1);
        let length = |message: &Message| match &message.parts[0].body {
            PartBody::ToolResult(result) => result.output.len(),
            _ => 0,
        };
        assert!(length(&said[2]) < 2000, "{}", length(&said[2]));
        assert_eq!(length(&said[5]), 5000);
    }
}
