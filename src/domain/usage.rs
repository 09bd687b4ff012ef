//! What runs took, summed up by day, model and persona.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{date::Date, error::ApiError, id::PersonaId, timestamp::Timestamp};

/// How many days are summed up when nobody says otherwise.
pub const USUAL_DAYS: u32 = 30;
/// The periods that a page offers.
pub const PERIODS: [u32; 3] = [7, 30, 90];
/// The most days that are summed up.
pub const MAX_DAYS: u32 = 366;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What some runs took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sum {
    /// How many runs ended.
    pub runs: u64,
    /// How many of them failed or were interrupted.
    pub errors: u64,
    /// All tokens that were read.
    pub input_tokens: u64,
    /// All that were written.
    pub output_tokens: u64,
    /// The price in millionths of a dollar, as far as prices are known.
    pub cost_micros: u64,
    /// How many runs had a model whose price is not known.
    pub unpriced: u64,
}

impl Sum {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            errors: self.errors + other.errors,
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cost_micros: self.cost_micros + other.cost_micros,
            unpriced: self.unpriced + other.unpriced,
        }
    }
}

/// What the runs of one day, model and persona took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaySum {
    /// The day: how many came before it since 1970 began.
    pub day: i64,
    /// The model.
    pub model: String,
    /// The persona.
    pub persona: PersonaId,
    /// What that one is called; nothing when it is gone.
    pub name: Option<String>,
    /// What they took.
    pub sum: Sum,
}

/// The sum for a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageOfDay {
    /// The day, in UTC.
    pub day: Date,
    /// What was taken.
    #[serde(flatten)]
    pub sum: Sum,
}

/// The sum for a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageOfModel {
    /// The model.
    pub model: String,
    /// What was taken.
    #[serde(flatten)]
    pub sum: Sum,
}

/// The sum for a persona.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageOfPersona {
    /// The persona.
    pub persona_id: PersonaId,
    /// What it is called; `null` when it was removed for good.
    pub name: Option<String>,
    /// What was taken.
    #[serde(flatten)]
    pub sum: Sum,
}

/// What runs took in the last days, this one included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// How many days are summed up.
    pub days: u32,
    /// All of it.
    pub total: Sum,
    /// By day in UTC, the earliest first; days without runs too.
    pub by_day: Vec<UsageOfDay>,
    /// By model, the dearest first.
    pub by_model: Vec<UsageOfModel>,
    /// By persona, the dearest first.
    pub by_persona: Vec<UsageOfPersona>,
}

/// How many days are asked for.
pub fn check_days(days: Option<u32>) -> Result<u32, ApiError> {
    match days {
        None => Ok(USUAL_DAYS),
        Some(days @ 1..=MAX_DAYS) => Ok(days),
        Some(_) => {
            Err(ApiError::invalid("days", format!("The days must be from 1 to {MAX_DAYS}.")))
        }
    }
}

/// The day of a moment, counted from the beginning of 1970.
pub fn day_of(at: Timestamp) -> i64 {
    at.0.div_euclid(DAY_MS)
}

/// When a day began.
pub fn first_of(day: i64) -> Timestamp {
    Timestamp(day.saturating_mul(DAY_MS))
}

/// The first of so many days, of which `now` is in the last.
pub fn first_day(now: Timestamp, days: u32) -> i64 {
    day_of(now) - i64::from(days) + 1
}

impl UsageReport {
    /// Sums up the days until now.
    pub fn of(rows: Vec<DaySum>, days: u32, now: Timestamp) -> Self {
        let first = first_day(now, days);
        let mut total = Sum::default();
        let mut by_day: BTreeMap<i64, Sum> =
            (first..=day_of(now)).map(|day| (day, Sum::default())).collect();
        let mut by_model: BTreeMap<String, Sum> = BTreeMap::new();
        let mut by_persona: BTreeMap<PersonaId, (Option<String>, Sum)> = BTreeMap::new();
        for DaySum { day, model, persona, name, sum } in rows {
            let Some(of_day) = by_day.get_mut(&day) else { continue };
            *of_day = of_day.plus(sum);
            total = total.plus(sum);
            let of_model = by_model.entry(model).or_default();
            *of_model = of_model.plus(sum);
            let of_persona = by_persona.entry(persona).or_default();
            *of_persona = (name, of_persona.1.plus(sum));
        }
        let dearest = |sum: &Sum| std::cmp::Reverse((sum.cost_micros, sum.output_tokens, sum.runs));
        let mut by_model: Vec<UsageOfModel> =
            by_model.into_iter().map(|(model, sum)| UsageOfModel { model, sum }).collect();
        by_model.sort_by_key(|of| dearest(&of.sum));
        let mut by_persona: Vec<UsageOfPersona> = by_persona
            .into_iter()
            .map(|(persona_id, (name, sum))| UsageOfPersona { persona_id, name, sum })
            .collect();
        by_persona.sort_by_key(|of| dearest(&of.sum));
        let date = |day: i64| Date::of(Timestamp(day * DAY_MS));
        let by_day = by_day.into_iter().map(|(day, sum)| UsageOfDay { day: date(day), sum });
        Self { days, total, by_day: by_day.collect(), by_model, by_persona }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(day: i64, model: &str, persona: &str, runs: u64, cost_micros: u64) -> DaySum {
        let sum = Sum { runs, cost_micros, ..Sum::default() };
        let name = Some(persona.to_uppercase());
        DaySum { day, model: model.into(), persona: persona.into(), name, sum }
    }

    #[test]
    fn a_report_has_every_day_and_the_dearest_first() {
        let now = Timestamp(10 * DAY_MS + 5);
        let rows = vec![
            row(7, "old", "a", 9, 9),
            row(8, "cheap", "a", 3, 10),
            row(10, "dear", "b", 1, 500),
            row(10, "cheap", "a", 1, 5),
        ];

        let report = UsageReport::of(rows, 3, now);

        assert_eq!((report.total.runs, report.total.cost_micros), (5, 515));
        let days: Vec<(String, u64)> =
            report.by_day.iter().map(|of| (of.day.to_string(), of.sum.runs)).collect();
        let named = |day: &str, runs| (day.to_owned(), runs);
        assert_eq!(days, [named("1970-01-09", 3), named("1970-01-10", 0), named("1970-01-11", 2)]);
        let models: Vec<&str> = report.by_model.iter().map(|of| of.model.as_str()).collect();
        assert_eq!(models, ["dear", "cheap"]);
        let personas: Vec<_> = report.by_persona.iter().map(|of| of.name.clone()).collect();
        assert_eq!(personas, [Some("B".to_owned()), Some("A".to_owned())]);
    }

    #[test]
    fn days_are_within_reason() {
        assert_eq!(check_days(None), Ok(USUAL_DAYS));
        assert_eq!(check_days(Some(7)), Ok(7));
        for odd in [0, MAX_DAYS + 1] {
            assert_eq!(check_days(Some(odd)).unwrap_err().status(), 422);
        }
    }
}
