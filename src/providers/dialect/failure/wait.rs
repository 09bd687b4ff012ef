//! How long a service wants to be left alone.

use std::time::{Duration, SystemTime};

use httpdate::parse_http_date;

/// The wait that headers ask for: in milliseconds, in seconds, or until a date.
pub fn from_headers(headers: &dyn Fn(&str) -> Option<String>) -> Option<Duration> {
    let milliseconds = headers("retry-after-ms").and_then(|text| seconds(&text, 1000.0));
    milliseconds.or_else(|| {
        let text = headers("retry-after")?;
        seconds(&text, 1.0).or_else(|| {
            // The service's own clock, so that ours may be wrong.
            let now = headers("date").and_then(|date| parse_http_date(date.trim()).ok());
            let until = parse_http_date(text.trim()).ok()?;
            let wait = until.duration_since(now.unwrap_or_else(SystemTime::now));
            Some(wait.unwrap_or_default())
        })
    })
}

/// Google's way to write it: `48s`, `0.5s`.
pub fn from_delay(text: &str) -> Option<Duration> {
    seconds(text.trim().strip_suffix('s')?, 1.0)
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.trim().parse().ok()?;
    Duration::try_from_secs_f64(number / unit).ok()
}
