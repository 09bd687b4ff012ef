//! Who said what: the persona of the run that wrote a message, or the one that a file names.

use std::collections::HashMap;

use super::{Link, StoreError, Voice, link::on};
use crate::domain::id::{ConversationId, MessageId, PersonaId};

impl Link {
    /// Notes who said a message that no run wrote.
    pub async fn set_speaker(
        &mut self,
        message: &MessageId,
        persona: &PersonaId,
    ) -> Result<(), StoreError> {
        const SQL: &str =
            "update message set persona_id = $3 where space_id = $1 and message_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(message.as_str()).bind(persona.as_str())
            .execute(wire).await.map(drop)?);
        Ok(())
    }

    /// The persona that said a message, if it is known and still there.
    pub async fn speaker(&mut self, message: &MessageId) -> Result<Option<PersonaId>, StoreError> {
        const SQL: &str = "select p.persona_id from message m
            left join run r on r.space_id = m.space_id and r.run_id = m.run_id
            join persona p on p.space_id = m.space_id
                and p.persona_id = coalesce(r.persona_id, m.persona_id)
            where m.space_id = $1 and m.message_id = $2";
        let space = self.space.clone();
        let persona: Option<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(message.as_str()).fetch_optional(wire).await?);
        Ok(persona.map(PersonaId::new))
    }

    /// Who said these messages of a chat. A person's words, and what came from a file that names nobody, are
    /// nobody's.
    pub async fn voices_among(
        &mut self,
        chat: &ConversationId,
        messages: &[&MessageId],
    ) -> Result<Vec<Voice>, StoreError> {
        let select = |wanted: &str| {
            format!(
                "select m.message_id, coalesce(r.persona_id, m.persona_id), v.name from message m
                left join run r on r.space_id = $1 and r.run_id = m.run_id
                left join persona o on o.space_id = $1 and o.persona_id = m.persona_id
                left join persona_version v on v.space_id = $1
                    and v.persona_id = coalesce(r.persona_id, o.persona_id)
                    and v.revision = coalesce(r.persona_revision, o.revision)
                where m.space_id = $1 and m.conversation_id = $2 and m.message_id {wanted}
                    and coalesce(r.persona_id, m.persona_id) is not null"
            )
        };
        let wanted: Vec<&str> = messages.iter().map(|id| id.as_str()).collect();
        let rows: Vec<(String, String, Option<String>)> =
            self.rows_among(select, &[chat.as_str()], &wanted).await?;
        Ok(rows.into_iter().map(Voice::from).collect())
    }

    /// Who said the messages of a chat that were written after one, at most so many of them. A person's
    /// words are nobody's.
    pub async fn speakers_after(
        &mut self,
        chat: &ConversationId,
        after: Option<&MessageId>,
        limit: u32,
    ) -> Result<HashMap<MessageId, PersonaId>, StoreError> {
        const SQL: &str = "select m.message_id, coalesce(r.persona_id, m.persona_id) from message m
            left join run r on r.space_id = m.space_id and r.run_id = m.run_id
            where m.space_id = $1 and m.conversation_id = $2 and m.message_id > $3
            order by m.message_id limit $4";
        let space = self.space.clone();
        let rows: Vec<(String, Option<String>)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(chat.as_str())
            .bind(after.map_or("", |after| after.as_str())).bind(i64::from(limit))
            .fetch_all(wire).await?);
        let known = |(message, persona): (String, Option<String>)| {
            Some((MessageId::new(message), PersonaId::new(persona?)))
        };
        Ok(rows.into_iter().filter_map(known).collect())
    }
}
