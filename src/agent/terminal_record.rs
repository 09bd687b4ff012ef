//! A session as files: what was said, with what, and what it took.
//!
//! Nothing of it is kept twice: it is read from the messages, their runs, and what was set when.

mod speakers;

use serde_json::{Map, Value, json};
use speakers::Speakers;

use super::Agent;
use crate::{
    changes::Scope,
    domain::{
        chat::MAX_FILE_MESSAGES,
        error::ApiError,
        id::{CallId, ConversationId, MessageId},
        message::{Message, Part, PartBody, Role, ToolCall, ToolResult},
        news::News,
        rating::{NewRating, Rating},
        run::{RunStatus, Spent, Usage},
        terminal::{
            HistoryEntry, ManagerKind, Metadata, PromptSource, RecordedCall, RecordedResult,
            RecordedSource, SessionRecord, SettingsChange, SystemPrompt, TerminalChanges,
            TerminalSession, TerminalSettings, TokenCount, ToolUse, TurnRecord,
        },
        timestamp::Timestamp,
    },
    store::{Link, StoreError, new_id, now},
};

/// The longest model or error of a turn, in bytes.
const MAX_FACT: usize = 4000;
const SYSTEM: &str = "system";

impl Agent {
    /// A session with all that was said in it, deleted or not.
    pub async fn terminal_record(
        &self,
        scope: &Scope,
        id: &ConversationId,
    ) -> Result<SessionRecord, ApiError> {
        let mut link = self.read(scope).await?;
        let session = link.terminal(id).await?;
        let set = link.terminal_settings(id).await?;
        let messages = whole_branch(&mut link, session.leaf.as_ref()).await?;
        let ratings = link.ratings_in(id).await?;
        let mut speakers = Speakers::default();
        let turns = turns(&mut link, &messages, &set, &ratings, &mut speakers).await?;
        let present = session.settings.system_prompt.as_ref();
        let history = history(&messages, &set, present, &speakers);
        let speaking = speakers.speaking(&session, &messages, &set);
        Ok(SessionRecord { history, metadata: metadata(session, turns, speaking) })
    }

    /// Brings a session in. It keeps its identifier if nobody has it.
    pub async fn import_terminal(
        &self,
        scope: &Scope,
        record: SessionRecord,
    ) -> Result<TerminalSession, ApiError> {
        let SessionRecord { history, metadata } = record;
        check(&history, &metadata)?;
        let messages = messages(&history, &metadata.turns);
        let session = session(&metadata, messages.last());
        let mut link = self.write(scope).await?;
        let session = match link.insert_terminal(&session).await {
            Ok(()) => session,
            Err(StoreError::Taken(_)) => {
                let id = ConversationId::new(uuid::Uuid::new_v4().to_string());
                let other = TerminalSession { id, ..session };
                link.insert_terminal(&other).await?;
                other
            }
            Err(error) => return Err(error.into()),
        };
        for message in &messages {
            link.insert_message(&session.id, message).await?;
        }
        if let Some(leaf) = &session.leaf {
            link.set_leaf(&session.id, leaf, session.updated_at).await?;
        }
        let asked = messages.iter().filter(|message| message.role == Role::User);
        let speakers = speakers::in_history(&history);
        for ((asked, turn), prompt) in asked.zip(&metadata.turns).zip(speakers) {
            link.add_imported_turn(&asked.id, &facts(turn, prompt)).await?;
        }
        for (answer, given) in rated(&messages, &metadata.turns) {
            let rating = given.of(answer.clone(), scope.user.clone(), session.updated_at);
            link.put_rating(&rating).await?;
        }
        for SettingsChange { at, set } in settings(&history, &metadata) {
            link.add_terminal_setting(&session.id, &set, at).await?;
        }
        let session = link.terminal(&session.id).await?;
        link.tell(News::of_chat(&session.id));
        link.commit().await?;
        Ok(session)
    }
}

/// What is kept of a turn, and of the speaker's own prompt where it is another one: what the messages and
/// settings say is kept with them.
fn facts(turn: &TurnRecord, prompt: Option<&str>) -> TurnRecord {
    let others = [RunStatus::Stopped, RunStatus::Failed, RunStatus::Interrupted];
    let known = others.into_iter().find(|status| status.word() == turn.status);
    TurnRecord {
        status: known.unwrap_or(RunStatus::Done).word().into(),
        tools: Vec::new(),
        overrides: speakers::kept(prompt),
        rating: None,
        rating_note: String::new(),
        ..turn.clone()
    }
}

/// The answers that were rated, with what they were given.
fn rated<'read>(
    messages: &'read [Message],
    turns: &'read [TurnRecord],
) -> impl Iterator<Item = (&'read MessageId, NewRating)> {
    let asked = messages.iter().enumerate().filter(|(_, one)| one.role == Role::User);
    asked.zip(turns).filter_map(|((at, _), turn)| {
        let answer = messages.get(at + 1).filter(|next| next.role == Role::Assistant)?;
        let given = NewRating { rating: turn.rating?, note: turn.rating_note.clone() };
        given.check().is_ok().then_some((&answer.id, given))
    })
}

/// All messages from the beginning.
async fn whole_branch(link: &mut Link, leaf: Option<&MessageId>) -> Result<Vec<Message>, ApiError> {
    let (mut all, mut next) = (Vec::new(), leaf.cloned());
    while let Some(leaf) = next {
        let mut before = link.branch(&leaf).await?;
        next = before.first().and_then(|first| first.parent_id.clone());
        before.append(&mut all);
        all = before;
    }
    Ok(all)
}

/// What was said, with an entry for every prompt that was another one: the session's own, or without it
/// that of whoever spoke.
fn history(
    messages: &[Message],
    set: &[SettingsChange],
    present: Option<&SystemPrompt>,
    speakers: &Speakers,
) -> Vec<HistoryEntry> {
    let system = |content: &str, timestamp: Timestamp, source| HistoryEntry {
        role: SYSTEM.into(),
        content: content.to_owned(),
        timestamp,
        source,
        tool_calls: Vec::new(),
        tool_results: Vec::new(),
    };
    let told = |change: &SettingsChange| {
        Some(system(&change.set.system_prompt.as_ref()?.text, change.at, None))
    };
    let mut prompts = set.iter().filter_map(told).peekable();
    // Files of others may have a prompt without saying when it was set.
    let unset = present.filter(|_| prompts.peek().is_none());
    let mut last = unset.map(|prompt| prompt.text.clone()).unwrap_or_default();
    let mut is_own = !last.is_empty();
    let mut speakers = speakers.prompts();
    let mut history = Vec::with_capacity(messages.len());
    for message in messages {
        while let Some(prompt) = prompts.next_if(|prompt| prompt.timestamp <= message.created_at) {
            last = prompt.content.clone();
            is_own = !last.is_empty();
            history.push(prompt);
        }
        let speaker = match message.role {
            Role::User => speakers.next().flatten(),
            Role::Assistant => None,
        };
        if let Some(prompt) = speaker.filter(|prompt| !is_own && *prompt != last) {
            last = prompt.to_owned();
            history.push(system(prompt, message.created_at, Some(RecordedSource::Persona)));
        }
        history.push(entry(message));
    }
    history.extend(prompts);
    history
}

fn entry(message: &Message) -> HistoryEntry {
    let mut entry = HistoryEntry {
        role: message.role.word().into(),
        content: message.text(),
        timestamp: message.created_at,
        source: None,
        tool_calls: Vec::new(),
        tool_results: Vec::new(),
    };
    for part in &message.parts {
        match &part.body {
            PartBody::ToolCall(call) => entry.tool_calls.push(RecordedCall {
                id: call.call.to_string(),
                name: call.name.clone(),
                arguments: call.input.clone(),
            }),
            PartBody::ToolResult(result) => entry.tool_results.push(RecordedResult {
                id: result.call.to_string(),
                name: result.name.clone(),
                content: result.output.clone(),
                is_error: result.is_error,
            }),
            PartBody::Text(_) | PartBody::Reasoning(_) => {}
        }
    }
    entry
}

async fn turns(
    link: &mut Link,
    messages: &[Message],
    set: &[SettingsChange],
    ratings: &[Rating],
    speakers: &mut Speakers,
) -> Result<Vec<TurnRecord>, ApiError> {
    let mut turns = Vec::new();
    let mut set = set.iter().peekable();
    for (at, asked) in messages.iter().enumerate().filter(|(_, one)| one.role == Role::User) {
        let reply = messages.get(at + 1).filter(|next| next.role == Role::Assistant);
        let run = link.run_of(&asked.id).await?;
        let told = match &run {
            Some(_) => None,
            None => link.imported_turn(&asked.id).await?,
        };
        speakers.hear(link, run.as_ref(), told.as_ref()).await?;
        let spent = reply.map(|reply| reply.spent).or_else(|| run.as_ref().map(|run| run.spent));
        let spent = spent.or_else(|| told.as_ref().map(self::spent)).unwrap_or_default();
        let mut overrides = Map::new();
        while let Some(change) = set.next_if(|change| change.at <= asked.created_at) {
            overrides.extend(named(&change.set));
        }
        let model = reply.map(|reply| reply.model.clone()).filter(|model| !model.is_empty());
        let model = model.or_else(|| run.as_ref().map(|run| run.model.clone()));
        let model = model.or_else(|| told.as_ref().map(|turn| turn.model.clone()));
        // Without a run and a file there is what was said, and nothing that says how it ended.
        let (status, error) = match (run, told) {
            (Some(run), _) => (run.status.word().into(), run.error.map(|error| error.to_string())),
            (None, Some(turn)) => (turn.status, turn.error),
            (None, None) => (RunStatus::Done.word().into(), None),
        };
        let rated = ratings.iter().find(|one| reply.is_some_and(|it| it.id == one.message_id));
        turns.push(TurnRecord {
            turn: u32::try_from(turns.len() + 1).unwrap_or(u32::MAX),
            timestamp: asked.created_at,
            model: model.unwrap_or_default(),
            status,
            error,
            latency_ms: spent.duration_ms,
            first_token_ms: spent.first_token_ms,
            tokens: TokenCount { prompt: spent.usage.input, completion: spent.usage.output },
            cost_usd: spent.cost_micros.map(|micros| micros as f64 / 1_000_000.0),
            tools: reply.map(used).unwrap_or_default(),
            overrides,
            rating: rated.map(|one| one.rating),
            rating_note: rated.map(|one| one.note.clone()).unwrap_or_default(),
        });
    }
    Ok(turns)
}

/// The tools of an answer, each with what it gave.
fn used(reply: &Message) -> Vec<ToolUse> {
    let entry = entry(reply);
    let results = &entry.tool_results;
    let uses = entry.tool_calls.iter().map(|call| {
        let result = results.iter().find(|result| result.id == call.id);
        ToolUse {
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            result: result.map(|result| result.content.clone()),
            is_error: result.is_some_and(|result| result.is_error),
        }
    });
    uses.collect()
}

/// What was set, as files name it.
fn named(set: &TerminalChanges) -> Map<String, Value> {
    let prompt = set.system_prompt.as_ref();
    let all = [
        ("model", set.model.as_ref().map(|model| json!(model))),
        ("window_size", set.window_size.map(|size| json!(size))),
        ("should_truncate_results", set.should_truncate_results.map(|cut| json!(cut))),
        ("conversation_manager", set.conversation_manager.map(|manager| json!(manager))),
        ("system_prompt_text", prompt.map(|prompt| json!(prompt.text))),
        ("system_prompt_source", prompt.map(|prompt| json!(prompt.source))),
        (
            "system_prompt_file_path",
            prompt.and_then(|prompt| prompt.path.as_ref()).map(|path| json!(path)),
        ),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn metadata(
    session: TerminalSession,
    turns: Vec<TurnRecord>,
    speaking: Option<String>,
) -> Metadata {
    let TerminalSession { id, description, settings, created_at, updated_at, .. } = session;
    let (text, source, path) = match (settings.system_prompt, speaking) {
        (Some(prompt), _) => (Some(prompt.text), Some(prompt.source.into()), prompt.path),
        (None, Some(text)) => (Some(text), Some(RecordedSource::Persona), None),
        (None, None) => (None, None, None),
    };
    Metadata {
        session_id: id.into(),
        description,
        created_at,
        updated_at: Some(updated_at),
        model: settings.model,
        conversation_manager: settings.conversation_manager,
        window_size: settings.window_size,
        should_truncate_results: settings.should_truncate_results,
        system_prompt_text: text,
        system_prompt_source: source,
        system_prompt_file_path: path,
        turns,
    }
}

/// Refuses what is no session.
fn check(history: &[HistoryEntry], metadata: &Metadata) -> Result<(), ApiError> {
    if history.len() > MAX_FILE_MESSAGES {
        let rule = format!("A session that is brought in has at most {MAX_FILE_MESSAGES} entries.");
        return Err(ApiError::invalid("history", rule));
    }
    let known =
        |entry: &&HistoryEntry| ["user", "assistant", SYSTEM].contains(&entry.role.as_str());
    if let Some(odd) = history.iter().find(|entry| !known(entry)) {
        let rule = format!("“{}” is no role: it is user, assistant or system.", odd.role);
        return Err(ApiError::invalid("history", rule));
    }
    let texts = history.iter().map(|entry| &entry.content);
    let results = history.iter().flat_map(|entry| &entry.tool_results).map(|one| &one.content);
    if texts.chain(results).any(|text| text.contains('\0')) {
        return Err(ApiError::invalid("history", "The history contains a NUL character."));
    }
    let told = |turn: &TurnRecord| [Some(turn.model.clone()), turn.error.clone()];
    let told: Vec<String> = metadata.turns.iter().flat_map(told).flatten().collect();
    if told.iter().any(|text| text.contains('\0') || text.len() > MAX_FACT) {
        let rule = format!("Models and errors of turns have no NUL and at most {MAX_FACT} bytes.");
        return Err(ApiError::invalid("turns", rule));
    }
    let all = TerminalChanges {
        description: Some(metadata.description.clone()),
        model: Some(metadata.model.clone()),
        window_size: Some(metadata.window_size),
        system_prompt: prompt(metadata),
        ..TerminalChanges::default()
    };
    all.check()
}

/// The session's own prompt; a persona's stays the persona's.
fn prompt(metadata: &Metadata) -> Option<SystemPrompt> {
    let text = metadata.system_prompt_text.clone().filter(|text| !text.is_empty())?;
    let source = match metadata.system_prompt_source {
        Some(RecordedSource::Persona) => return None,
        Some(RecordedSource::File) => PromptSource::File,
        Some(RecordedSource::Inline) | None => PromptSource::Inline,
    };
    Some(SystemPrompt { text, source, path: metadata.system_prompt_file_path.clone() })
}

fn session(metadata: &Metadata, last: Option<&Message>) -> TerminalSession {
    let id = uuid::Uuid::parse_str(&metadata.session_id).unwrap_or_else(|_| uuid::Uuid::new_v4());
    TerminalSession {
        id: ConversationId::new(id.to_string()),
        description: metadata.description.trim().to_owned(),
        settings: TerminalSettings {
            model: metadata.model.clone(),
            window_size: metadata.window_size,
            should_truncate_results: metadata.should_truncate_results,
            conversation_manager: metadata.conversation_manager,
            system_prompt: prompt(metadata),
        },
        turns: 0,
        leaf: last.map(|last| last.id.clone()),
        created_at: metadata.created_at,
        updated_at: metadata.updated_at.unwrap_or_else(now),
        deleted_at: None,
    }
}

/// The messages of a history, one after another.
fn messages(history: &[HistoryEntry], turns: &[TurnRecord]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut asked = 0;
    for entry in history.iter().filter(|entry| entry.role != SYSTEM) {
        let role = Role::from_word(&entry.role);
        asked += usize::from(role == Role::User);
        let turn = turns.get(asked.wrapping_sub(1)).filter(|_| role == Role::Assistant);
        messages.push(Message {
            id: new_id(),
            parent_id: messages.last().map(|last| last.id.clone()),
            role,
            parts: parts(entry),
            run_id: None,
            model: turn.map(|turn| turn.model.clone()).unwrap_or_default(),
            stop: None,
            spent: turn.map(spent).unwrap_or_default(),
            created_at: entry.timestamp,
        });
    }
    messages
}

fn parts(entry: &HistoryEntry) -> Vec<Part> {
    let part = |body| Part { id: new_id(), at: entry.timestamp, body, carried: None };
    let calls = entry.tool_calls.iter().map(|call| {
        PartBody::ToolCall(ToolCall {
            call: CallId::new(call.id.clone()),
            name: call.name.clone(),
            input: call.arguments.clone(),
        })
    });
    let results = entry.tool_results.iter().map(|result| {
        PartBody::ToolResult(ToolResult {
            call: CallId::new(result.id.clone()),
            name: result.name.clone(),
            output: result.content.clone(),
            is_error: result.is_error,
            change_id: None,
            sources: Vec::new(),
        })
    });
    let words = Some(entry.content.clone()).filter(|words| !words.is_empty());
    calls.chain(results).chain(words.map(PartBody::Text)).map(part).collect()
}

fn spent(turn: &TurnRecord) -> Spent {
    let TokenCount { prompt: input, completion: output } = turn.tokens;
    let micros = turn.cost_usd.filter(|cost| (0.0..1e9).contains(cost));
    Spent {
        usage: Usage { input, output, ..Usage::default() },
        cost_micros: micros.map(|cost| (cost * 1_000_000.0).round() as u64),
        first_token_ms: turn.first_token_ms,
        duration_ms: turn.latency_ms,
        steps: 1,
    }
}

/// The prompt of an entry, with where it came from as far as the turns know.
fn prompt_of(entry: &HistoryEntry, metadata: &Metadata) -> SystemPrompt {
    let mut told = metadata.turns.iter().map(|turn| &turn.overrides);
    let told = told.find(|set| {
        set.get("system_prompt_text").and_then(Value::as_str) == Some(entry.content.as_str())
    });
    if let Some(known) =
        prompt(metadata).filter(|known| told.is_none() && known.text == entry.content)
    {
        return known;
    }
    let word = |name: &str| told?.get(name)?.as_str();
    SystemPrompt {
        text: entry.content.clone(),
        source: word("system_prompt_source").map_or(PromptSource::Inline, PromptSource::from_word),
        path: word("system_prompt_file_path").map(str::to_owned),
    }
}

/// What was set when, in order.
fn settings(history: &[HistoryEntry], metadata: &Metadata) -> Vec<SettingsChange> {
    let is_own = |entry: &&HistoryEntry| {
        entry.role == SYSTEM && entry.source != Some(RecordedSource::Persona)
    };
    let prompts = history.iter().filter(is_own).map(|entry| {
        let prompt = prompt_of(entry, metadata);
        let set = TerminalChanges { system_prompt: Some(prompt), ..TerminalChanges::default() };
        SettingsChange { at: entry.timestamp, set }
    });
    let others = metadata.turns.iter().filter_map(|turn| {
        let value = |name: &str| turn.overrides.get(name);
        let set = TerminalChanges {
            model: value("model").and_then(|model| model.as_str()).map(str::to_owned),
            window_size: value("window_size")
                .and_then(Value::as_u64)
                .and_then(|size| u32::try_from(size).ok()),
            should_truncate_results: value("should_truncate_results").and_then(Value::as_bool),
            conversation_manager: value("conversation_manager")
                .and_then(|manager| manager.as_str())
                .and_then(ManagerKind::from_word),
            ..TerminalChanges::default()
        };
        (!set.is_empty()).then_some(SettingsChange { at: turn.timestamp, set })
    });
    let mut all: Vec<SettingsChange> = prompts.chain(others).collect();
    all.sort_by_key(|change: &SettingsChange| -> Timestamp { change.at });
    all
}
