//! Running test inputs: the persona speaks, without tools, as it is at its present version.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    Agent,
    driver::{Brief, Prepared, System, Workspace},
    prompt,
    runs::{Order, said},
    tool::Registry,
};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{PersonaId, TestInputId},
        message::{Conversation, ConversationKind, Message},
        persona::{Persona, Tier},
        run::Run,
        test_input::TestInput,
    },
    store::{Link, StoreError, new_id, now},
};

/// How many test inputs of a persona run at the same time.
pub const AT_ONCE: usize = 3;

impl Agent {
    /// Runs one test input. It stops when `stopped` ends.
    pub async fn run_test_input(
        &self,
        scope: &Scope,
        id: &TestInputId,
        stopped: CancellationToken,
    ) -> Result<Run, ApiError> {
        let mut link = self.read(scope).await?;
        let input = link.test_input(id).await?;
        let persona = link.persona(&input.persona_id).await?;
        drop(link);
        let brief = self.speaking_brief(scope, persona).await?;
        let mut link = self.write(scope).await?;
        let order = test_order(&mut link, brief, input).await?;
        self.start(link, scope, Order { stopped, ..order }).await
    }

    /// Runs all test inputs of a persona, a few at a time, in their order. When there may not be so many,
    /// none is run.
    pub async fn run_all_test_inputs(
        &self,
        scope: &Scope,
        persona: &PersonaId,
    ) -> Result<Vec<Run>, ApiError> {
        let mut link = self.read(scope).await?;
        let persona = link.persona(persona).await?;
        let inputs = link.test_inputs(&persona.id).await?;
        drop(link);
        let line = self.line(scope, &persona.id);
        let brief = self.speaking_brief(scope, persona).await?;
        let mut link = self.write(scope).await?;
        let mut orders = Vec::with_capacity(inputs.len());
        for input in inputs {
            let order = test_order(&mut link, brief.clone(), input).await?;
            orders.push(Order { wait: Some(line.clone()), ..order });
        }
        self.start_all(link, scope, orders).await
    }

    /// Runs the same test input again, as it and the persona are now.
    pub(super) async fn retry_test(&self, scope: &Scope, run: &Run) -> Result<Run, ApiError> {
        let id = self.read(scope).await?.answered_by(&run.id).await?;
        self.run_test_input(scope, &id, CancellationToken::new()).await
    }

    /// Where the test runs of a persona stand in line.
    fn line(&self, scope: &Scope, persona: &PersonaId) -> Arc<Semaphore> {
        self.shared.lines.of(&scope.space, persona, || Semaphore::new(AT_ONCE))
    }

    /// What a persona speaks with: its prompt, and no tools.
    async fn speaking_brief(&self, scope: &Scope, persona: Persona) -> Result<Brief, ApiError> {
        let route = self.route(scope, &persona.fields.model).await?;
        let system = System::Told(prompt::speaking(&persona.fields).into());
        let (persona, tools) = (Arc::new(persona), Registry::default());
        Ok(Brief {
            persona,
            route,
            system,
            tools,
            tier: Tier::Read,
            context: None,
            chat: None,
            workspace: Workspace::None,
            window: None,
            prepared: Prepared::default(),
        })
    }
}

/// A run that answers a test input, in a conversation of its own.
async fn test_order(link: &mut Link, brief: Brief, input: TestInput) -> Result<Order, StoreError> {
    let at = now();
    let conversation = Conversation {
        id: new_id(),
        kind: ConversationKind::Test,
        persona_id: brief.persona.id.clone(),
        leaf: None,
        created_at: at,
    };
    link.insert_conversation(&conversation).await?;
    let mut last = None;
    for before in &input.fields.history {
        let message = Message { role: before.role, ..said(last, &before.content, at) };
        link.insert_message(&conversation.id, &message).await?;
        last = Some(message.id);
    }
    let message = said(last, &input.fields.content, at);
    link.insert_message(&conversation.id, &message).await?;
    link.set_leaf(&conversation.id, &message.id, at).await?;
    let answers = Some((input.id, input.revision));
    Ok(Order { answers, ..Order::now(conversation, message.id, brief) })
}
