//! The rows that are printed.

use std::time::Duration;

use super::client::Times;

pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub fn title(text: &str) {
    println!("\n{text}");
}

pub fn row(what: &str, value: &str) {
    println!("  {what:<55} {value:>14}");
}

/// Times, and how many times those of the least.
pub fn time_row(what: &str, times: &Times, floor: &Times) {
    let ratio = times.p50.as_secs_f64() / floor.p50.as_secs_f64();
    let (p50, p99) = (millis(times.p50), millis(times.p99));
    println!("  {what:<30} p50 {p50:>7.2} ms   p99 {p99:>7.2} ms   {ratio:>6.1} × bare");
}

/// A rate, as a part of the most.
pub fn rate_row(what: &str, rate: f64, most: f64) {
    println!("  {what:<30} {rate:>9.0} /s   {:>5.1} % of bare", rate / most * 100.0);
}

/// Times, and what they are beyond those of the limit.
pub fn added_row(what: &str, times: &Times, limit: Option<&Times>) {
    let (p50, p99) = (millis(times.p50), millis(times.p99));
    let added = match limit {
        None => "the limit".into(),
        Some(limit) => {
            let (limit_p50, limit_p99) = (millis(limit.p50), millis(limit.p99));
            format!("added {:>+6.2} / {:>+6.2} ms", p50 - limit_p50, p99 - limit_p99)
        }
    };
    println!("  {what:<30} p50 {p50:>7.2} ms   p99 {p99:>7.2} ms   {added}");
}

/// A rate with its cost, as a part of the limit.
pub fn flow_row(what: &str, rate: f64, cost: Duration, limit: Option<f64>) {
    let share = match limit {
        None => "the limit".into(),
        Some(limit) => format!("{:.1} % of the limit", rate / limit * 100.0),
    };
    println!("  {what:<30} {rate:>9.0} /s   {:>7.2} ms per 1 000   {share}", millis(cost));
}

/// Times within this process, with the part that counts there.
pub fn told(what: &str, times: Vec<Duration>) -> Times {
    let mut sorted = times.clone();
    sorted.sort();
    let p95 = sorted[sorted.len() * 95 / 100];
    let times = Times::of(times);
    let (p50, p95) = (millis(times.p50), millis(p95));
    row(what, &format!("p50 {p50:.2} ms  p95 {p95:.2} ms"));
    times
}
