//! Sessions of the terminal.

use sqlx::FromRow;

use super::{Kept, Link, StoreError, link::on, run::to_json};
use crate::domain::{
    id::{ConversationId, MessageId},
    list::{Page, cursor, parse_cursor},
    message::ConversationKind,
    terminal::{
        ManagerKind, NAMED_SESSIONS, PromptSource, SettingsChange, SystemPrompt, TerminalChanges,
        TerminalSession, TerminalSettings, TurnRecord,
    },
    timestamp::Timestamp,
};

/// The most sessions that are looked at when a text means several: one more than are named.
const CANDIDATES: usize = NAMED_SESSIONS + 1;

#[derive(FromRow)]
struct Row {
    conversation_id: String,
    title: String,
    model: String,
    window_size: i64,
    truncate_results: i64,
    manager: String,
    prompt: Option<String>,
    prompt_source: Option<String>,
    prompt_path: Option<String>,
    turns: i64,
    leaf_id: Option<String>,
    created_at: i64,
    updated_at: i64,
    deleted_at: Option<i64>,
}

impl From<Row> for TerminalSession {
    fn from(row: Row) -> Self {
        let source = PromptSource::from_word(&row.prompt_source.unwrap_or_default());
        let path = row.prompt_path;
        Self {
            id: ConversationId::new(row.conversation_id),
            description: row.title,
            settings: TerminalSettings {
                model: row.model,
                window_size: u32::try_from(row.window_size).unwrap_or_default(),
                should_truncate_results: row.truncate_results != 0,
                conversation_manager: ManagerKind::from_word(&row.manager).unwrap_or_default(),
                system_prompt: row.prompt.map(|text| SystemPrompt { text, source, path }),
            },
            turns: u32::try_from(row.turns).unwrap_or(u32::MAX),
            leaf: row.leaf_id.map(MessageId::new),
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
            deleted_at: row.deleted_at.map(Timestamp),
        }
    }
}

/// All columns of a session.
macro_rules! select_sessions {
    ($rest:literal) => {
        concat!(
            "select c.conversation_id, c.title, s.model, s.window_size, s.truncate_results, s.manager,
                s.prompt, s.prompt_source, s.prompt_path,
                (select count(*) from message m where m.space_id = c.space_id
                    and m.conversation_id = c.conversation_id and m.role = 'user') as turns,
                c.leaf_id, c.created_at, c.updated_at, c.deleted_at
            from conversation c
            join terminal_session s on s.space_id = c.space_id
                and s.conversation_id = c.conversation_id ",
            $rest
        )
    };
}

impl Link {
    /// Begins a session. One with that identifier may be there already.
    pub async fn insert_terminal(&mut self, session: &TerminalSession) -> Result<(), StoreError> {
        const CONVERSATION: &str = "insert into conversation
            (space_id, conversation_id, kind, title, created_at, updated_at)
            values ($1, $2, $3, $4, $5, $6) on conflict do nothing";
        const SESSION: &str = "insert into terminal_session
            (space_id, conversation_id, model, window_size, truncate_results, manager, prompt,
                prompt_source, prompt_path)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let space = self.space.clone();
        let made = on!(self, wire => sqlx::query(CONVERSATION)
            .bind(space.as_str()).bind(session.id.as_str()).bind(ConversationKind::Terminal.word())
            .bind(&session.description).bind(session.created_at.0).bind(session.updated_at.0)
            .execute(wire).await?.rows_affected());
        if made == 0 {
            return Err(StoreError::Taken("session"));
        }
        let settings = &session.settings;
        let prompt = settings.system_prompt.as_ref();
        on!(self, wire => sqlx::query(SESSION)
            .bind(space.as_str()).bind(session.id.as_str()).bind(&settings.model)
            .bind(i64::from(settings.window_size)).bind(i64::from(settings.should_truncate_results))
            .bind(settings.conversation_manager.word())
            .bind(prompt.map(|prompt| prompt.text.as_str()))
            .bind(prompt.map(|prompt| prompt.source.word()))
            .bind(prompt.and_then(|prompt| prompt.path.as_deref()))
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// A session, deleted or not.
    pub async fn terminal(&mut self, id: &ConversationId) -> Result<TerminalSession, StoreError> {
        const SQL: &str = select_sessions!("where c.space_id = $1 and c.conversation_id = $2");
        let space = self.space.clone();
        let row: Option<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.map(TerminalSession::from).ok_or(StoreError::NotFound("session"))
    }

    /// The sessions, the last written in first.
    pub async fn terminals(
        &mut self,
        kept: Kept,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<TerminalSession>, StoreError> {
        const SQL: &str = select_sessions!(
            "where c.space_id = $1 and c.kind = 'terminal' and (c.deleted_at is not null) = $2
                and (c.updated_at < $3 or (c.updated_at = $3 and c.conversation_id < $4))
            order by c.updated_at desc, c.conversation_id desc limit $5"
        );
        let (at, id) = parse_cursor(after);
        let space = self.space.clone();
        let wanted = i64::from(limit) + 1;
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(kept == Kept::Deleted).bind(at).bind(id).bind(wanted)
            .fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| cursor(row.updated_at, &row.conversation_id));
        Ok(page.map(TerminalSession::from))
    }

    /// The sessions in use that are called so, or whose identifiers begin so; those first that are meant by a
    /// whole name.
    pub async fn terminals_named(
        &mut self,
        text: &str,
    ) -> Result<Vec<TerminalSession>, StoreError> {
        const NAMES: &str = "select conversation_id, title from conversation
            where space_id = $1 and kind = 'terminal' and deleted_at is null
            order by updated_at desc, conversation_id desc";
        let space = self.space.clone();
        let names: Vec<(String, String)> = on!(self, wire => sqlx::query_as(NAMES)
            .bind(space.as_str()).fetch_all(wire).await?);
        // The databases do not agree which letters are the same whether they are large or small.
        let text = text.to_lowercase();
        let is_whole = |(id, title): &(String, String)| *id == text || title.to_lowercase() == text;
        let begins = |name: &(String, String)| !is_whole(name) && name.0.starts_with(&text);
        let whole = names.iter().filter(|name| is_whole(name));
        let meant = whole.chain(names.iter().filter(|name| begins(name))).take(CANDIDATES);
        let mut sessions = Vec::new();
        for (id, _) in meant {
            sessions.push(self.terminal(&ConversationId::new(id.clone())).await?);
        }
        Ok(sessions)
    }

    /// Writes what is set for a session.
    pub async fn set_terminal(
        &mut self,
        session: &TerminalSession,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const CONVERSATION: &str = "update conversation set title = $3, updated_at = $4
            where space_id = $1 and conversation_id = $2";
        const SESSION: &str = "update terminal_session set model = $3, window_size = $4,
                truncate_results = $5, manager = $6, prompt = $7, prompt_source = $8,
                prompt_path = $9
            where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(CONVERSATION)
            .bind(space.as_str()).bind(session.id.as_str()).bind(&session.description).bind(at.0)
            .execute(wire).await.map(drop)?);
        let settings = &session.settings;
        let prompt = settings.system_prompt.as_ref();
        on!(self, wire => sqlx::query(SESSION)
            .bind(space.as_str()).bind(session.id.as_str()).bind(&settings.model)
            .bind(i64::from(settings.window_size)).bind(i64::from(settings.should_truncate_results))
            .bind(settings.conversation_manager.word())
            .bind(prompt.map(|prompt| prompt.text.as_str()))
            .bind(prompt.map(|prompt| prompt.source.word()))
            .bind(prompt.and_then(|prompt| prompt.path.as_deref()))
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Deletes a session, or brings it back.
    pub async fn set_terminal_deleted(
        &mut self,
        id: &ConversationId,
        deleted_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update conversation set deleted_at = $3
            where space_id = $1 and conversation_id = $2 and kind = 'terminal'";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(deleted_at.map(|at| at.0))
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Removes a session in which nothing was said, and for which nothing was set since it was begun. `false`
    /// when there was something.
    pub async fn discard_terminal(&mut self, id: &ConversationId) -> Result<bool, StoreError> {
        const SQL: &str = "delete from conversation where space_id = $1 and conversation_id = $2
            and kind = 'terminal' and title = '' and deleted_at is null
            and not exists (select 1 from message m
                where m.space_id = $1 and m.conversation_id = $2)
            and not exists (select 1 from terminal_setting s
                where s.space_id = $1 and s.conversation_id = $2
                    and s.at > conversation.created_at)";
        let space = self.space.clone();
        let gone = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).execute(wire).await?.rows_affected());
        Ok(gone > 0)
    }

    /// Removes a deleted session for good, with all that was said in it. `false` when it is in use.
    pub async fn purge_terminal(&mut self, id: &ConversationId) -> Result<bool, StoreError> {
        const SQL: &str = "delete from conversation where space_id = $1 and conversation_id = $2
            and kind = 'terminal' and deleted_at is not null";
        let space = self.space.clone();
        let gone = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).execute(wire).await?.rows_affected());
        Ok(gone > 0)
    }

    /// Notes what was set for a session.
    pub async fn add_terminal_setting(
        &mut self,
        id: &ConversationId,
        set: &TerminalChanges,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into terminal_setting
            (space_id, conversation_id, place, changes, at)
            values ($1, $2, (select coalesce(max(place), 0) + 1 from terminal_setting
                where space_id = $1 and conversation_id = $2), $3, $4)";
        let (space, set) = (self.space.clone(), to_json(set)?);
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(set).bind(at.0)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// What was set for a session, the first first.
    pub async fn terminal_settings(
        &mut self,
        id: &ConversationId,
    ) -> Result<Vec<SettingsChange>, StoreError> {
        const SQL: &str = "select changes, at from terminal_setting
            where space_id = $1 and conversation_id = $2 order by place";
        let space = self.space.clone();
        let rows: Vec<(String, i64)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_all(wire).await?);
        let read = |(set, at): (String, i64)| {
            Ok(SettingsChange { at: Timestamp(at), set: StoreError::read_json(&set)? })
        };
        rows.into_iter().map(read).collect()
    }

    /// Keeps what a file said of the turn that a message began.
    pub async fn add_imported_turn(
        &mut self,
        message: &MessageId,
        facts: &TurnRecord,
    ) -> Result<(), StoreError> {
        const SQL: &str =
            "insert into imported_turn (space_id, message_id, facts) values ($1, $2, $3)";
        let (space, facts) = (self.space.clone(), to_json(facts)?);
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(message.as_str()).bind(facts)
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// What a file said of the turn that a message began.
    pub async fn imported_turn(
        &mut self,
        message: &MessageId,
    ) -> Result<Option<TurnRecord>, StoreError> {
        const SQL: &str = "select facts from imported_turn where space_id = $1 and message_id = $2";
        let space = self.space.clone();
        let row: Option<(String,)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(message.as_str()).fetch_optional(wire).await?);
        row.map(|(facts,)| StoreError::read_json(&facts)).transpose()
    }

    /// What stands for the oldest exchanges of a session, and the last message that is in it.
    pub async fn terminal_summary(
        &mut self,
        id: &ConversationId,
    ) -> Result<Option<(String, MessageId)>, StoreError> {
        const SQL: &str = "select summary, summary_until from terminal_session
            where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        let row: Option<(Option<String>, Option<String>)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        Ok(row.and_then(|(summary, until)| Some((summary?, MessageId::new(until?)))))
    }

    /// Keeps what stands for the oldest exchanges of a session.
    pub async fn set_terminal_summary(
        &mut self,
        id: &ConversationId,
        summary: &str,
        until: &MessageId,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update terminal_session set summary = $3, summary_until = $4
            where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(summary).bind(until.as_str())
            .execute(wire).await.map(drop)?);
        Ok(())
    }
}
