//! Sessions of the terminal: beginning, finding and setting them, and what is said in them.
//!
//! A session speaks with a model of the catalogue, which is nobody's persona, or as a version of a persona.

mod draft;

use std::sync::{Arc, Mutex};

use super::{
    Agent, Words,
    chat_answers::first,
    driver::{Brief, System, Workspace},
    editor::check_words,
    manager::{self, Fitted, Summary, Window},
    once::keep_client,
    prompt,
    runs::{Order, said},
    scribe::{MAX_NOTES, ModelScribe},
    window,
};
use crate::{
    changes::Scope,
    domain::{
        change::{Entity, EntityKind},
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId},
        list::{MAX_PAGE_SIZE, Page},
        message::{Conversation, ConversationKind, Message, PartBody},
        news::News,
        persona::{Persona, PersonaFields, Tier},
        playground::EXECUTE,
        terminal::{
            LeftOut, ManagerKind, Said, Speaker, TerminalChanges, TerminalSession,
            TerminalSettings, TerminalTalk, meant,
        },
        tokens::estimate,
    },
    providers::Route,
    store::{Kept, Link, StoreError, now},
};

/// What is kept free for what became of drafts, at most.
const NOTE_TOKENS: u64 = 4200;

/// What the speaker of a session works with, before anything is said.
struct Cast {
    persona: Persona,
    route: Route,
}

impl Agent {
    /// The sessions, the last written in first.
    pub async fn terminals(
        &self,
        scope: &Scope,
        kept: Kept,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<TerminalSession>, ApiError> {
        Ok(self.read(scope).await?.terminals(kept, after, limit).await?)
    }

    /// All sessions in use, or all that were deleted.
    pub async fn all_terminals(
        &self,
        scope: &Scope,
        kept: Kept,
    ) -> Result<Vec<TerminalSession>, ApiError> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.terminals(scope, kept, after.as_deref(), MAX_PAGE_SIZE).await?;
            all.extend(page.items);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// A session in use.
    pub async fn terminal(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<TerminalSession, ApiError> {
        in_use(&mut self.read(scope).await?, id).await
    }

    /// The session that somebody means: by its identifier, what it is called, or how its identifier begins.
    pub async fn find_terminal(
        &self,
        scope: &Scope,
        text: &str,
    ) -> Result<TerminalSession, ApiError> {
        let text = text.trim();
        let found = match text {
            "" => Vec::new(),
            text => self.read(scope).await?.terminals_named(text).await?,
        };
        meant(&found, text).cloned()
    }

    /// Sets what a session is called and speaks with. What is as it was before is no change.
    pub async fn change_terminal(
        &self,
        scope: &Scope,
        id: &ConversationId,
        changes: TerminalChanges,
    ) -> Result<TerminalSession, ApiError> {
        changes.check()?;
        let known = self.terminal(scope, id).await?;
        if let Some(model) = changes.model.as_ref().filter(|model| **model != known.settings.model)
        {
            self.check_speaker(scope, model).await?;
        }
        let at = now();
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(id)).await?;
        let mut session = in_use(&mut link, id).await?;
        let changes = changes.beside(&session);
        if changes.is_empty() {
            return Ok(session);
        }
        if let Some(description) = &changes.description {
            session.description = description.trim().to_owned();
        }
        let set = changes.clone().for_history(&session);
        changes.apply(&mut session.settings);
        session.updated_at = at;
        link.set_terminal(&session, at).await?;
        if !set.is_empty() {
            link.add_terminal_setting(id, &set, at).await?;
        }
        link.tell(News::of_chat(id));
        link.commit().await?;
        Ok(session)
    }

    /// Moves a session into the bin. A run in it is stopped.
    pub async fn delete_terminal(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<(), ApiError> {
        self.terminal(scope, id).await?;
        let going_on = self.read(scope).await?.run_going_on(id).await?;
        if let Some(run) = going_on {
            self.stop(scope, &run.id).await?;
        }
        let mut link = self.write(scope).await?;
        link.set_terminal_deleted(id, Some(now())).await?;
        link.tell(News::of_chat(id));
        Ok(link.commit().await?)
    }

    /// Removes a session in which nothing was said, and for which nothing was set since it was begun. `false`
    /// when there was something.
    pub async fn discard_terminal(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<bool, ApiError> {
        self.terminal(scope, id).await?;
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(id)).await?;
        let gone = link.discard_terminal(id).await?;
        if gone {
            link.tell(News::of_chat(id));
        }
        link.commit().await?;
        Ok(gone)
    }

    /// Takes a session out of the bin.
    pub async fn restore_terminal(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<TerminalSession, ApiError> {
        let mut link = self.write(scope).await?;
        link.terminal(id).await?;
        link.set_terminal_deleted(id, None).await?;
        let session = link.terminal(id).await?;
        link.tell(News::of_chat(id));
        link.commit().await?;
        Ok(session)
    }

    /// The last messages of a session.
    pub async fn terminal_talk(
        &self,
        scope: &Scope,
        id: &ConversationId,
        until: Option<&MessageId>,
        most: u32,
    ) -> Result<TerminalTalk, ApiError> {
        self.terminal(scope, id).await?;
        let talk = self.talk(scope, id, until, most).await?;
        Ok(TerminalTalk { messages: talk.messages, earlier: talk.earlier, run: talk.run })
    }

    /// Says something in a session. Another run that goes on there is in the way.
    pub async fn say_in_terminal(
        &self,
        scope: &Scope,
        id: &ConversationId,
        words: impl Into<Words<'_>>,
    ) -> Result<Said, ApiError> {
        let words: Words<'_> = words.into();
        let (mut left_out, mut missing_tools) = (LeftOut::default(), Vec::new());
        let saying = async {
            let said = self.say_anew_in_terminal(scope, id, words).await?;
            (left_out, missing_tools) = (said.left_out, said.missing_tools);
            Ok(vec![said.run])
        };
        let run = first(self.once(scope, id, words.client, saying).await?)?;
        Ok(Said { run, left_out, missing_tools })
    }

    async fn say_anew_in_terminal(
        &self,
        scope: &Scope,
        id: &ConversationId,
        words: Words<'_>,
    ) -> Result<Said, ApiError> {
        check_words(words.text)?;
        let session = self.terminal(scope, id).await?;
        let cast = self.cast(scope, &session.settings.model).await?;
        self.refuse_early(scope, id).await?;
        let mut link = self.read(scope).await?;
        if let Some(run) = link.run_going_on(id).await? {
            return Err(ApiError::Busy { run_id: run.id });
        }
        let message = said(session.leaf.clone(), words.text, now());
        let mut branch = match &session.leaf {
            Some(leaf) => link.branch(leaf).await?,
            None => Vec::new(),
        };
        let known = summary(&mut link, id).await?;
        drop(link);
        branch.push(message.clone());
        let named = cast.persona.fields.tools.clone();
        let (brief, left_out) = self.brief_for(scope, &session, cast, branch, known).await?;
        // One that is only for a higher tier is there.
        let offered = self.offered_tools();
        let is_there = |name: &String| {
            brief.tools.specs().iter().any(|spec| spec.name == *name)
                || offered.iter().any(|(offered, _)| offered == name)
        };
        let missing_tools = named.into_iter().filter(|name| !is_there(name)).collect();
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(id)).await?;
        let conversation = terminal_conversation(&mut link, id).await?;
        if conversation.leaf != session.leaf {
            let reason = "Something was said in this session in this very moment. Send it again.";
            return Err(ApiError::NotNow { reason: reason.into() });
        }
        link.insert_message(id, &message).await?;
        keep_client(&mut link, id, words.client, &message.id).await?;
        let run = self.start(link, scope, Order::answering(conversation, message, brief)).await?;
        Ok(Said { run, left_out, missing_tools })
    }

    /// What the speaker of a session works with, when its last message is asked again.
    pub(super) async fn terminal_brief(
        &self,
        scope: &Scope,
        conversation: &Conversation,
    ) -> Result<Brief, ApiError> {
        let session = self.terminal(scope, &conversation.id).await?;
        let cast = self.cast(scope, &session.settings.model).await?;
        let mut link = self.read(scope).await?;
        let branch = match &session.leaf {
            Some(leaf) => link.branch(leaf).await?,
            None => Vec::new(),
        };
        let known = summary(&mut link, &session.id).await?;
        drop(link);
        Ok(self.brief_for(scope, &session, cast, branch, known).await?.0)
    }

    /// What the speaker of a session that is not kept yet works with.
    pub(super) async fn new_terminal_brief(
        &self,
        scope: &Scope,
        session: &TerminalSession,
        branch: Vec<Message>,
    ) -> Result<Brief, ApiError> {
        let cast = self.cast(scope, &session.settings.model).await?;
        Ok(self.brief_for(scope, session, cast, branch, None).await?.0)
    }

    async fn brief_for(
        &self,
        scope: &Scope,
        session: &TerminalSession,
        cast: Cast,
        mut branch: Vec<Message>,
        known: Option<Summary>,
    ) -> Result<(Brief, LeftOut), ApiError> {
        let settings = &session.settings;
        let Cast { persona, route } = cast;
        let own = settings.system_prompt.as_ref().map(|prompt| prompt.text.as_str());
        let prompt = own.unwrap_or(&persona.fields.system_prompt).to_owned();
        let tools = self.shared.playground_tools.only(&persona.fields.tools);
        let tools = tools.beside(&self.operators_tools().await.within(persona.fields.tier));
        let scribe = ModelScribe {
            agent: self.clone(),
            scope: scope.clone(),
            persona: persona.id.clone(),
            route: route.clone(),
            took: Mutex::default(),
        };
        let told = if route.model.tools { tools.reading() } else { 0 };
        let notes = match settings.conversation_manager {
            ManagerKind::SlidingWindow => 0,
            ManagerKind::Summarizing => MAX_NOTES as u64 / 4,
        };
        let reserved = estimate(&prompt) as u64 + told + notes + self.answer_tokens(&route);
        let context = route.model.context;
        let room = window::room(context, reserved).saturating_sub(NOTE_TOKENS.min(context / 16));
        let read = as_read(&branch, settings, &route);
        let fitting = manager::manager(settings);
        let Fitted { from, summary } = fitting.fit(&read, room, known.clone(), &scribe).await;
        if let Some(summary) = summary.as_ref().filter(|summary| Some(*summary) != known.as_ref()) {
            let mut link = self.write(scope).await?;
            link.set_terminal_summary(&session.id, &summary.text, &summary.until).await?;
            link.commit().await?;
        }
        let sent = branch.split_off(from);
        let first = sent.first().map(|message| message.id.clone()).unwrap_or_default();
        let results_cut = match settings.should_truncate_results {
            true => manager::cut_results(&mut sent.clone()),
            false => 0,
        };
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let left_out = LeftOut {
            exchanges: count(manager::exchanges(&branch)),
            messages: count(branch.len()),
            results_cut,
            summarized: from > 0 && summary.is_some(),
        };
        let system = prompt::terminal(&prompt, summary.as_ref().map(|one| one.text.as_str()));
        if tools.specs().iter().any(|tool| tool.name == EXECUTE) {
            self.warm_python();
        }
        // What it proposes waits for a person.
        let tier = match persona.fields.tier {
            Tier::Read => Tier::Read,
            Tier::Suggest | Tier::Act => Tier::Suggest,
        };
        let window = Window { first, messages: count(sent.len()), cut_results: results_cut > 0 };
        let brief = Brief {
            persona: Arc::new(persona),
            route,
            system: System::Told(system.into()),
            tools,
            tier,
            context: None,
            chat: None,
            workspace: Workspace::Files,
            window: Some(Arc::new(window)),
            prepared: scribe.took(),
        };
        Ok((brief, left_out))
    }

    /// Refuses a model string that nobody can speak with, or that may be a slip of the pen. What a persona
    /// speaks with was chosen earlier.
    pub async fn check_speaker(&self, scope: &Scope, model: &str) -> Result<(), ApiError> {
        self.cast(scope, model).await?;
        match Speaker::parse(model)? {
            Speaker::Model(model) => self.catalog(scope).await?.choose(&model).map(drop),
            Speaker::Persona(..) => Ok(()),
        }
    }

    /// Whom a model string means, and the way there. What nobody can speak with is refused.
    async fn cast(&self, scope: &Scope, model: &str) -> Result<Cast, ApiError> {
        let mut link = self.read(scope).await?;
        let persona = match Speaker::parse(model)? {
            Speaker::Model(model) => nobody(model),
            Speaker::Persona(id, label) => labelled(&mut link, &id, label.as_deref()).await?,
        };
        let route = self.catalog_on(&mut link, &scope.space).await?.find(&persona.fields.model)?;
        Ok(Cast { persona, route })
    }

    /// What whoever speaks in a session is called.
    pub(super) async fn terminal_voice(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<String, ApiError> {
        let mut link = self.read(scope).await?;
        let model = link.terminal(id).await?.settings.model;
        match Speaker::parse(&model) {
            Ok(Speaker::Persona(persona, _)) => match link.persona_head(&persona).await {
                Ok(head) => Ok(head.fields.name),
                Err(StoreError::NotFound(_)) => Ok(model),
                Err(error) => Err(error.into()),
            },
            Ok(Speaker::Model(_)) | Err(_) => Ok(model),
        }
    }
}

/// A branch as a model reads it: it may know no tools, or only the beginnings of what they gave.
fn as_read(branch: &[Message], settings: &TerminalSettings, route: &Route) -> Vec<Message> {
    let mut read = branch.to_vec();
    if !route.model.tools {
        for message in &mut read {
            message.parts.retain(|part| matches!(part.body, PartBody::Text(_)));
        }
    }
    if settings.should_truncate_results {
        manager::cut_results(&mut read);
    }
    read
}

/// A model that speaks as itself: its runs are no persona's.
fn nobody(model: String) -> Persona {
    let at = now();
    Persona {
        id: PersonaId::default(),
        revision: 0,
        // Whoever sits at the terminal chose its tools themselves.
        fields: PersonaFields {
            name: model.clone(),
            model,
            tier: Tier::Act,
            ..PersonaFields::default()
        },
        test_input_ids: Vec::new(),
        agent_chat_session_id: None,
        created_at: at,
        updated_at: at,
    }
}

/// A persona at its present version, or at the one that a label points at.
async fn labelled(
    link: &mut Link,
    id: &PersonaId,
    label: Option<&str>,
) -> Result<Persona, ApiError> {
    let mut persona = match link.persona(id).await {
        Ok(persona) => persona,
        Err(StoreError::NotFound(_)) => {
            return Err(match link.persona_head(id).await {
                Ok(_) => ApiError::InBin { what: EntityKind::Persona.noun().into() },
                Err(_) => ApiError::invalid("model", format!("There is no persona “{id}”.")),
            });
        }
        Err(error) => return Err(error.into()),
    };
    let Some(label) = label else { return Ok(persona) };
    let known = link.labels(id).await?;
    let Some((_, revision)) = known.iter().find(|(name, _)| name == label) else {
        let rule = format!("No version of the persona “{id}” is labelled “{label}”.");
        return Err(ApiError::invalid("model", rule));
    };
    persona.fields = link.persona_at(id, *revision).await?;
    persona.revision = *revision;
    Ok(persona)
}

async fn summary(link: &mut Link, id: &ConversationId) -> Result<Option<Summary>, ApiError> {
    let known = link.terminal_summary(id).await?;
    Ok(known.map(|(text, until)| Summary { text, until }))
}

/// A session outside the bin.
async fn in_use(link: &mut Link, id: &ConversationId) -> Result<TerminalSession, ApiError> {
    let session = link.terminal(id).await?;
    match session.deleted_at {
        None => Ok(session),
        Some(_) => Err(ApiError::InBin { what: "session".into() }),
    }
}

/// A session outside the bin, as the conversation that it is.
async fn terminal_conversation(
    link: &mut Link,
    id: &ConversationId,
) -> Result<Conversation, ApiError> {
    match link.conversation(id).await {
        Ok(conversation) if conversation.kind == ConversationKind::Terminal => Ok(conversation),
        Ok(_) | Err(StoreError::NotFound(_)) => Err(ApiError::not_found("session")),
        Err(error) => Err(error.into()),
    }
}
