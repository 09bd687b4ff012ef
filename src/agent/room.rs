//! How far a run may go, and what is left of that for its next answer. What a person set is held while an
//! answer is being given, not only after it.

use crate::domain::{
    budget::{Taken, micros},
    error::ApiError,
    field::grouped,
    model::Price,
    run::{Usage, told_dollars},
};

/// The shortest answer that is asked for, in tokens: some services refuse to be asked for less.
const LEAST: u64 = 16;

/// For what a limit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// One run.
    Run,
    /// All runs of a conversation.
    Conversation,
    /// All runs of a day.
    Day,
}

impl Of {
    fn told(self) -> &'static str {
        match self {
            Self::Run => "one run",
            Self::Conversation => "this conversation",
            Self::Day => "today",
        }
    }
}

/// What persons let a run take; what is not there is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Tokens, read and written, and for what that is the limit.
    pub tokens: Option<(u64, Of)>,
    /// Millionths of a dollar, and for what that is the limit.
    pub micros: Option<(u64, Of)>,
}

impl Allowance {
    /// The same within another limit, of which something is taken.
    pub fn within(self, of: Of, tokens: Option<u64>, dollars: Option<f64>, taken: Taken) -> Self {
        let smaller = |known: Option<(u64, Of)>, limit: Option<u64>, taken: u64| {
            let left = limit.map(|limit| (limit.saturating_sub(taken), of));
            known.into_iter().chain(left).min_by_key(|(left, _)| *left)
        };
        let micros = dollars.map(micros);
        Self {
            tokens: smaller(self.tokens, tokens, taken.tokens),
            micros: smaller(self.micros, micros, taken.cost_micros),
        }
    }

    /// The same, divided among so many that begin together; what each run has for itself is not.
    pub fn shared_by(self, count: usize) -> Self {
        let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
        let share = |(left, of): (u64, Of)| match of {
            Of::Run => (left, of),
            Of::Conversation | Of::Day => (left / count, of),
        };
        Self { tokens: self.tokens.map(share), micros: self.micros.map(share) }
    }

    /// Whether anything is limited.
    pub fn is_counted(self) -> bool {
        self.tokens.is_some() || self.micros.is_some()
    }

    /// What is left of it after this.
    pub fn less(self, usage: Usage, micros: u64) -> Self {
        let (input, output) = (usage.input.unwrap_or_default(), usage.output.unwrap_or_default());
        let rest = |(limit, of): (u64, Of), taken: u64| (limit.saturating_sub(taken), of);
        Self {
            tokens: self.tokens.map(|limit| rest(limit, input.saturating_add(output))),
            micros: self.micros.map(|limit| rest(limit, micros)),
        }
    }

    /// How long an answer may be to a question of so many tokens; `None` when no limit says so.
    pub fn room(self, reading: u64, price: Option<Price>) -> Option<Room> {
        let room = |tokens: u64, bound: Bound| Room { tokens, bound, cuts: Cuts::Late };
        let tokens =
            self.tokens.map(|(left, of)| room(left.saturating_sub(reading), Bound::Tokens(of)));
        let money = self.micros.zip(price).map(|((left, of), price)| {
            let cost =
                |output| price.micros(Usage { input: Some(reading), output, ..Usage::default() });
            let left = left.saturating_sub(cost(None));
            // A thousand, so that what a single token costs is not lost in rounding.
            let thousand = cost(Some(1000)) - cost(None);
            let affordable = match (left, thousand) {
                (0, _) => 0,
                (_, 0) => u64::MAX,
                (left, thousand) => left.saturating_mul(1000) / thousand,
            };
            room(affordable, Bound::Money(of))
        });
        [tokens, money].into_iter().flatten().min_by_key(|room| room.tokens)
    }
}

/// How far a run may go by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guards {
    /// How often the model may be asked.
    pub steps: u32,
    /// How many tokens it may write in all.
    pub output_tokens: u64,
    /// What it may cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// How often in a row it may ask for the very same thing.
    pub repeats: u32,
    /// What persons let it take.
    pub allowed: Allowance,
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            steps: 32,
            output_tokens: 100_000,
            cost_micros: 2_000_000,
            repeats: 4,
            allowed: Allowance::default(),
        }
    }
}

/// Which limit leaves no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// What may be read and written.
    Tokens(Of),
    /// What may be paid.
    Money(Of),
}

/// What did not fit into what was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Another answer.
    Next,
    /// The rest of the one that was being given.
    Rest,
}

impl Bound {
    /// What people read of a run that took so much and came to it. What a run may take for itself is told,
    /// too; of what others share only what this one took is its own.
    pub fn told(self, taken: Taken, allowed: Allowance, unfit: Unfit) -> String {
        let own = |limit: Option<(u64, Of)>| match limit {
            Some((limit, Of::Run)) => Some(limit),
            _ => None,
        };
        let (of, took) = match self {
            Self::Tokens(of) => {
                let took = format!("took {}", grouped(taken.tokens));
                (
                    of,
                    match own(allowed.tokens) {
                        Some(limit) => format!("{took} of the {} tokens", grouped(limit)),
                        None => format!("{took} tokens"),
                    },
                )
            }
            Self::Money(of) => {
                let took = format!("cost {}", told_dollars(taken.cost_micros));
                (
                    of,
                    match own(allowed.micros) {
                        Some(limit) => format!("{took} of the {}", told_dollars(limit)),
                        None => took,
                    },
                )
            }
        };
        let unfit = match unfit {
            Unfit::Next => "the next answer",
            Unfit::Rest => "the rest of the answer",
        };
        format!(
            "The run was ended: it {took}, and {unfit} would not fit into what is left for {}.",
            of.told()
        )
    }

    /// What people read when there is not even room for the first answer.
    pub fn refused(self) -> ApiError {
        let (Self::Tokens(of) | Self::Money(of)) = self;
        let reason = format!(
            "What is left for {} is not enough for this question with all that came before it. \
             Ask a cheaper model, say less, or raise the limit in the settings.",
            of.told()
        );
        ApiError::Limited { reason, retry_after: None }
    }
}

/// When a limit shows in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// Before the model would come to the longest that it may write anyway.
    Early,
    /// Only if it writes more than it was asked for.
    Late,
}

/// How long the next answer of a run may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// In tokens.
    pub tokens: u64,
    /// By which limit.
    pub bound: Bound,
    /// When that shows.
    pub cuts: Cuts,
}

impl Room {
    /// Whether an answer fits in.
    pub fn is_enough(&self) -> bool {
        self.tokens >= LEAST
    }

    /// The same, where a model is usually asked for answers of so many tokens.
    pub fn beside(self, usual: u64) -> Self {
        Self { cuts: if self.tokens < usual { Cuts::Early } else { Cuts::Late }, ..self }
    }

    /// Whether an answer is longer, by what its service told or else by a guess, which may be wrong by some.
    pub fn is_passed(&self, told: Option<u64>, guessed: u64) -> bool {
        told.is_some_and(|told| told > self.tokens)
            || guessed > self.tokens.saturating_add(self.tokens / 4).saturating_add(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(input: f64, output: f64) -> Option<Price> {
        Some(Price { input, output, ..Price::default() })
    }

    fn room(allowed: Allowance, reading: u64, price: Option<Price>) -> Option<(u64, Bound)> {
        allowed.room(reading, price).map(|room| (room.tokens, room.bound))
    }

    #[test]
    fn the_narrowest_limit_says_how_long_an_answer_may_be() {
        let taken = Taken { tokens: 4000, cost_micros: 0 };
        let allowed = Allowance::default()
            .within(Of::Run, Some(900), Some(0.01), Taken::default())
            .within(Of::Conversation, Some(5000), None, taken)
            .within(Of::Day, Some(9000), None, taken);

        assert_eq!(room(Allowance::default(), 10, price(1.0, 1.0)), None);
        assert_eq!(room(allowed, 100, None), Some((800, Bound::Tokens(Of::Run))));
        // A cent is ten thousand millionths: a thousand for reading, and 45 for each token.
        assert_eq!(room(allowed, 500, price(2.0, 45.0)), Some((200, Bound::Money(Of::Run))));
        assert_eq!(room(allowed, 5000, price(1.0, 0.0)), Some((0, Bound::Tokens(Of::Run))));
        let more = Taken { tokens: 4300, cost_micros: 0 };
        let later = allowed.within(Of::Day, Some(5000), None, more);
        assert_eq!(room(later, 500, None), Some((200, Bound::Tokens(Of::Day))));
        let money = Allowance { micros: Some((100, Of::Run)), ..Allowance::default() };
        assert_eq!(room(money, 200, price(1.0, 0.0)), Some((0, Bound::Money(Of::Run))));
        assert_eq!(room(money, 20, price(1.0, 0.0)), Some((u64::MAX, Bound::Money(Of::Run))));
    }

    #[test]
    fn what_was_taken_is_not_there_any_more() {
        let allowed =
            Allowance { tokens: Some((1000, Of::Conversation)), micros: Some((50, Of::Day)) };
        let usage = Usage { input: Some(900), output: Some(70), ..Usage::default() };

        let left = Allowance { tokens: Some((30, Of::Conversation)), micros: Some((0, Of::Day)) };
        assert_eq!(allowed.less(usage, 60), left);
        assert_eq!(allowed.less(Usage::default(), 0), allowed);
    }

    #[test]
    fn a_run_that_is_ended_tells_what_it_took_and_of_what() {
        let taken = Taken { tokens: 1200, cost_micros: 3470 };
        let own = Allowance { tokens: Some((2500, Of::Run)), micros: Some((4000, Of::Run)) };
        let shared = Allowance { tokens: Some((90, Of::Day)), micros: None };

        assert_eq!(
            Bound::Tokens(Of::Run).told(taken, own, Unfit::Next),
            "The run was ended: it took 1\u{202f}200 of the 2\u{202f}500 tokens, and the next answer \
             would not fit into what is left for one run."
        );
        assert_eq!(
            Bound::Money(Of::Run).told(taken, own, Unfit::Rest),
            "The run was ended: it cost $0.00347 of the $0.004, and the rest of the answer would not \
             fit into what is left for one run."
        );
        assert_eq!(
            Bound::Tokens(Of::Day).told(taken, shared, Unfit::Next),
            "The run was ended: it took 1\u{202f}200 tokens, and the next answer would not fit into \
             what is left for today."
        );
    }

    #[test]
    fn those_that_begin_together_share_what_is_left_for_all() {
        let allowed = Allowance { tokens: Some((1000, Of::Day)), micros: Some((50, Of::Run)) };

        let share = Allowance { tokens: Some((250, Of::Day)), ..allowed };
        assert_eq!((allowed.shared_by(4), allowed.shared_by(0)), (share, allowed));
        let money = Allowance { micros: Some((50, Of::Conversation)), ..allowed };
        assert_eq!(money.shared_by(2).micros, Some((25, Of::Conversation)));
    }

    #[test]
    fn a_guess_is_given_some_room_and_what_is_told_is_taken_at_its_word() {
        let tokens = Some((100, Of::Run));
        let room = Allowance { tokens, ..Allowance::default() }.room(0, None).unwrap();

        assert!(!room.is_passed(Some(100), 141));
        assert!(room.is_passed(None, 142));
        assert!(room.is_passed(Some(101), 10));
        assert!(room.is_enough() && !Room { tokens: 15, ..room }.is_enough());
        assert_eq!((room.beside(101).cuts, room.beside(100).cuts), (Cuts::Early, Cuts::Late));
    }
}
