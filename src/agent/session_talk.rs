//! What is said in sessions of the playground: the branch in use, saying something, and having it answered
//! again.

use std::sync::Arc;

use super::{
    Agent, Words,
    chat_answers::first,
    chat_tree::{is_elsewhere, named, standing},
    driver::{Brief, Prepared, System, Workspace},
    editor::check_words,
    once::keep_client,
    playground::SessionDraft,
    runs::{Order, said},
    tool::Registry,
};
use crate::{
    changes::Scope,
    domain::{
        change::{Entity, EntityKind},
        error::ApiError,
        id::{ConversationId, MessageId},
        message::{Conversation, ConversationKind, Message, Part, PartBody, Role},
        persona::{Persona, PersonaFields, Tier},
        playground::{EXECUTE, PlaygroundSession, SessionSpent, Todo, WRITE_TODOS, filled},
        run::Run,
        tree::{MAX_PATH_SIZE, PathMessage, excerpt},
    },
    store::{FilePlace, Link, StoreError, now},
};

/// What a message in a session follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Follows {
    /// The end of the branch in use.
    #[default]
    Leaf,
    /// This message.
    After(MessageId),
    /// Nothing: another beginning.
    Nothing,
}

/// The branch of a session that is in use.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPath {
    /// The messages, the oldest first, the one that is being written included.
    pub items: Vec<PathMessage>,
    /// The message before them, when there are more.
    pub next: Option<MessageId>,
    /// The run that was last begun in the session, on whichever branch.
    pub run: Option<Run>,
    /// The runs that these messages asked for and that did not simply come to their end, the oldest first.
    pub troubled: Vec<Run>,
    /// From where the files are seen.
    pub place: FilePlace,
    /// What is to be done, as it was last written on the whole branch.
    pub todos: Vec<Todo>,
    /// What all answers of the session took on whichever branch, the one that is being given included.
    pub spent: SessionSpent,
    /// The newest beginning, when nothing is said on the branch in use: what was said before it was cleared.
    pub cleared: Option<MessageId>,
    /// What is tried on the branch instead of the version's own prompt.
    pub tried: Option<String>,
}

/// What is to be done, as it was last written in these parts; a list that was refused was not.
fn last_todos<'a>(parts: impl DoubleEndedIterator<Item = &'a Part>) -> Option<Vec<Todo>> {
    let mut refused = Vec::new();
    parts.rev().find_map(|part| match &part.body {
        PartBody::ToolResult(result) => {
            refused.extend(result.is_error.then_some(&result.call));
            None
        }
        PartBody::ToolCall(call) if call.name == WRITE_TODOS && !refused.contains(&&call.call) => {
            serde_json::from_value(call.input.get("todos")?.clone()).ok()
        }
        PartBody::ToolCall(_) | PartBody::Text(_) | PartBody::Reasoning(_) => None,
    })
}

impl Agent {
    /// The branch of a session that is in use, or what stands before a message of it.
    pub async fn session_path(
        &self,
        scope: &Scope,
        session: &PlaygroundSession,
        before: Option<&MessageId>,
    ) -> Result<SessionPath, ApiError> {
        let id = &session.id;
        let mut link = self.read(scope).await?;
        // The run is looked for first: if it ends before the branch is read, its answer is in there.
        let run = link.last_run(id).await?;
        let end = session_conversation(&mut link, id).await?.leaf;
        let mut place = FilePlace {
            session: id.clone(),
            leaf: end.clone().unwrap_or_default(),
            writing: MessageId::default(),
        };
        let leaf = match before {
            Some(before) => named(&mut link, id, before).await?.message.parent_id,
            None => end.clone(),
        };
        let (mut items, troubled) = match &leaf {
            Some(leaf) => (
                link.path(id, leaf, MAX_PATH_SIZE).await?,
                link.troubled_runs(id, leaf, MAX_PATH_SIZE).await?,
            ),
            None => (Vec::new(), Vec::new()),
        };
        let next = items.first().filter(|first| first.message.parent_id.is_some());
        let next = next.map(|first| first.message.id.clone());
        let going_on = run.as_ref().filter(|run| !run.status.is_over() && before.is_none());
        let mut at = end.clone();
        if let Some(run) = going_on.filter(|run| leaf.as_ref() == Some(&run.message_id)) {
            let parts = self.parts_so_far(&mut link, &run.id).await?;
            place.writing = run.reply_id.clone();
            items.push(being_written(run, run.reply(parts), session));
            at = Some(run.reply_id.clone());
        }
        let shown = items.iter().flat_map(|item| &item.message.parts);
        let shown = last_todos(shown).filter(|_| before.is_none());
        let todos = match (shown, &end) {
            (Some(todos), _) => todos,
            (None, Some(end)) if next.is_some() || before.is_some() => {
                let lists = link.parts_that_call(id, end, WRITE_TODOS).await?;
                lists.iter().find_map(|parts| last_todos(parts.iter())).unwrap_or_default()
            }
            (None, _) => Vec::new(),
        };
        // What another server gives counts once it has ended.
        let writing = run.as_ref().filter(|run| !run.status.is_over());
        let writing = writing.and_then(|run| self.live(&run.id)).map(|live| live.spent());
        let spent = link.spent_in(id).await?.plus(writing.unwrap_or_default());
        let tried = tried_at(&mut link, id, at.as_ref(), end.as_ref()).await?;
        let cleared = match &end {
            Some(_) => None,
            None => link.newest_root(id).await?,
        };
        Ok(SessionPath { items, next, run, troubled, place, todos, spent, cleared, tried })
    }

    /// From where the files of a session are seen now.
    pub async fn session_place(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<FilePlace, ApiError> {
        let mut link = self.read(scope).await?;
        let run = link.run_going_on(id).await?;
        let leaf = session_conversation(&mut link, id).await?.leaf.unwrap_or_default();
        let writing = run.filter(|run| run.message_id == leaf).map(|run| run.reply_id);
        Ok(FilePlace { session: id.clone(), leaf, writing: writing.unwrap_or_default() })
    }

    /// The message of a session that a client's history means, if there is one.
    pub async fn standing_in(
        &self,
        scope: &Scope,
        id: &ConversationId,
        message: &MessageId,
    ) -> Result<Option<MessageId>, ApiError> {
        let mut link = self.read(scope).await?;
        match standing(&mut link, id, message).await {
            Ok(known) => Ok(Some(known.message.id)),
            Err(error) if is_elsewhere(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says something in a session, which is kept with it. Another run that goes on there is in the way, and
    /// when it cannot be answered nothing is kept.
    pub async fn say_in_session(
        &self,
        scope: &Scope,
        draft: impl Into<SessionDraft>,
        words: impl Into<Words<'_>>,
        follows: Follows,
        model: Option<&str>,
    ) -> Result<Run, ApiError> {
        let (draft, words): (SessionDraft, Words<'_>) = (draft.into(), words.into());
        let id = draft.session.id.clone();
        let saying = async {
            Ok(vec![self.say_anew_in_session(scope, draft, words, follows, model).await?])
        };
        first(self.once(scope, &id, words.client, saying).await?)
    }

    async fn say_anew_in_session(
        &self,
        scope: &Scope,
        draft: SessionDraft,
        words: Words<'_>,
        follows: Follows,
        model: Option<&str>,
    ) -> Result<Run, ApiError> {
        check_words(words.text)?;
        let draft = draft.called(excerpt(words.text));
        let session = &draft.session;
        let follows = match follows {
            Follows::After(id) => {
                let mut link = self.read(scope).await?;
                // Whoever follows an answer that is being given can wait for it.
                let going_on = link.run_going_on(&session.id).await?;
                if let Some(run) = going_on.filter(|run| run.reply_id == id) {
                    return Err(ApiError::Busy { run_id: run.id });
                }
                let known = standing(&mut link, &session.id, &id).await?;
                Follows::After(known.message.id)
            }
            Follows::Leaf | Follows::Nothing => follows,
        };
        let before = match &follows {
            Follows::Leaf => session.leaf.clone(),
            Follows::After(id) => Some(id.clone()),
            Follows::Nothing => None,
        };
        let tried = match &before {
            Some(before) => self.read(scope).await?.tried_prompt(&session.id, before).await?,
            None => None,
        };
        let brief = self.session_brief(scope, session, model, tried).await?;
        self.refuse_early(scope, &session.id).await?;
        let id = session.id.clone();
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&id)).await?;
        draft.keep(&mut link).await?;
        let conversation = session_conversation(&mut link, &id).await?;
        let parent = match follows {
            Follows::Leaf => conversation.leaf.clone(),
            Follows::After(message) => Some(named(&mut link, &id, &message).await?.message.id),
            Follows::Nothing => None,
        };
        let message = said(parent, words.text, now());
        link.insert_message(&id, &message).await?;
        keep_client(&mut link, &id, words.client, &message.id).await?;
        self.start(link, scope, Order::answering(conversation, message, brief)).await
    }

    /// Has a message of a session answered once more, beside the answers that are there: the one that
    /// asks, or the one that asked for this answer. Another model may be tried for it.
    pub async fn answer_again(
        &self,
        scope: &Scope,
        draft: impl Into<SessionDraft>,
        message: &MessageId,
        model: Option<&str>,
    ) -> Result<Run, ApiError> {
        let draft: SessionDraft = draft.into();
        let id = &draft.session.id;
        let mut link = self.read(scope).await?;
        let known = standing(&mut link, id, message).await?.message.id;
        let tried = tried_at(&mut link, id, Some(message), Some(&known)).await?;
        drop(link);
        self.answer_with(scope, draft, &known, model, tried).await
    }

    /// Asks for the answer of a run in a session again, told what that one was told.
    pub(super) async fn retry_in_session(&self, scope: &Scope, run: &Run) -> Result<Run, ApiError> {
        let mut link = self.read(scope).await?;
        let session = link.session(&run.conversation_id).await?;
        let (reply, asked) = (Some(&run.reply_id), Some(&run.message_id));
        let tried = tried_at(&mut link, &session.id, reply, asked).await?;
        drop(link);
        // It is asked of whoever was asked then, whoever speaks now.
        let session = PlaygroundSession { persona_revision: run.persona_revision, ..session };
        self.answer_with(scope, session.into(), &run.message_id, Some(&run.model), tried).await
    }

    async fn answer_with(
        &self,
        scope: &Scope,
        draft: SessionDraft,
        message: &MessageId,
        model: Option<&str>,
        tried: Option<String>,
    ) -> Result<Run, ApiError> {
        let id = &draft.session.id;
        let brief = self.session_brief(scope, &draft.session, model, tried.clone()).await?;
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(id)).await?;
        draft.keep(&mut link).await?;
        let conversation = session_conversation(&mut link, id).await?;
        let known = named(&mut link, id, message).await?.message;
        let asked = match (known.role, known.parent_id) {
            (Role::User, _) => known.id,
            (Role::Assistant, Some(parent)) => parent,
            (Role::Assistant, None) => {
                let reason = "Nobody asked for that message, so there is nothing to answer again.";
                return Err(ApiError::NotNow { reason: reason.into() });
            }
        };
        let order = Order::now(conversation, asked, brief);
        keep_trying(&mut link, id, &order, tried).await?;
        self.start(link, scope, order).await
    }

    /// What the persona of a session works with, and what is tried there instead of its prompt.
    pub(super) async fn session_brief(
        &self,
        scope: &Scope,
        session: &PlaygroundSession,
        model: Option<&str>,
        tried: Option<String>,
    ) -> Result<Brief, ApiError> {
        let mut link = self.read(scope).await?;
        let mut persona: Persona = match link.persona(&session.persona_id).await {
            Err(StoreError::NotFound(_)) => {
                return Err(ApiError::InBin { what: EntityKind::Persona.noun().into() });
            }
            persona => persona?,
        };
        persona.fields = link.persona_at(&persona.id, session.persona_revision).await?;
        persona.revision = session.persona_revision;
        let wanted = model.unwrap_or(&session.model);
        let wanted = if wanted.is_empty() { &persona.fields.model } else { wanted };
        let route = self.catalog_on(&mut link, &scope.space).await?.find(wanted)?;
        drop(link);
        let prompt = tried.as_ref().or(session.system_prompt.as_ref());
        let prompt = prompt.unwrap_or(&persona.fields.system_prompt);
        let system = filled(prompt, &session.variables);
        let tools = self.tools_of(&persona.fields).await;
        if persona.fields.tools.iter().any(|tool| tool == EXECUTE) {
            self.warm_python();
        }
        Ok(Brief {
            persona: Arc::new(persona),
            route,
            system: System::Told(system.into()),
            tools,
            tier: Tier::Read,
            context: None,
            chat: None,
            workspace: Workspace::Files,
            window: None,
            prepared: Prepared::default(),
        })
    }

    /// What a persona may use: what its list names, of ours and of the operator's.
    async fn tools_of(&self, persona: &PersonaFields) -> Registry {
        let ours = &self.shared.playground_tools;
        let tools = ours.only(&persona.tools);
        if persona.tools.iter().all(|name| ours.has(name)) {
            return tools;
        }
        let others = self.operators_tools().await.only(&persona.tools).within(persona.tier);
        tools.beside(&others)
    }
}

/// A session outside the bin, as the conversation that it is.
pub(super) async fn session_conversation(
    link: &mut Link,
    id: &ConversationId,
) -> Result<Conversation, ApiError> {
    match link.conversation(id).await {
        Ok(conversation) if conversation.kind == ConversationKind::Playground => Ok(conversation),
        Ok(_) | Err(StoreError::NotFound(_)) => Err(ApiError::not_found("session")),
        Err(error) => Err(error.into()),
    }
}

/// What is tried with an answer that may not be kept, or else above it.
pub(super) async fn tried_at(
    link: &mut Link,
    session: &ConversationId,
    answer: Option<&MessageId>,
    above: Option<&MessageId>,
) -> Result<Option<String>, ApiError> {
    for message in [answer, above].into_iter().flatten() {
        if let Some(tried) = link.tried_prompt(session, message).await? {
            return Ok(Some(tried));
        }
    }
    Ok(None)
}

/// Keeps what is tried with the answer that is ordered, when nothing above it says so already.
pub(super) async fn keep_trying(
    link: &mut Link,
    session: &ConversationId,
    order: &Order,
    tried: Option<String>,
) -> Result<(), ApiError> {
    let Some(tried) = tried else { return Ok(()) };
    if link.tried_prompt(session, &order.message).await?.as_ref() != Some(&tried) {
        link.try_prompt(session, &order.reply, &tried).await?;
    }
    Ok(())
}

/// An answer that is being given, at the end of a branch.
fn being_written(run: &Run, message: Message, session: &PlaygroundSession) -> PathMessage {
    PathMessage {
        content: message.text(),
        message,
        persona_id: Some(run.persona_id.clone()),
        persona_revision: Some(run.persona_revision),
        persona_name: Some(session.persona_name.clone()),
        position: 1,
        siblings: 1,
        previous: None,
        following: None,
        hidden: 0,
        label: String::new(),
        bookmarked: false,
        generating: true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{
        message::{ToolCall, ToolResult},
        timestamp::Timestamp,
    };

    fn part(body: PartBody) -> Part {
        Part { id: "p".into(), at: Timestamp(0), body, carried: None }
    }

    fn list(id: &str, content: &str, is_error: bool) -> [Part; 2] {
        let todos = json!({"todos": [{"content": content, "status": "pending"}]});
        let name = WRITE_TODOS.to_owned();
        let call = ToolCall { call: id.into(), name: name.clone(), input: todos };
        let result = ToolResult {
            call: id.into(),
            name,
            output: String::new(),
            is_error,
            change_id: None,
            sources: Vec::new(),
        };
        [part(PartBody::ToolCall(call)), part(PartBody::ToolResult(result))]
    }

    #[test]
    fn the_last_list_that_was_taken_says_what_is_to_be_done() {
        let parts = [list("a", "Sweep", false), list("b", "Cook", false), list("c", "Fly", true)];
        let words = part(PartBody::Text("write_todos".into()));
        let all = || parts.iter().flatten().chain([&words]);

        let told = last_todos(all().collect::<Vec<_>>().into_iter()).unwrap();

        assert_eq!((told.len(), told[0].content.as_str()), (1, "Cook"));
        assert_eq!(last_todos([&words].into_iter()), None);
    }
}
