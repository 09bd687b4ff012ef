//! What is asked of a whole branch of a session: what is to be done, what went wrong on it, and what is
//! tried there.

use super::{
    Link, StoreError,
    branch::upwards,
    link::on,
    run::{COLUMNS, RunRow},
    tree::MAX_STEPS,
};
use crate::domain::{
    id::{CallId, ConversationId, MessageId},
    message::Part,
    run::Run,
};

/// How many messages are looked at that may have the last list.
const LISTS: i64 = 8;

impl Link {
    /// What was said in the messages on the way up from one that call this tool, the nearest first; only
    /// the nearest few.
    pub async fn parts_that_call(
        &mut self,
        session: &ConversationId,
        leaf: &MessageId,
        tool: &str,
    ) -> Result<Vec<Vec<Part>>, StoreError> {
        const SQL: &str = upwards!(
            "select m.parts from path p
            cross join message m
            where m.space_id = $1 and m.message_id = p.message_id and m.parts like $5
            order by p.depth limit $6"
        );
        let space = self.space.clone();
        // Within words a quote is escaped, so that only a whole value is found.
        let named = format!("%\"{tool}\"%");
        let found: Vec<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(session.as_str()).bind(leaf.as_str()).bind(MAX_STEPS)
            .bind(named).bind(LISTS).fetch_all(wire).await?);
        found.iter().map(|parts| StoreError::read_json(parts)).collect()
    }

    /// The message on the way up from one in which a call was made, and what it follows.
    pub async fn message_that_called(
        &mut self,
        session: &ConversationId,
        leaf: &MessageId,
        call: &CallId,
    ) -> Result<Option<(MessageId, Option<MessageId>)>, StoreError> {
        const SQL: &str = upwards!(
            "select m.message_id, m.parent_id from path p
            cross join message m
            where m.space_id = $1 and m.message_id = p.message_id and m.parts like $5
            order by p.depth limit 1"
        );
        let space = self.space.clone();
        let named = format!("%\"{call}\"%");
        let found: Option<(String, Option<String>)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(session.as_str()).bind(leaf.as_str()).bind(MAX_STEPS)
            .bind(named).fetch_optional(wire).await?);
        Ok(found.map(|(id, parent)| (MessageId::new(id), parent.map(MessageId::new))))
    }

    /// The runs that the last messages up to this one asked for, at most so many, and that did not simply
    /// come to their end; the oldest first.
    pub async fn troubled_runs(
        &mut self,
        session: &ConversationId,
        leaf: &MessageId,
        limit: u32,
    ) -> Result<Vec<Run>, StoreError> {
        let columns = COLUMNS.split(',').map(|column| format!("r.{}", column.trim()));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let sql = [
            upwards!("select "),
            &columns,
            " from path p
            cross join run r
            where r.space_id = $1 and r.message_id = p.message_id
                and (r.status in ('failed', 'interrupted', 'stopped') or r.error is not null)
            order by r.run_id",
        ];
        let space = self.space.clone();
        let rows: Vec<RunRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql.concat()))
            .bind(space.as_str()).bind(session.as_str()).bind(leaf.as_str())
            .bind(i64::from(limit)).fetch_all(wire).await?);
        rows.into_iter().map(Run::try_from).collect()
    }

    /// What is tried at a message instead of the prompt of the version that speaks: with it, or with one
    /// above it.
    pub async fn tried_prompt(
        &mut self,
        session: &ConversationId,
        message: &MessageId,
    ) -> Result<Option<String>, StoreError> {
        const SQL: &str = upwards!(
            "select t.system_prompt from playground_prompt t
            left join path p on p.message_id = t.message_id
            where t.space_id = $1 and t.conversation_id = $2
                and (t.message_id = $3 or p.message_id is not null)
            order by coalesce(p.depth, 0) limit 1"
        );
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(session.as_str()).bind(message.as_str()).bind(MAX_STEPS)
            .fetch_optional(wire).await?))
    }

    /// Keeps what is tried from an answer on.
    pub async fn try_prompt(
        &mut self,
        session: &ConversationId,
        answer: &MessageId,
        prompt: &str,
    ) -> Result<(), StoreError> {
        const SQL: &str = "insert into playground_prompt
            (space_id, conversation_id, message_id, system_prompt) values ($1, $2, $3, $4)";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(session.as_str()).bind(answer.as_str()).bind(prompt)
            .execute(wire).await.map(drop)?);
        Ok(())
    }
}
