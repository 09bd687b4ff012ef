//! Where a tool works: in one Space, for one persona's agent, in one run.

use std::sync::atomic::{AtomicI64, Ordering};

use tokio_util::sync::CancellationToken;

use super::{Agent, tool::ToolError};
use crate::{
    changes::{Gate, Scope},
    domain::{
        actor::Actor,
        change::{Change, ChangeState, EntityKind, Outcome},
        id::{PersonaId, RunId},
        persona::{Persona, Tier},
        version::Revision,
    },
    store::Link,
};

/// What a tool can reach.
#[derive(Debug)]
pub struct ToolDesk {
    /// The room itself, for tools that start runs.
    pub agent: Agent,
    /// In which Space, and for whom.
    pub scope: Scope,
    /// The persona that is worked on.
    pub persona: PersonaId,
    /// Ends when a person stops the run.
    pub stopped: CancellationToken,
    gate: Gate,
    /// The version that the model last saw: what it writes is meant for that one.
    seen: AtomicI64,
}

impl ToolDesk {
    /// A desk for the agent of this persona, which may go as far as this tier.
    pub fn new(
        agent: Agent,
        scope: Scope,
        persona: PersonaId,
        run: RunId,
        tier: Tier,
        stopped: CancellationToken,
    ) -> Self {
        let actor = Actor::Persona {
            persona: persona.clone(),
            user: scope.user.clone(),
            run: Some(run),
            tier,
        };
        let gate = Gate::new(agent.store().clone(), scope.space.clone(), actor);
        Self { agent, scope, persona, stopped, gate, seen: AtomicI64::new(0) }
    }

    /// A link that reads.
    pub async fn read(&self) -> Result<Link, ToolError> {
        Ok(self.agent.store().read(&self.scope.space).await?)
    }

    /// The persona as it is now.
    pub async fn persona(&self) -> Result<Persona, ToolError> {
        Ok(self.read().await?.persona(&self.persona).await?)
    }

    /// Notes which version the model was shown.
    pub fn show(&self, revision: Revision) {
        self.seen.store(revision, Ordering::Relaxed);
    }

    /// The version that a change of the persona is meant for.
    pub fn base(&self, persona: &Persona) -> Revision {
        match self.seen.load(Ordering::Relaxed) {
            0 => persona.revision,
            seen => seen,
        }
    }

    /// Brings a change to the gate.
    pub async fn submit(&self, change: Change) -> Result<Outcome, ToolError> {
        let kind = change.entity.kind;
        let outcome = self.gate.submit(change).await?;
        // The model knows what it wrote itself.
        if outcome.state == ChangeState::Applied && kind == EntityKind::Persona {
            self.show(outcome.revision);
        }
        Ok(outcome)
    }
}
