//! A day of the calendar, without a time or a place. `YYYY-MM-DD` in JSON.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::timestamp::Timestamp;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A day, kept as the moment at which it begins in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(Timestamp);

impl Date {
    /// The day that a text names; `None` for a day that no calendar has.
    pub fn parse(text: &str) -> Option<Self> {
        let day = Self(Timestamp::parse(&format!("{text}T00:00:00Z"))?);
        // The thirtieth of February is read as a day of March.
        (day.to_string() == text).then_some(day)
    }

    /// The day of a moment, in UTC.
    pub fn of(at: Timestamp) -> Self {
        Self(Timestamp(at.0.div_euclid(DAY_MS) * DAY_MS))
    }

    /// For people: `16 Nov 2026`.
    pub fn readable(self) -> String {
        self.0.readable().split(',').next().unwrap_or_default().to_owned()
    }

    /// Whether it has passed, in UTC.
    pub fn is_over(self, now: Timestamp) -> bool {
        now.0 - self.0.0 >= DAY_MS
    }

    /// The moment at which it begins in UTC.
    pub fn begins(self) -> Timestamp {
        self.0
    }
}

impl fmt::Display for Date {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = self.0.rfc3339();
        out.write_str(moment.split('T').next().unwrap_or_default())
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("it is not a day like 2026-11-16"))
    }
}

impl JsonSchema for Date {
    fn schema_name() -> Cow<'static, str> {
        "Date".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_over_when_the_next_one_begins() {
        let at = |moment: &str| Timestamp::parse(moment).unwrap();
        let day = Date::parse("2026-11-16").unwrap();

        assert_eq!(day.readable(), "16 Nov 2026");
        assert!(!day.is_over(at("2026-11-16T23:59:59Z")));
        assert!(day.is_over(at("2026-11-17T00:00:00Z")));
    }

    #[test]
    fn a_day_is_one_that_the_calendar_has() {
        for good in ["2026-11-16", "2024-02-29", "2000-02-29", "1999-12-31"] {
            assert_eq!(Date::parse(good).map(|day| day.to_string()).as_deref(), Some(good));
        }
        for bad in
            ["", "2026", "2026-02-29", "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-01"]
        {
            assert_eq!(Date::parse(bad), None, "{bad}");
        }
        for bad in ["2026-1-1", "16.11.2026", "2026-11-16T00:00:00Z", "é026-11-16", "+026-01-01"] {
            assert_eq!(Date::parse(bad), None, "{bad}");
        }
    }
}
