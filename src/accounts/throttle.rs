//! Slowing down whoever guesses: a few tries are free, then each makes the next one wait longer. Counted by
//! account and by address, before a password is looked at, so that many at once are many.

use super::Accounts;
use crate::{
    domain::{error::ApiError, id::UserId, internet::neighbourhood_word, timestamp::Timestamp},
    store::{Attempts, now},
};

/// How many tries nobody waits for.
const FREE: i64 = 5;
/// The first wait.
const FIRST_WAIT_MS: i64 = 5_000;
/// The longest wait for an account: whoever owns it must get in while others guess.
const ACCOUNT_WAIT_MS: i64 = 60_000;
/// The longest wait for an address.
const ADDRESS_WAIT_MS: i64 = 15 * 60_000;
/// After so long without a try everything is forgotten.
const FORGOTTEN_MS: i64 = 60 * 60_000;

/// Who is counted, and how long they wait at most.
struct Counted {
    key: String,
    longest_ms: i64,
}

fn counted(name: &str, address: &str) -> [Counted; 2] {
    [
        Counted { key: format!("account:{name}"), longest_ms: ACCOUNT_WAIT_MS },
        Counted {
            key: format!("address:{}", neighbourhood_word(address)),
            longest_ms: ADDRESS_WAIT_MS,
        },
    ]
}

/// What one more try makes of those before it, or for how many milliseconds it must wait.
fn tried(known: Attempts, now: Timestamp, longest_ms: i64) -> Result<Attempts, i64> {
    let since = now.0 - known.updated_at.0;
    let fresh = since.abs() >= FORGOTTEN_MS && known.blocked_until.0 <= now.0;
    let known = if fresh { Attempts::default() } else { known };
    // A clock that was set back must not make anybody wait for longer than they ever would.
    let wait = (known.blocked_until.0 - now.0).min(longest_ms);
    if wait > 0 {
        return Err(wait);
    }
    let failures = known.failures + 1;
    // Where nobody waits nothing is blocked, not even until now: tries at once may be stamped out of order.
    let blocked_until = match u32::try_from(failures - FREE) {
        Ok(over) => {
            Timestamp(now.0 + FIRST_WAIT_MS.saturating_mul(1 << over.min(16)).min(longest_ms))
        }
        Err(_) => Timestamp(0),
    };
    Ok(Attempts { failures, blocked_until, updated_at: now })
}

impl Accounts {
    /// Counts a try. An error says how long to wait, and nothing is tried.
    pub(super) async fn count_try(&self, name: &str, address: &str) -> Result<(), ApiError> {
        let mut link = self.store.write_accounts().await?;
        let now = now();
        for Counted { key, longest_ms } in counted(name, address) {
            let known = link.attempts(&key).await?;
            match tried(known, now, longest_ms) {
                Ok(tries) => link.set_attempts(&key, tries).await?,
                Err(wait_ms) => {
                    let seconds = u64::try_from(wait_ms.div_euclid(1000) + 1).unwrap_or(1);
                    let reason = format!("Too many tries. Try again in {seconds} seconds.");
                    return Err(ApiError::Limited { reason, retry_after: Some(seconds) });
                }
            }
        }
        Ok(link.commit().await?)
    }

    /// Forgets the tries of an account, and the last one of an address: whoever has one account could
    /// otherwise go on guessing another's.
    pub(super) async fn forget_tries(&self, user: &UserId, address: &str) -> Result<(), ApiError> {
        let mut link = self.store.write_accounts().await?;
        let [account, address] = counted(user.as_str(), address);
        link.forget_attempts(&account.key).await?;
        let known = link.attempts(&address.key).await?;
        let failures = (known.failures - 1).max(0);
        let blocked_until = if failures < FREE { Timestamp(0) } else { known.blocked_until };
        link.set_attempts(&address.key, Attempts { failures, blocked_until, ..known }).await?;
        Ok(link.commit().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_tries_are_free_and_then_each_waits_longer_up_to_a_limit() {
        let mut known = Attempts::default();
        let mut now = Timestamp(1_000_000_000);
        let mut waits = Vec::new();
        for _ in 0..14 {
            known = tried(known, now, 60_000).unwrap();
            waits.push((known.blocked_until.0 - now.0).max(0) / 1000);
            if known.blocked_until > now {
                let before = Timestamp(known.blocked_until.0 - 1);
                assert_eq!(tried(known, before, 60_000), Err(1));
            }
            now = known.blocked_until.max(now);
        }

        assert_eq!(waits, [0, 0, 0, 0, 5, 10, 20, 40, 60, 60, 60, 60, 60, 60]);
    }

    #[test]
    fn a_try_that_was_stamped_before_the_last_one_is_one_more_and_waits_for_nothing() {
        let first = tried(Attempts::default(), Timestamp(1_000_003), 60_000).unwrap();

        let second = tried(first, Timestamp(1_000_000), 60_000).unwrap();

        assert_eq!((second.failures, second.blocked_until), (2, Timestamp(0)));
    }

    #[test]
    fn tries_are_forgotten_after_a_while_and_a_clock_set_back_locks_nobody_out() {
        let known = Attempts {
            failures: 9,
            blocked_until: Timestamp(50_000),
            updated_at: Timestamp(20_000),
        };

        let later = Timestamp(known.updated_at.0 + FORGOTTEN_MS);
        assert_eq!(tried(known, later, 60_000).unwrap().failures, 1);
        assert_eq!(tried(known, Timestamp(0), 60_000), Err(50_000));
        assert_eq!(tried(known, Timestamp(-86_400_000), 60_000), Err(60_000));
    }
}
