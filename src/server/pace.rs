//! How fast one person, or one address of strangers, may ask. Kept in memory and by a clock that nobody can
//! set: it is against floods, not against guessing.

use std::{
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

use super::counts::{Counted, Counts};
use crate::domain::{error::ApiError, id::UserId, internet::neighbourhood_word};

/// So many times, and at least once.
const fn times(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

/// What somebody who is known may ask for in a second, over time.
const KNOWN_A_SECOND: NonZeroU32 = times(30);
/// And at once.
const KNOWN_AT_ONCE: NonZeroU32 = times(600);
/// What strangers from one address may ask for in a second, over time.
const STRANGERS_A_SECOND: NonZeroU32 = times(5);
/// And at once.
const STRANGERS_AT_ONCE: NonZeroU32 = times(100);
/// What one address may ask for of what is open to all in a second, over time.
const OPEN_A_SECOND: NonZeroU32 = times(50);
/// And at once: a page brings its files along, and an office may share an address.
const OPEN_AT_ONCE: NonZeroU32 = times(1000);
/// How many are remembered before those who were slow are forgotten, and how often that is.
const REMEMBERED: usize = 10_000;
const FORGETS_EVERY: Duration = Duration::from_secs(30);
/// How many streams one person listens to at once: behind a proxy nothing else keeps them from taking all
/// connections.
const STREAMS_OF_ONE: usize = 256;

/// How fast everybody asks.
#[derive(Clone, Debug)]
pub struct Pace {
    known: Arc<DefaultKeyedRateLimiter<String>>,
    strangers: Arc<DefaultKeyedRateLimiter<String>>,
    open: Arc<DefaultKeyedRateLimiter<String>>,
    /// When those who were slow were last forgotten.
    forgot: Arc<Mutex<Instant>>,
    streams: Counts<UserId>,
}

impl Default for Pace {
    fn default() -> Self {
        let limiter = |a_second, at_once| {
            Arc::new(RateLimiter::keyed(Quota::per_second(a_second).allow_burst(at_once)))
        };
        Self {
            known: limiter(KNOWN_A_SECOND, KNOWN_AT_ONCE),
            strangers: limiter(STRANGERS_A_SECOND, STRANGERS_AT_ONCE),
            open: limiter(OPEN_A_SECOND, OPEN_AT_ONCE),
            forgot: Arc::new(Mutex::new(Instant::now())),
            streams: Counts::default(),
        }
    }
}

impl Pace {
    /// Counts a request of somebody who is known.
    pub fn count_known(&self, user: &str) -> Result<(), ApiError> {
        self.count(&self.known, user.to_owned())
    }

    /// Counts a request of a stranger.
    pub fn count_stranger(&self, address: &str) -> Result<(), ApiError> {
        self.count(&self.strangers, neighbourhood_word(address))
    }

    /// Counts a request for what is open to all, whoever sends it.
    pub fn count_open(&self, address: &str) -> Result<(), ApiError> {
        self.count(&self.open, neighbourhood_word(address))
    }

    fn count(
        &self,
        limiter: &DefaultKeyedRateLimiter<String>,
        key: String,
    ) -> Result<(), ApiError> {
        if limiter.len() > REMEMBERED && self.is_time_to_forget() {
            for all in [&self.known, &self.strangers, &self.open] {
                all.retain_recent();
            }
        }
        limiter.check_key(&key).map_err(|early| {
            let seconds = early.wait_time_from(DefaultClock::default().now()).as_secs() + 1;
            let reason = format!("These are too many requests. Go on in {seconds} seconds.");
            ApiError::Limited { reason, retry_after: Some(seconds) }
        })
    }

    /// Whether those who were slow are to be forgotten. To look at all of them takes a while, and a flood from
    /// many addresses must not make every request do so.
    fn is_time_to_forget(&self) -> bool {
        let mut forgot = self.forgot.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = forgot.elapsed() >= FORGETS_EVERY;
        if is_time {
            *forgot = Instant::now();
        }
        is_time
    }

    /// Counts a stream of somebody's for as long as what is given is held; nothing when they have too many.
    pub fn count_stream(&self, user: &UserId) -> Option<Counted<UserId>> {
        self.streams.count(user.clone(), STREAMS_OF_ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_held_up_and_the_others_are_not() {
        let pace = Pace::default();

        let taken = (0..150).filter(|_| pace.count_stranger("10.0.0.1").is_ok()).count();

        assert!((100..110).contains(&taken), "{taken}");
        assert!(pace.count_stranger("10.0.0.2").is_ok());
        let refused = pace.count_stranger("10.0.0.1").unwrap_err();
        assert_eq!((refused.status(), refused.is_transient()), (429, true));
    }

    #[test]
    fn all_addresses_of_one_house_are_one_flood() {
        let pace = Pace::default();

        let from = |number: u32| pace.count_stranger(&format!("2001:db8::{number:x}"));
        let taken = (0..150).filter(|number| from(*number).is_ok()).count();

        assert!((100..110).contains(&taken), "{taken}");
        assert!(pace.count_stranger("2001:db8:0:1::1").is_ok());
    }
}
