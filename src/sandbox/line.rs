//! The line before the workers: who has nothing running goes before who has, and who had no turn lately before
//! who had, so that nobody takes all turns. Who is new counts as one who had a turn just before all those that take
//! turns when it comes: however many are new, nobody waits for all of them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{sync::oneshot, time::timeout};

use super::{
    Owner, SandboxError,
    limits::{WAITING, WAITING_TIME},
};

/// Of how many sessions it is known that they had a turn.
const LATELY: usize = 1024;

/// Some turns, and those who wait for one.
#[derive(Debug)]
pub(super) struct Line {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// How many turns each Space and each session has.
    spaces: HashMap<String, usize>,
    sessions: HashMap<Owner, usize>,
    /// Which turn was each session's last, of those that had one lately.
    lately: HashMap<Owner, u64>,
    turns: u64,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    owner: Owner,
    /// How many turns there had been when it came.
    since: u64,
    begin: oneshot::Sender<Turn>,
}

/// A turn, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    line: Arc<Line>,
    owner: Owner,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = self.line.state().end(&self.owner);
        if let Some(Waiting { owner, begin, .. }) = next {
            // Whoever does not wait any more gives the turn back as it is dropped.
            drop(begin.send(Turn { line: self.line.clone(), owner }));
        }
    }
}

impl Line {
    /// A line with so many turns at once.
    pub(super) fn new(turns: usize) -> Arc<Self> {
        let state = State {
            free: turns,
            spaces: HashMap::new(),
            sessions: HashMap::new(),
            lately: HashMap::new(),
            turns: 0,
            waiting: VecDeque::new(),
        };
        Arc::new(Self { state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn, if one is free.
    pub(super) fn free_turn(self: &Arc<Self>, owner: &Owner) -> Option<Turn> {
        let taken = self.state().take(owner);
        taken.then(|| Turn { line: self.clone(), owner: owner.clone() })
    }

    /// A turn, as soon as it is one's own.
    pub(super) async fn turn(self: &Arc<Self>, owner: Owner) -> Result<Turn, SandboxError> {
        let begun = {
            let mut state = self.state();
            if state.take(&owner) {
                drop(state);
                return Ok(Turn { line: self.clone(), owner });
            }
            state.waiting.retain(|waiting| !waiting.begin.is_closed());
            if state.waiting.len() >= WAITING {
                return Err(SandboxError::Busy);
            }
            let (begin, begun) = oneshot::channel();
            let since = state.turns;
            state.waiting.push_back(Waiting { owner, since, begin });
            begun
        };
        match timeout(WAITING_TIME, begun).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(SandboxError::Busy),
        }
    }
}

impl State {
    /// Takes a turn when one is free; nobody waits then.
    fn take(&mut self, owner: &Owner) -> bool {
        if self.free == 0 {
            return false;
        }
        self.free -= 1;
        self.begin(owner);
        true
    }

    fn begin(&mut self, owner: &Owner) {
        *self.spaces.entry(owner.space.clone()).or_default() += 1;
        *self.sessions.entry(owner.clone()).or_default() += 1;
        self.turns += 1;
        self.lately.insert(owner.clone(), self.turns);
        if self.lately.len() > LATELY {
            let long_ago = self.turns.saturating_sub(LATELY as u64 / 2);
            self.lately.retain(|_, turn| *turn > long_ago);
        }
    }

    /// Ends a turn, and says whose is the next: of those who have the fewest, the one whose last was longest ago,
    /// or else who waits longest.
    fn end(&mut self, owner: &Owner) -> Option<Waiting> {
        let running: usize = self.sessions.values().sum();
        if let Some(count) = self.spaces.get_mut(&owner.space) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.sessions.get_mut(owner) {
            *count = count.saturating_sub(1);
        }
        self.spaces.retain(|_, count| *count > 0);
        self.sessions.retain(|_, count| *count > 0);
        self.waiting.retain(|waiting| !waiting.begin.is_closed());
        // Those who take turns with each other had the last so many.
        let known = |waiting: &&Waiting| self.lately.contains_key(&waiting.owner);
        let taking = (running + self.waiting.iter().filter(known).count()) as u64;
        let has = |Waiting { owner, since, .. }: &Waiting| {
            let space = self.spaces.get(&owner.space).copied().unwrap_or_default();
            let session = self.sessions.get(owner).copied().unwrap_or_default();
            let last = self.lately.get(owner).copied();
            (space, session, last.unwrap_or_else(|| since.saturating_sub(taking)))
        };
        let places = self.waiting.iter().enumerate();
        let next = places.min_by_key(|(_, waiting)| has(waiting)).map(|(at, _)| at);
        match next.and_then(|at| self.waiting.remove(at)) {
            Some(next) => {
                self.begin(&next.owner);
                Some(next)
            }
            None => {
                self.free += 1;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::Pin, task::Poll};

    use futures_util::{FutureExt as _, poll};

    use super::*;

    fn owner(space: &str, session: &str) -> Owner {
        Owner { space: space.into(), session: session.into() }
    }

    type Waits = Pin<Box<dyn Future<Output = Result<Turn, SandboxError>> + Send>>;

    /// Somebody who waits in line.
    async fn waits(line: &Arc<Line>, owner: &Owner) -> Waits {
        let line = line.clone();
        let owner = owner.clone();
        let mut waiting: Waits = Box::pin(async move { line.turn(owner).await });
        assert!(poll!(&mut waiting).is_pending());
        waiting
    }

    async fn has_turn(waiting: &mut Waits) -> Option<Turn> {
        match poll!(waiting) {
            Poll::Ready(turn) => Some(turn.unwrap()),
            Poll::Pending => None,
        }
    }

    /// One session had all turns as long as it asked for them.
    #[tokio::test]
    async fn who_has_nothing_running_goes_before_who_has() {
        let line = Line::new(2);
        let (greedy, other) = (owner("s", "greedy"), owner("s", "other"));
        let first = line.free_turn(&greedy).unwrap();
        let second = line.turn(greedy.clone()).await.unwrap();
        let mut more = [waits(&line, &greedy).await, waits(&line, &greedy).await];
        let mut late = waits(&line, &other).await;

        drop(first);

        assert!(has_turn(&mut more[0]).await.is_none(), "it has another turn already");
        let late = has_turn(&mut late).await.unwrap();
        // With nobody else in line it may have them all.
        drop(late);
        let third = has_turn(&mut more[0]).await.unwrap();
        drop((second, third));
        assert!(has_turn(&mut more[1]).await.is_some());
    }

    /// Programs without end in several sessions made another session's first one wait for all of them.
    #[tokio::test]
    async fn who_had_no_turn_goes_before_who_had_one() {
        let line = Line::new(1);
        let [one, two, late] = ["1", "2", "late"].map(|session| owner("s", session));
        drop(line.free_turn(&one).unwrap());
        drop(line.free_turn(&two).unwrap());
        let running = line.free_turn(&one).unwrap();
        let mut again = [waits(&line, &one).await, waits(&line, &two).await];
        let mut first = waits(&line, &late).await;

        drop(running);

        let turn = has_turn(&mut first).await.unwrap();
        drop(turn);
        let turn = has_turn(&mut again[1]).await.unwrap();
        assert!(has_turn(&mut again[0]).await.is_none());
        drop(turn);
        assert!(has_turn(&mut again[0]).await.is_some());
    }

    /// A program that began a session for each request kept those that had a turn waiting until they were refused.
    #[tokio::test]
    async fn new_sessions_without_end_do_not_keep_one_that_had_a_turn_waiting() {
        let line = Line::new(1);
        let known = owner("s", "known");
        let mut turn = line.free_turn(&known).unwrap();
        let mut again = waits(&line, &known).await;
        let mut new = VecDeque::new();

        for round in 0..20 {
            for session in ["a", "b"].map(|name| format!("{name}{round}")) {
                new.push_back(waits(&line, &owner("s", &session)).await);
            }
            drop(turn);
            if has_turn(&mut again).await.is_some() {
                assert_eq!(round, 4, "those that came since wait");
                return;
            }
            turn = has_turn(&mut new.pop_front().unwrap()).await.unwrap();
        }
        panic!("it waits for all who are new");
    }

    #[tokio::test]
    async fn the_sessions_of_one_space_do_not_push_another_space_back() {
        let line = Line::new(2);
        let first = line.free_turn(&owner("many", "1")).unwrap();
        let _second = line.free_turn(&owner("many", "2")).unwrap();
        let mut third = waits(&line, &owner("many", "3")).await;
        let mut other = waits(&line, &owner("one", "1")).await;

        drop(first);

        assert!(has_turn(&mut third).await.is_none());
        assert!(has_turn(&mut other).await.is_some());
    }

    #[tokio::test]
    async fn who_does_not_wait_any_more_takes_no_turn() {
        let line = Line::new(1);
        let some = owner("s", "a");
        let turn = line.free_turn(&some).unwrap();
        let gone = waits(&line, &owner("s", "b")).await;
        let lost = waits(&line, &owner("s", "c")).await;
        let mut stays = waits(&line, &some).await;
        drop(gone);

        drop(turn);
        // A turn that was given and never taken goes on to the next.
        drop(lost);

        let turn = has_turn(&mut stays).await.unwrap();
        assert!(line.free_turn(&some).is_none());
        drop(turn);
        assert!(line.turn(some).now_or_never().unwrap().is_ok());
    }
}
