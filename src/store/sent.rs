//! What senders call their messages, so that one that was sent twice is said once.

use super::{
    Link, StoreError,
    link::on,
    run::{COLUMNS, RunRow},
};
use crate::domain::{
    id::{ConversationId, MessageId},
    run::Run,
};

impl Link {
    /// Remembers what the sender calls a message. `false` when another one is called so.
    pub async fn keep_sent(
        &mut self,
        conversation: &ConversationId,
        client: &str,
        message: &MessageId,
    ) -> Result<bool, StoreError> {
        const SQL: &str =
            "insert into sent_message (space_id, conversation_id, client_id, message_id)
            values ($1, $2, $3, $4) on conflict do nothing";
        let space = self.space.clone();
        let kept = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(conversation.as_str()).bind(client).bind(message.as_str())
            .execute(wire).await?.rows_affected());
        Ok(kept > 0)
    }

    /// The run that was begun first for what a sender calls so.
    pub async fn run_of_sent(
        &mut self,
        conversation: &ConversationId,
        client: &str,
    ) -> Result<Option<Run>, StoreError> {
        let sql = format!(
            "select {COLUMNS} from run where space_id = $1 and message_id = (
                    select message_id from sent_message
                        where space_id = $1 and conversation_id = $2 and client_id = $3)
                order by attempt limit 1"
        );
        let space = self.space.clone();
        let row: Option<RunRow> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(conversation.as_str()).bind(client)
            .fetch_optional(wire).await?);
        row.map(Run::try_from).transpose()
    }
}
