//! The data folder itself, opened in this process: no server is needed.

use std::path::PathBuf;

use futures_util::StreamExt;

use super::{Events, Kept, StageError};
use crate::{
    agent::{Agent, Limits, Node, Relay, TOOLS_FILE, Toolbox},
    changes::{Gate, Scope},
    cli::place::seal_key,
    config::{Database, DemoPace},
    domain::{
        actor::Actor,
        change::{ChangeState, Outcome},
        error::ApiError,
        id::{ChangeId, ConversationId, MessageId, RunId},
        list::MAX_PAGE_SIZE,
        model::Model,
        proposal::{Approval, Proposal},
        rating::{NewRating, Rating},
        run::Run,
        terminal::{
            NewTerminal, Said, SessionRecord, TerminalChanges, TerminalSession, TerminalTalk,
        },
    },
    sandbox::Sandbox,
    search::Search,
    server::{self, ServeError},
    state::{HOME_SPACE, LOCAL_OWNER},
    store::Store,
};

/// What is opened.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// The database.
    pub database: Database,
    /// The folder with what terminals are set up by, and with the operator's own tools.
    pub chat: PathBuf,
    /// How fast the scripted demo model speaks.
    pub demo_pace: DemoPace,
    /// What it plays.
    pub demo_script: Option<PathBuf>,
}

/// The data folder, opened in this process.
#[derive(Clone, Debug)]
pub struct Local {
    agent: Agent,
    gate: Gate,
    scope: Scope,
}

/// For whom a terminal talks, and in which Space.
fn home() -> Scope {
    Scope { space: HOME_SPACE.into(), user: LOCAL_OWNER.into() }
}

impl Local {
    /// Opens it, beside whoever uses it already.
    pub async fn open(embedded: &Embedded) -> Result<Self, StageError> {
        let store = server::open_store(&embedded.database).await?;
        if let Database::Postgres(_) = embedded.database {
            store.migrate().await.map_err(ServeError::from)?;
        }
        // Others tell our runs from theirs by this.
        let name = format!("terminal-{}", uuid::Uuid::now_v7().simple());
        store.enter(&name, None).map_err(ServeError::Company)?;
        // Keys that were pasted into the settings open here as they do for a server.
        let seal = seal_key(&embedded.chat);
        let script = embedded.demo_script.as_deref();
        let providers = server::providers(embedded.demo_pace, script, &seal)?;
        let search = Search::new(store.clone());
        let limits = Limits { pictures: false, ..Limits::default() };
        let node = Node { name, relay: Relay::default() };
        let agent = Agent::new(store.clone(), providers.clone(), search, limits, node);
        // Without a program of our own to start, tools say that there is no Python.
        let sandbox = std::env::current_exe().ok().map(|binary| Sandbox::new(&binary));
        if let Some(sandbox) = &sandbox {
            agent.use_sandbox(sandbox.clone());
        }
        let tools = embedded.chat.join(TOOLS_FILE);
        agent.use_toolbox(Toolbox::new(tools, sandbox, providers));
        let scope = home();
        Gate::found_space(&store, &scope, "Home").await?;
        agent.end_left().await?;
        tokio::spawn(agent.clone().keep_alive());
        Ok(Self::around(agent, scope))
    }

    /// The same to look into only: nothing is made or changed there. `None` when there is nothing that this
    /// program reads as it is.
    pub async fn look_into(embedded: &Embedded) -> Result<Option<Self>, StageError> {
        let store = match &embedded.database {
            Database::Sqlite(file) if !file.exists() => return Ok(None),
            Database::Sqlite(file) => Store::look_into_sqlite(file),
            Database::Postgres(url) => Store::open_postgres(url).map_err(ServeError::from)?,
        };
        let scope = home();
        let is_there = async || match store.use_as_it_is().await? {
            true => store.read(&scope.space).await?.is_there().await,
            false => Ok(false),
        };
        if !is_there().await.map_err(ServeError::from)? {
            return Ok(None);
        }
        let script = embedded.demo_script.as_deref();
        let providers = server::providers(embedded.demo_pace, script, &seal_key(&embedded.chat))?;
        let search = Search::new(store.clone());
        let agent = Agent::new(store, providers, search, Limits::default(), "looking".into());
        Ok(Some(Self::around(agent, scope)))
    }

    fn around(agent: Agent, scope: Scope) -> Self {
        let actor = Actor::Person { user: scope.user.clone() };
        let gate = Gate::new(agent.store().clone(), scope.space.clone(), actor);
        Self { agent, gate, scope }
    }

    /// Everything that thinks.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// For whom, and in which Space.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(super) async fn tool_problems(&self) -> Vec<String> {
        self.agent.tool_problems().await
    }

    pub(super) async fn close_tools(&self) {
        if let Some(toolbox) = self.agent.toolbox() {
            toolbox.close().await;
        }
    }

    pub(super) async fn sessions(&self, kept: Kept) -> Result<Vec<TerminalSession>, ApiError> {
        self.agent.all_terminals(&self.scope, kept).await
    }

    pub(super) async fn find(&self, text: &str) -> Result<TerminalSession, ApiError> {
        self.agent.find_terminal(&self.scope, text).await
    }

    pub(super) async fn create(&self, new: NewTerminal) -> Result<TerminalSession, ApiError> {
        self.agent.create_terminal(&self.scope, new).await
    }

    pub(super) async fn session(&self, id: &ConversationId) -> Result<TerminalSession, ApiError> {
        self.agent.terminal(&self.scope, id).await
    }

    pub(super) async fn change(
        &self,
        id: &ConversationId,
        changes: TerminalChanges,
    ) -> Result<TerminalSession, ApiError> {
        self.agent.change_terminal(&self.scope, id, changes).await
    }

    pub(super) async fn delete(&self, id: &ConversationId) -> Result<(), ApiError> {
        self.agent.delete_terminal(&self.scope, id).await
    }

    pub(super) async fn discard(&self, id: &ConversationId) -> Result<bool, ApiError> {
        self.agent.discard_terminal(&self.scope, id).await
    }

    pub(super) async fn restore(&self, id: &ConversationId) -> Result<TerminalSession, ApiError> {
        self.agent.restore_terminal(&self.scope, id).await
    }

    pub(super) async fn talk(
        &self,
        id: &ConversationId,
        most: u32,
    ) -> Result<TerminalTalk, ApiError> {
        self.agent.terminal_talk(&self.scope, id, None, most).await
    }

    pub(super) async fn earlier(
        &self,
        id: &ConversationId,
        until: &MessageId,
        most: u32,
    ) -> Result<TerminalTalk, ApiError> {
        self.agent.terminal_talk(&self.scope, id, Some(until), most).await
    }

    pub(super) async fn say(&self, id: &ConversationId, words: &str) -> Result<Said, ApiError> {
        self.agent.say_in_terminal(&self.scope, id, words).await
    }

    pub(super) async fn run(&self, id: &RunId) -> Result<Run, ApiError> {
        self.agent.run(&self.scope, id).await
    }

    pub(super) async fn watch(&self, run: &RunId, after: u64) -> Result<Events, ApiError> {
        let events = self.agent.watch(&self.scope, run, after).await?;
        Ok(events.map(|event| event.map(|one| one.as_ref().clone())).boxed())
    }

    pub(super) async fn stop(&self, run: &RunId) -> Result<Run, ApiError> {
        self.agent.stop(&self.scope, run).await
    }

    pub(super) async fn models(&self) -> Result<(Vec<Model>, String), ApiError> {
        let catalog = self.agent.catalog(&self.scope).await?;
        Ok((catalog.models().to_vec(), catalog.default_model().to_owned()))
    }

    pub(super) async fn drafts(&self, id: &ConversationId) -> Result<Vec<Proposal>, ApiError> {
        self.gate.proposals_in(id).await
    }

    pub(super) async fn waiting(&self) -> Result<Vec<Proposal>, ApiError> {
        let mut all = Vec::new();
        for state in [ChangeState::Pending, ChangeState::Conflict] {
            all.extend(self.gate.proposals(state, None, None, MAX_PAGE_SIZE).await?.items);
        }
        Ok(all)
    }

    pub(super) async fn draft(&self, id: &ChangeId) -> Result<Proposal, ApiError> {
        self.gate.proposal(id).await
    }

    pub(super) async fn accept(
        &self,
        id: &ChangeId,
        approval: Approval,
    ) -> Result<Outcome, ApiError> {
        self.gate.approve(id, &approval).await
    }

    pub(super) async fn reject(&self, id: &ChangeId, reason: &str) -> Result<Outcome, ApiError> {
        self.gate.reject(id, reason).await
    }

    pub(super) async fn undo(&self, id: &ChangeId) -> Result<Outcome, ApiError> {
        self.gate.undo(id).await
    }

    pub(super) async fn reopen(&self, id: &ChangeId) -> Result<Outcome, ApiError> {
        self.gate.reopen(id).await
    }

    pub(super) async fn record(&self, id: &ConversationId) -> Result<SessionRecord, ApiError> {
        self.agent.terminal_record(&self.scope, id).await
    }

    pub(super) async fn rate(
        &self,
        message: &MessageId,
        given: NewRating,
    ) -> Result<Rating, ApiError> {
        self.agent.rate(&self.scope, message, given).await
    }

    pub(super) async fn rating(&self, message: &MessageId) -> Result<Rating, ApiError> {
        self.agent.rating(&self.scope, message).await
    }

    pub(super) async fn unrate(&self, message: &MessageId) -> Result<(), ApiError> {
        self.agent.unrate(&self.scope, message).await
    }

    pub(super) async fn ratings(&self, id: &ConversationId) -> Result<Vec<Rating>, ApiError> {
        self.agent.ratings_in(&self.scope, id).await
    }

    pub(super) async fn import(&self, record: SessionRecord) -> Result<TerminalSession, ApiError> {
        self.agent.import_terminal(&self.scope, record).await
    }
}
