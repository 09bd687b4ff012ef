//! Running test inputs: the persona speaks, without tools, as it is at its present version.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{
    Agent,
    driver::Brief,
    prompt,
    runs::{Order, said},
    tool::Registry,
};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{PersonaId, TestInputId},
        message::{Conversation, ConversationKind},
        persona::Persona,
        run::Run,
        test_input::TestInput,
    },
    providers::Route,
    store::{new_id, now},
};

/// How many test inputs of a persona run at the same time.
pub const AT_ONCE: usize = 3;

impl Agent {
    /// Runs one test input.
    pub async fn run_test_input(&self, scope: &Scope, id: &TestInputId) -> Result<Run, ApiError> {
        let mut link = self.read(scope).await?;
        let input = link.test_input(id).await?;
        let persona = link.persona(&input.persona_id).await?;
        drop(link);
        let route = self.route(scope, &persona.fields.model).await?;
        self.start_test(scope, persona, route, input, None).await
    }

    /// Runs all test inputs of a persona, a few at a time, in their order.
    pub async fn run_all_test_inputs(
        &self,
        scope: &Scope,
        persona: &PersonaId,
    ) -> Result<Vec<Run>, ApiError> {
        let mut link = self.read(scope).await?;
        let persona = link.persona(persona).await?;
        let inputs = link.test_inputs(&persona.id).await?;
        drop(link);
        let route = self.route(scope, &persona.fields.model).await?;
        let line = Arc::new(Semaphore::new(AT_ONCE));
        let mut runs = Vec::with_capacity(inputs.len());
        for input in inputs {
            let (persona, route, line) = (persona.clone(), route.clone(), line.clone());
            runs.push(self.start_test(scope, persona, route, input, Some(line)).await?);
        }
        Ok(runs)
    }

    /// Runs the same test input again, as it and the persona are now.
    pub(super) async fn retry_test(&self, scope: &Scope, run: &Run) -> Result<Run, ApiError> {
        let id = self.read(scope).await?.answered_by(&run.id).await?;
        self.run_test_input(scope, &id).await
    }

    async fn start_test(
        &self,
        scope: &Scope,
        persona: Persona,
        route: Route,
        input: TestInput,
        wait: Option<Arc<Semaphore>>,
    ) -> Result<Run, ApiError> {
        let at = now();
        let conversation = Conversation {
            id: new_id(),
            kind: ConversationKind::Test,
            persona_id: persona.id.clone(),
            leaf: None,
            created_at: at,
        };
        let message = said(None, &input.fields.content, at);
        let mut link = self.write(scope).await?;
        link.insert_conversation(&conversation).await?;
        link.insert_message(&conversation.id, &message).await?;
        let system = prompt::speaking(&persona.fields);
        let brief = Brief { persona, route, system, tools: Registry::default() };
        let answers = Some((input.id, input.revision));
        let order = Order { conversation, message: message.id, brief, answers, wait };
        self.start(link, scope, order).await
    }
}
