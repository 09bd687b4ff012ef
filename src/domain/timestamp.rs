//! A moment, to the millisecond, always UTC. RFC 3339 in JSON.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Milliseconds since 1970 began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A day of the calendar and the time in it.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    millis: i64,
}

const DAY_MS: i64 = 86_400_000;

/// How many days lie between 1970 began and this day. Years are counted from March, so that the odd day
/// comes last; 400 of them have the same number of days.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

impl Timestamp {
    fn moment(self) -> Moment {
        let days = self.0.div_euclid(DAY_MS) + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = (from_march + 2) % 12 + 1;
        Moment {
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            millis: self.0.rem_euclid(DAY_MS),
        }
    }

    /// For machines: `2026-11-16T03:31:15.123Z`.
    pub fn rfc3339(self) -> String {
        let Moment { year, month, day, millis } = self.moment();
        let (hour, minute) = (millis / 3_600_000, millis / 60_000 % 60);
        let (second, millis) = (millis / 1000 % 60, millis % 1000);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }

    /// Reads what [`rfc3339`](Self::rfc3339) writes, with any number of digits in the fraction or none.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
        let (month, day) = (number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let marks: Vec<char> =
            [4, 7, 10, 13, 16].map(|at| text.chars().nth(at).unwrap_or(' ')).into();
        let fraction = text.get(19..)?.strip_suffix('Z')?;
        let millis = match fraction.strip_prefix('.') {
            None if fraction.is_empty() => 0,
            Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                format!("{digits:0<3}").get(..3)?.parse().ok()?
            }
            _ => return None,
        };
        let fits = marks == ['-', '-', 'T', ':', ':']
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..=60).contains(&second);
        let day = days(number(0, 4)?, month, day);
        fits.then_some(Self(day * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + millis))
    }

    /// For people, without knowing where they are: `16 Nov 2026, 03:31 UTC`.
    pub fn readable(self) -> String {
        let Moment { year, month, day, millis } = self.moment();
        let name = usize::try_from(month - 1).ok().and_then(|at| MONTHS.get(at)).unwrap_or(&"");
        let (hour, minute) = (millis / 3_600_000, millis / 60_000 % 60);
        format!("{day} {name} {year}, {hour:02}:{minute:02} UTC")
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
        Self::parse(&text)
            .ok_or_else(|| D::Error::custom("it is not a time like 2026-11-16T03:31:15Z"))
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
    fn every_day_of_eight_centuries_is_the_day_after_the_one_before() {
        let (mut year, mut month, mut day) = (1600, 1, 1);
        let mut at = days(year, month, day);
        while year < 2400 {
            let told = Timestamp(at * DAY_MS).rfc3339();
            assert_eq!(told, format!("{year:04}-{month:02}-{day:02}T00:00:00.000Z"));
            assert_eq!(Timestamp::parse(&told), Some(Timestamp(at * DAY_MS)));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, last) if last == length => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
            at += 1;
        }
    }

    #[test]
    fn what_is_no_time_of_ours_is_not_read() {
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01Z"), Some(Timestamp(1000)));
        assert_eq!(Timestamp::parse("1970-01-01T00:00:00.123456Z"), Some(Timestamp(123)));
        for bad in [
            "",
            "1970",
            "1970-13-01T00:00:00Z",
            "1970-01-01 00:00:00Z",
            "1970-01-01T00:00:00",
            "1970-01-01T00:00:00.xZ",
            "1970-01-01T25:00:00Z",
            "é970-01-01T00:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(bad), None, "{bad}");
        }
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
