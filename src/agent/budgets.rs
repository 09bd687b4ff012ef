//! Holding runs to what a Space allows: looked at before each one begins.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{Agent, driver::Brief, turn::Guards};
use crate::{
    changes::Scope,
    domain::{
        budget::{Budgets, Taken},
        error::ApiError,
        id::{ConversationId, SpaceId},
        usage::day_of,
    },
    store::{Link, now},
};

/// The name under which a Space's limits are kept.
const BUDGETS: &str = "budgets";
/// For how long limits are taken as known: another process may have set others.
const KNOWN: Duration = Duration::from_secs(5);
const MINUTE: Duration = Duration::from_secs(60);
/// The most that is remembered of who began runs.
const MAX_KNOWN: usize = 10_000;

/// What is remembered of limits and of runs that began lately.
#[derive(Debug, Default)]
pub struct Ledger {
    budgets: Mutex<HashMap<SpaceId, (Instant, Budgets)>>,
    begun: Mutex<HashMap<String, VecDeque<Instant>>>,
}

impl Ledger {
    fn known(&self, space: &SpaceId) -> Option<Budgets> {
        let known = self.budgets.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, budgets) = known.get(space)?;
        (since.elapsed() < KNOWN).then_some(*budgets)
    }

    fn learn(&self, space: &SpaceId, budgets: Budgets) {
        let mut known = self.budgets.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(space.clone(), (Instant::now(), budgets));
    }

    /// Counts one more for somebody, or says after how long there may be one.
    fn count(&self, who: String, most: u32) -> Result<(), Duration> {
        let at = Instant::now();
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if begun.len() >= MAX_KNOWN {
            begun.retain(|_, times| times.back().is_some_and(|last| at - *last < MINUTE));
        }
        let times = begun.entry(who).or_default();
        while times.front().is_some_and(|first| at - *first >= MINUTE) {
            times.pop_front();
        }
        match times.front() {
            Some(first) if times.len() >= most as usize => Err(MINUTE - (at - *first)),
            _ => {
                times.push_back(at);
                Ok(())
            }
        }
    }
}

impl Agent {
    /// What a Space allows.
    pub async fn budgets(&self, scope: &Scope) -> Result<Budgets, ApiError> {
        self.budgets_on(&mut self.read(scope).await?, scope).await
    }

    async fn budgets_on(&self, link: &mut Link, scope: &Scope) -> Result<Budgets, ApiError> {
        if let Some(known) = self.shared.ledger.known(&scope.space) {
            return Ok(known);
        }
        let kept = link.preference(BUDGETS).await?;
        let budgets = kept.and_then(|kept| serde_json::from_str(&kept).ok()).unwrap_or_default();
        self.shared.ledger.learn(&scope.space, budgets);
        Ok(budgets)
    }

    /// Sets what a Space allows.
    pub async fn set_budgets(&self, scope: &Scope, budgets: Budgets) -> Result<(), ApiError> {
        budgets.check()?;
        let mut link = self.write(scope).await?;
        link.set_preference(BUDGETS, &serde_json::json!(budgets).to_string()).await?;
        link.commit().await?;
        self.shared.ledger.learn(&scope.space, budgets);
        Ok(())
    }

    /// What the runs of a Space took today.
    pub async fn taken_today(&self, scope: &Scope) -> Result<Taken, ApiError> {
        Ok(self.read(scope).await?.taken_on(day_of(now())).await?)
    }

    /// Refuses runs for which there is nothing left. It looks through the link that will keep them: one
    /// that waited for another could wait for ever.
    pub(super) async fn check_budgets(
        &self,
        link: &mut Link,
        scope: &Scope,
        conversation: &ConversationId,
        briefs: &[&Brief],
    ) -> Result<(), ApiError> {
        let budgets = self.budgets_on(link, scope).await?;
        if budgets.limits_days() {
            budgets.check_day(link.taken_on(day_of(now())).await?)?;
        }
        if budgets.limits_sessions() {
            budgets.check_session(link.taken_in(conversation).await?)?;
        }
        for brief in briefs {
            if let Some(most) = budgets.runs_per_minute {
                let who = format!("{}/{}", scope.space, scope.user);
                self.count(who, most, "A person may begin")?;
            }
            if let Some(most) = budgets.service_per_minute {
                let service = &brief.route.service;
                let who = format!("{}/ {} {}", scope.space, service.service, service.key_ref);
                self.count(who, most, &format!("With {} one may begin", service.label))?;
            }
        }
        Ok(())
    }

    fn count(&self, who: String, most: u32, told: &str) -> Result<(), ApiError> {
        self.shared.ledger.count(who, most).map_err(|wait| {
            let seconds = wait.as_secs() + 1;
            let reason =
                format!("{told} {most} runs in a minute. There may be another in {seconds} s.");
            ApiError::Limited { reason, retry_after: Some(seconds) }
        })
    }

    /// How far one run of a Space may go by itself.
    pub(super) fn guards(&self, space: &SpaceId) -> Guards {
        let guards = self.shared.limits.guards;
        let Some(budgets) = self.shared.ledger.known(space) else { return guards };
        let micros = budgets.run_dollars.map(|dollars| (dollars * 1_000_000.0) as u64);
        Guards {
            output_tokens: budgets.run_tokens.unwrap_or(guards.output_tokens),
            cost_micros: micros.unwrap_or(guards.cost_micros),
            ..guards
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn there_are_so_many_in_any_minute_and_no_more() {
        let ledger = Ledger::default();
        let count = || ledger.count("ann".into(), 2);

        assert_eq!(count(), Ok(()));
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(count(), Ok(()));
        assert_eq!(count(), Err(Duration::from_secs(40)));
        assert_eq!(ledger.count("ben".into(), 2), Ok(()));
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(count(), Ok(()));
        assert_eq!(count(), Err(Duration::from_secs(20)));
    }
}
