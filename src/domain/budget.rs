//! How much a Space lets its runs take: in a run, in a session, in a day, and how often in a minute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{error::ApiError, field::grouped, run::told_dollars};

/// The most that can be set for a number of tokens, of dollars, or of times a minute.
const MAX_TOKENS: u64 = 10_000_000_000;
const MAX_DOLLARS: f64 = 100_000.0;
const MAX_TIMES: u32 = 100_000;

/// What is allowed. What is not set is not limited, beyond what every run is held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Budgets {
    /// Tokens, read and written, of one run.
    pub run_tokens: Option<u64>,
    /// Dollars that one run may cost.
    pub run_dollars: Option<f64>,
    /// Tokens, read and written, of one conversation.
    pub session_tokens: Option<u64>,
    /// Dollars that one conversation may cost.
    pub session_dollars: Option<f64>,
    /// Tokens, read and written, of one day (UTC).
    pub day_tokens: Option<u64>,
    /// Dollars that one day (UTC) may cost.
    pub day_dollars: Option<f64>,
    /// How many runs one person may begin in a minute.
    pub runs_per_minute: Option<u32>,
    /// How many runs may be begun in a minute with the key of one service, however often each asks it.
    pub service_per_minute: Option<u32>,
}

impl Budgets {
    /// Refuses what cannot be set.
    pub fn check(&self) -> Result<(), ApiError> {
        let tokens = [
            ("runTokens", self.run_tokens),
            ("sessionTokens", self.session_tokens),
            ("dayTokens", self.day_tokens),
        ];
        for (field, value) in tokens {
            if value.is_some_and(|value| value > MAX_TOKENS) {
                let rule = format!("At most {MAX_TOKENS} tokens can be set.");
                return Err(ApiError::invalid(field, rule));
            }
        }
        let dollars = [
            ("runDollars", self.run_dollars),
            ("sessionDollars", self.session_dollars),
            ("dayDollars", self.day_dollars),
        ];
        for (field, value) in dollars {
            if !value.is_none_or(|value| (0.0..=MAX_DOLLARS).contains(&value)) {
                let rule = format!("0 to {MAX_DOLLARS} dollars can be set.");
                return Err(ApiError::invalid(field, rule));
            }
        }
        let times = [
            ("runsPerMinute", self.runs_per_minute),
            ("servicePerMinute", self.service_per_minute),
        ];
        for (field, value) in times {
            if !value.is_none_or(|value| (1..=MAX_TIMES).contains(&value)) {
                let rule = format!("1 to {MAX_TIMES} times a minute can be set.");
                return Err(ApiError::invalid(field, rule));
            }
        }
        Ok(())
    }

    /// Whether what a day took must be known.
    pub fn limits_days(&self) -> bool {
        self.day_tokens.is_some() || self.day_dollars.is_some()
    }

    /// Whether what a conversation took must be known.
    pub fn limits_sessions(&self) -> bool {
        self.session_tokens.is_some() || self.session_dollars.is_some()
    }

    /// Whether anything is limited in dollars, which says nothing of models whose price is not known.
    pub fn limits_dollars(&self) -> bool {
        self.run_dollars.is_some() || self.session_dollars.is_some() || self.day_dollars.is_some()
    }

    /// Refuses another run once a day has taken all that it may.
    pub fn check_day(&self, taken: Taken) -> Result<(), ApiError> {
        taken.check(self.day_tokens, self.day_dollars, "today", "It begins anew at midnight (UTC).")
    }

    /// Refuses another run once a conversation has taken all that it may.
    pub fn check_session(&self, taken: Taken) -> Result<(), ApiError> {
        let way = "Begin another one, or raise the limit in the settings.";
        taken.check(self.session_tokens, self.session_dollars, "this conversation", way)
    }

    /// For people: what is left of a day; nothing when no limit is set.
    pub fn told_of_day(&self, taken: Taken) -> Option<String> {
        let left = taken.told_left(self.day_tokens, self.day_dollars)?;
        Some(format!("Left today: {left}"))
    }

    /// For people: what is left of a conversation; nothing when no limit is set.
    pub fn told_of_session(&self, taken: Taken) -> Option<String> {
        let left = taken.told_left(self.session_tokens, self.session_dollars)?;
        Some(format!("left in this session: {left}"))
    }

    /// For people: what the next run has before it; nothing when no limit is set.
    pub fn told_of_run(&self) -> Option<String> {
        let tokens = self.run_tokens.map(|limit| format!("take {} tokens", grouped(limit)));
        let dollars = self.run_dollars.map(|limit| format!("cost {}", told_dollars(micros(limit))));
        let told: Vec<String> = tokens.into_iter().chain(dollars).collect();
        (!told.is_empty()).then(|| format!("one run may {}", told.join(" and ")))
    }
}

/// What runs took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    /// Tokens, read and written.
    pub tokens: u64,
    /// The price in millionths of a dollar.
    pub cost_micros: u64,
}

impl Taken {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }

    fn check(
        self,
        tokens: Option<u64>,
        dollars: Option<f64>,
        of: &str,
        way: &str,
    ) -> Result<(), ApiError> {
        let told = if let Some(limit) = tokens.filter(|limit| self.tokens >= *limit) {
            format!("{} of {} tokens", grouped(self.tokens), grouped(limit))
        } else if let Some(limit) = dollars.filter(|limit| self.cost_micros >= micros(*limit)) {
            format!("{} of {}", told_dollars(self.cost_micros), told_dollars(micros(limit)))
        } else {
            return Ok(());
        };
        let reason = format!("The limit for {of} is reached: {told}. {way}");
        Err(ApiError::Limited { reason, retry_after: None })
    }

    fn told_left(self, tokens: Option<u64>, dollars: Option<f64>) -> Option<String> {
        let tokens = tokens.map(|limit| {
            format!("{} of {} tokens", grouped(limit.saturating_sub(self.tokens)), grouped(limit))
        });
        let dollars = dollars.map(|limit| {
            let limit = micros(limit);
            let left = limit.saturating_sub(self.cost_micros);
            format!("{} of {}", told_dollars(left), told_dollars(limit))
        });
        let told: Vec<String> = tokens.into_iter().chain(dollars).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}

/// What a limit in dollars is in millionths of one.
pub fn micros(dollars: f64) -> u64 {
    (dollars * 1_000_000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_reached_is_told_with_what_was_taken() {
        let budgets =
            Budgets { day_tokens: Some(1000), session_dollars: Some(0.5), ..Budgets::default() };
        let taken = |tokens, cost_micros| Taken { tokens, cost_micros };

        assert_eq!(budgets.check_day(taken(999, 0)), Ok(()));
        let told = budgets.check_day(taken(1200, 0)).unwrap_err();
        assert_eq!(
            (told.status(), told.to_string().as_str()),
            (
                429,
                "The limit for today is reached: 1\u{202f}200 of 1\u{202f}000 tokens. It begins \
                 anew at midnight (UTC)."
            )
        );
        assert_eq!(budgets.check_session(taken(5000, 499_999)), Ok(()));
        assert!(budgets.check_session(taken(0, 500_000)).is_err());
        assert_eq!(
            budgets.told_of_day(taken(10, 0)).as_deref(),
            Some("Left today: 990 of 1\u{202f}000 tokens")
        );
        assert_eq!(
            budgets.told_of_session(taken(10, 465_000)).as_deref(),
            Some("left in this session: $0.035 of $0.50")
        );
        assert_eq!(
            budgets.told_of_session(taken(10, 900_000)).as_deref(),
            Some("left in this session: $0.00 of $0.50")
        );
        let run = Budgets { run_tokens: Some(4000), run_dollars: Some(0.02), ..budgets };
        assert_eq!(
            run.told_of_run().as_deref(),
            Some("one run may take 4\u{202f}000 tokens and cost $0.02")
        );
        assert_eq!(budgets.told_of_run(), None);
        let small = Budgets { session_dollars: Some(0.003), ..Budgets::default() };
        let told = small.check_session(taken(0, 3470)).unwrap_err().to_string();
        assert!(told.contains("is reached: $0.00347 of $0.003. "), "{told}");
        assert_eq!(Budgets::default().told_of_day(taken(10, 0)), None);
        assert_eq!(Budgets::default().check_day(taken(u64::MAX, u64::MAX)), Ok(()));
    }

    #[test]
    fn odd_limits_are_refused_by_field() {
        let field = |budgets: Budgets| match budgets.check() {
            Err(ApiError::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        };

        assert_eq!(field(Budgets { run_dollars: Some(-1.0), ..Budgets::default() }), "runDollars");
        assert_eq!(
            field(Budgets { run_dollars: Some(f64::NAN), ..Budgets::default() }),
            "runDollars"
        );
        assert_eq!(
            field(Budgets { runs_per_minute: Some(0), ..Budgets::default() }),
            "runsPerMinute"
        );
        assert_eq!(
            field(Budgets { day_tokens: Some(u64::MAX), ..Budgets::default() }),
            "dayTokens"
        );
    }
}
