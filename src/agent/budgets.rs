//! Holding runs to what a Space allows: looked at before each one begins.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    Agent,
    room::{Allowance, Guards, Of},
    runs::Order,
};
use crate::{
    changes::Scope,
    domain::{
        budget::{Budgets, Taken, micros},
        error::ApiError,
        id::{ConversationId, PersonaId, SpaceId},
        model::{Model, SEALED, Service},
        run::{Run, Usage},
        timestamp::Timestamp,
        usage::{Sum, day_of, first_of},
    },
    providers::Route,
    store::{Link, now},
};

/// The name under which a Space's limits are kept.
const BUDGETS: &str = "budgets";
/// For how long limits are taken as known: another process may have set others.
const KNOWN: Duration = Duration::from_secs(5);
const MINUTE_MS: i64 = 60_000;

/// What is remembered of limits.
#[derive(Debug, Default)]
pub struct Ledger {
    budgets: Mutex<HashMap<SpaceId, (Instant, Budgets)>>,
}

impl Ledger {
    fn known(&self, space: &SpaceId) -> Option<Budgets> {
        let known = self.budgets.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, budgets) = known.get(space)?;
        (since.elapsed() < KNOWN).then_some(*budgets)
    }

    /// Takes limits as those that were in force at a moment, and says which are known now: what was read
    /// before somebody set others does not come after them.
    fn learn(&self, space: &SpaceId, at: Instant, budgets: Budgets) -> Budgets {
        let mut known = self.budgets.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = known.entry(space.clone()).or_insert((at, budgets));
        if newest.0 < at {
            *newest = (at, budgets);
        }
        newest.1
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
        let asked_at = Instant::now();
        let kept = link.preference(BUDGETS).await?;
        let budgets = kept.and_then(|kept| serde_json::from_str(&kept).ok()).unwrap_or_default();
        Ok(self.shared.ledger.learn(&scope.space, asked_at, budgets))
    }

    /// Sets what a Space allows.
    pub async fn set_budgets(&self, scope: &Scope, budgets: Budgets) -> Result<(), ApiError> {
        budgets.check()?;
        let mut link = self.write(scope).await?;
        link.set_preference(BUDGETS, &serde_json::json!(budgets).to_string()).await?;
        link.commit().await?;
        self.shared.ledger.learn(&scope.space, Instant::now(), budgets);
        Ok(())
    }

    /// What the runs of a Space took today.
    pub async fn taken_today(&self, scope: &Scope) -> Result<Taken, ApiError> {
        Ok(self.read(scope).await?.taken_on(day_of(now())).await?)
    }

    /// Refuses runs for which there is nothing left, and says how far each may go. It looks through the
    /// link that will keep them: one that waited for another could wait for ever.
    pub(super) async fn check_budgets(
        &self,
        link: &mut Link,
        scope: &Scope,
        conversation: &ConversationId,
        orders: &[Order],
    ) -> Result<Guards, ApiError> {
        let budgets = self.budgets_on(link, scope).await?;
        let (tokens, dollars) = (budgets.run_tokens, budgets.run_dollars);
        let mut allowed = Allowance::default().within(Of::Run, tokens, dollars, Taken::default());
        if budgets.limits_sessions() || budgets.limits_days() || budgets.runs_per_minute.is_some() {
            link.hold_count(&format!("limits of {}", scope.space)).await?;
        }
        if budgets.limits_sessions() {
            budgets.check_session(link.taken_in(conversation).await?)?;
        }
        if budgets.limits_days() {
            budgets.check_day(link.taken_on(day_of(now())).await?)?;
        }
        allowed = beside(link, &budgets, conversation, None, allowed, Taken::default()).await?;
        // Those that wait in line look again when it is their turn.
        let at_once = orders.iter().filter(|order| order.wait.is_none()).count();
        self.count_begun(link, scope, &budgets, orders).await?;
        let guards = self.shared.limits.guards;
        let micros = budgets.run_dollars.map(micros);
        Ok(Guards {
            cost_micros: micros.unwrap_or(guards.cost_micros),
            allowed: allowed.shared_by(at_once),
            ..guards
        })
    }

    /// Refuses runs that would be too many in this minute, for the person or with a key. What was begun is
    /// in the database, so that all servers count together.
    async fn count_begun(
        &self,
        link: &mut Link,
        scope: &Scope,
        budgets: &Budgets,
        orders: &[Order],
    ) -> Result<(), ApiError> {
        let minute = this_minute();
        if let Some(most) = budgets.runs_per_minute {
            let limit = at_limit(most, orders.len());
            let begun = link.begun_by(&scope.user, minute, limit).await?;
            refuse_more(most, orders.len(), begun, "A person may begin")?;
        }
        let Some(most) = budgets.service_per_minute else { return Ok(()) };
        let mut keys: BTreeMap<String, (&str, usize)> = BTreeMap::new();
        for order in orders {
            let route = &order.brief.route;
            let key = counted_key(&scope.space, route);
            keys.entry(key).or_insert((&route.service.label, 0)).1 += 1;
        }
        for (key, (label, count)) in keys {
            link.hold_count(&key).await?;
            let begun = link.begun_with(&key, minute, at_limit(most, count)).await?;
            refuse_more(most, count, begun, &format!("With {label} one may begin"))?;
        }
        Ok(())
    }

    /// What a run that goes on may still take, beside all others that do.
    pub(super) async fn left_beside(
        &self,
        link: &mut Link,
        scope: &Scope,
        run: &Run,
        left: Allowance,
        spent: Taken,
    ) -> Result<Allowance, ApiError> {
        let budgets = self.budgets_on(link, scope).await?;
        if budgets.limits_sessions() || budgets.limits_days() {
            link.hold_count(&format!("limits of {}", scope.space)).await?;
        }
        beside(link, &budgets, &run.conversation_id, Some(run), left, spent).await
    }

    /// For people: what is left for runs of a conversation, with the model that it has; nothing where no
    /// limit is set.
    pub async fn told_left(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        model: &str,
    ) -> Result<Option<String>, ApiError> {
        let mut link = self.read(scope).await?;
        let budgets = self.budgets_on(&mut link, scope).await?;
        let mut told = Vec::new();
        if budgets.limits_days() {
            told.extend(budgets.told_of_day(link.taken_on(day_of(now())).await?));
        }
        if budgets.limits_sessions() {
            told.extend(budgets.told_of_session(link.taken_in(conversation).await?));
        }
        told.extend(budgets.told_of_run());
        let minute = this_minute();
        if let Some(most) = budgets.runs_per_minute {
            let left = most.saturating_sub(link.begun_by(&scope.user, minute, most).await?.0);
            told.push(format!("{left} of {most} runs left in this minute"));
        }
        let route = match budgets.service_per_minute.is_some() || budgets.limits_dollars() {
            true => self.catalog_on(&mut link, &scope.space).await?.find(model).ok(),
            false => None,
        };
        if let Some((most, route)) = budgets.service_per_minute.zip(route.as_ref()) {
            let key = counted_key(&scope.space, route);
            let left = most.saturating_sub(link.begun_with(&key, minute, most).await?.0);
            told.push(format!("{left} of {most} with {}", route.service.label));
        }
        if let Some(route) = route.filter(|route| route.model.price.is_none())
            && budgets.limits_dollars()
        {
            let model = route.model.label;
            told.push(format!("the price of {model} is not known, so dollars do not limit it"));
        }
        let mut told = told.join(" · ");
        if let Some(first) = told.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Ok((!told.is_empty()).then_some(told))
    }

    /// What a day has left for what is asked in passing; refused when that is nothing.
    pub(super) async fn left_today(&self, scope: &Scope) -> Result<Allowance, ApiError> {
        let mut link = self.read(scope).await?;
        let budgets = self.budgets_on(&mut link, scope).await?;
        if !budgets.limits_days() {
            return Ok(Allowance::default());
        }
        let day = day_of(now());
        let taken = link.taken_on(day).await?;
        budgets.check_day(taken)?;
        let taken = taken.plus(link.held(first_of(day), None, None).await?);
        let (tokens, dollars) = (budgets.day_tokens, budgets.day_dollars);
        Ok(Allowance::default().within(Of::Day, tokens, dollars, taken))
    }

    /// Adds what was asked in passing to the sums of its day: it is no run, and is paid for all the same.
    pub(super) async fn count_asked(
        &self,
        scope: &Scope,
        persona: &PersonaId,
        model: &Model,
        usage: Usage,
    ) -> Result<(), ApiError> {
        if usage == Usage::default() {
            return Ok(());
        }
        let sum = Sum {
            input_tokens: usage.input.unwrap_or_default(),
            output_tokens: usage.output.unwrap_or_default(),
            cost_micros: model.price.map(|price| price.micros(usage)).unwrap_or_default(),
            ..Sum::default()
        };
        let mut link = self.write(scope).await?;
        link.add_usage(day_of(now()), &model.id, persona, sum).await?;
        Ok(link.commit().await?)
    }
}

/// What is left within the limits of a conversation and of the day, when what others that go on may take is
/// taken, and what the run itself took.
async fn beside(
    link: &mut Link,
    budgets: &Budgets,
    conversation: &ConversationId,
    run: Option<&Run>,
    mut left: Allowance,
    spent: Taken,
) -> Result<Allowance, ApiError> {
    let id = run.map(|run| &run.id);
    if budgets.limits_sessions() {
        let held = link.held(Timestamp(0), Some(conversation), id).await?;
        let taken = link.taken_in(conversation).await?.plus(held).plus(spent);
        let (tokens, dollars) = (budgets.session_tokens, budgets.session_dollars);
        left = left.within(Of::Conversation, tokens, dollars, taken);
    }
    if budgets.limits_days() {
        // A run belongs to the day on which it was begun.
        let day = day_of(run.map_or_else(now, |run| run.created_at));
        let held = link.held(first_of(day), None, id).await?;
        let taken = link.taken_on(day).await?.plus(held).plus(spent);
        left = left.within(Of::Day, budgets.day_tokens, budgets.day_dollars, taken);
    }
    Ok(left)
}

/// The moments between which a run counts for this minute. The clock of another server may be a little ahead;
/// what is further ahead was begun before the clock was set back.
fn this_minute() -> [Timestamp; 2] {
    let now = now().0;
    [Timestamp(now - MINUTE_MS), Timestamp(now + MINUTE_MS)]
}

/// How many of the last runs stand in the way of so many more.
fn at_limit(most: u32, more: usize) -> u32 {
    most.saturating_sub(u32::try_from(more).unwrap_or(u32::MAX)).saturating_add(1)
}

/// Refuses so many more runs when so many began lately, the first of them at that moment.
fn refuse_more(
    most: u32,
    more: usize,
    (begun, first): (u32, Timestamp),
    told: &str,
) -> Result<(), ApiError> {
    let never = !u32::try_from(more).is_ok_and(|more| more <= most);
    if begun < at_limit(most, more) && !never {
        return Ok(());
    }
    let passed = (now().0 - first.0).clamp(0, MINUTE_MS);
    let seconds = ((MINUTE_MS - passed) / 1000 + 1).cast_unsigned();
    let rest = match more {
        _ if never => format!(", and these are {more}. Begin fewer of them at once."),
        0 | 1 => format!(". There may be another in {seconds} s."),
        _ => format!(", and these are {more}. There may be so many in {seconds} s."),
    };
    let runs = if most == 1 { "run" } else { "runs" };
    let reason = format!("{told} {most} {runs} in a minute{rest}");
    Err(ApiError::Limited { reason, retry_after: (!never).then_some(seconds) })
}

/// Under what the runs with the key of a service are counted: all Spaces that have the same one together. A
/// key that was pasted into a Space, and none, are that Space's own.
pub(super) fn counted_key(space: &SpaceId, route: &Route) -> String {
    let Service { service, key_ref, .. } = &route.service;
    if key_ref.is_empty() || key_ref.starts_with(SEALED) {
        format!("{service} of {space}")
    } else {
        format!("{service} {key_ref}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_were_read_before_others_were_set_do_not_come_back() {
        let (ledger, space) = (Ledger::default(), SpaceId::from("s"));
        let none = Budgets::default();
        let set = Budgets { day_tokens: Some(6000), ..none };
        let before = Instant::now();
        let after = before + Duration::from_millis(1);

        ledger.learn(&space, after, set);

        assert_eq!(ledger.learn(&space, before, none), set);
        assert_eq!(ledger.known(&space), Some(set));
    }

    #[test]
    fn there_are_so_many_in_any_minute_and_no_more() {
        let ago = |seconds: i64| Timestamp(now().0 - seconds * 1000);
        let wait = |refused: Result<(), ApiError>| match refused {
            Err(ApiError::Limited { retry_after, .. }) => retry_after,
            other => panic!("{other:?}"),
        };

        assert_eq!((at_limit(2, 1), at_limit(5, 3), at_limit(2, 4)), (2, 3, 1));
        assert_eq!(refuse_more(2, 1, (1, ago(20)), "One may begin"), Ok(()));
        let refused = refuse_more(2, 1, (2, ago(20)), "One may begin");
        assert!(matches!(wait(refused), Some(40 | 41)));
        assert_eq!(refuse_more(5, 3, (2, ago(20)), "One may begin"), Ok(()));
        assert!(refuse_more(5, 3, (3, ago(20)), "One may begin").is_err());
        // More at once than in a whole minute are never begun.
        assert_eq!(wait(refuse_more(2, 3, (0, ago(0)), "One may begin")), None);
    }
}
