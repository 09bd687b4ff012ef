//! What is said in a session while an answer is being given, and waits for it.

use std::sync::Arc;

use tokio::sync::{Mutex, Semaphore};

use super::{Agent, editor::check_words, runs::was_in_the_way, session_talk::Follows};
use crate::{
    changes::Scope,
    domain::{error::ApiError, line::MAX_WAITING, playground::PlaygroundSession, run::Run},
};

/// Where a session keeps what waits for an answer.
pub(super) struct WaitingRoom {
    places: Arc<Semaphore>,
    /// Whose turn it is: all at once would hold every connection to the database, and none would get on.
    turn: Mutex<()>,
}

impl WaitingRoom {
    fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_WAITING)), turn: Mutex::default() }
    }
}

impl Agent {
    /// Says something in a session once the answer that is being given is there, and what waited before it was
    /// said. It is said also when whoever says it is gone by then, as long as this server goes on.
    pub async fn say_next_in_session(
        &self,
        scope: &Scope,
        session: &PlaygroundSession,
        words: String,
        follows: Follows,
    ) -> Result<Run, ApiError> {
        check_words(&words)?;
        let (agent, scope, session) = (self.clone(), scope.clone(), session.clone());
        let room = self.shared.waiting.of(&scope.space, &session.id, WaitingRoom::new);
        let place = room.places.clone().try_acquire_owned().map_err(|_| {
            let reason = format!("{MAX_WAITING} messages wait already. Let one be answered first.");
            ApiError::NotNow { reason }
        })?;
        let saying = tokio::spawn(async move {
            let (_place, _turn) = (place, room.turn.lock().await);
            let said = agent.say_after(&scope, &session, &words, follows).await;
            if let Err(error) = &said {
                tracing::warn!(%error, session = %session.id, "what waited for an answer was not said");
            }
            said
        });
        saying.await.unwrap_or_else(|broke| {
            let incident = uuid::Uuid::now_v7().simple().to_string();
            tracing::error!(incident, %broke, "what waited for an answer was not said");
            Err(ApiError::Internal { incident })
        })
    }

    async fn say_after(
        &self,
        scope: &Scope,
        session: &PlaygroundSession,
        words: &str,
        follows: Follows,
    ) -> Result<Run, ApiError> {
        let (persona, id) = (&session.persona_id, &session.id);
        loop {
            let going_on = self.read(scope).await?.run_going_on(id).await?;
            if let Some(run) = going_on {
                self.ended(scope, &run.id).await?;
            }
            let session = self.session(scope, persona, id).await?;
            match self.say_in_session(scope, session, words, follows.clone(), None).await {
                // Somebody else was faster.
                Err(error) if was_in_the_way(&error) => {}
                said => return said,
            }
        }
    }
}
