//! A moment, to the millisecond, always UTC. RFC 3339 in JSON.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Milliseconds since 1970 began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Timestamp {
    fn moment(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// For machines: `2026-11-16T03:31:15.123Z`.
    pub fn rfc3339(self) -> String {
        self.moment().format(&Rfc3339).unwrap_or_default()
    }

    /// For people, without knowing where they are: `16 Nov 2026, 03:31 UTC`.
    pub fn readable(self) -> String {
        let moment = self.moment();
        let month = MONTHS[usize::from(u8::from(moment.month())) - 1];
        let (day, year, hour, minute) =
            (moment.day(), moment.year(), moment.hour(), moment.minute());
        format!("{day} {month} {year}, {hour:02}:{minute:02} UTC")
    }

    /// For people, seen from `now`: `just now`, `5 min ago`, `3 h ago`, `2 days ago`; a date after a month.
    pub fn ago(self, now: Timestamp) -> String {
        let seconds = (now.0 - self.0) / 1000;
        match seconds {
            ..10 => "just now".into(),
            10..60 => format!("{seconds} s ago"),
            60..3600 => format!("{} min ago", seconds / 60),
            3600..86_400 => format!("{} h ago", seconds / 3600),
            86_400..172_800 => "yesterday".into(),
            172_800..2_592_000 => format!("{} days ago", seconds / 86_400),
            _ => self.readable().split(',').next().unwrap_or_default().into(),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.rfc3339())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let moment = OffsetDateTime::parse(&text, &Rfc3339).map_err(D::Error::custom)?;
        let millis = moment.unix_timestamp_nanos() / 1_000_000;
        i64::try_from(millis).map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_survives_json_to_the_millisecond() {
        let moment = Timestamp(1_794_800_000_123);

        let json = serde_json::to_string(&moment).unwrap();

        assert_eq!(json, "\"2026-11-16T03:33:20.123Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), moment);
    }

    #[test]
    fn people_read_how_long_ago_something_was() {
        let now = Timestamp(1_794_800_000_000);
        let told = |seconds: i64| Timestamp(now.0 - seconds * 1000).ago(now);

        assert_eq!(told(3), "just now");
        assert_eq!(told(90), "1 min ago");
        assert_eq!(told(7300), "2 h ago");
        assert_eq!(told(100_000), "yesterday");
        assert_eq!(told(260_000), "3 days ago");
        assert_eq!(told(10_000_000), "23 Jul 2026");
        assert_eq!(now.readable(), "16 Nov 2026, 03:33 UTC");
    }
}
