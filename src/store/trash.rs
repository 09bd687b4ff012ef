//! The bin: what was deleted, and can come back until the bin is emptied.

use sqlx::FromRow;

use super::{Link, StoreError, link::on};
use crate::domain::{
    audit::{Binned, BinnedKind},
    change::{Entity, EntityKind},
    id::{ConversationId, PersonaId},
    list::{Page, cursor, parse_cursor},
    terminal::titled,
    timestamp::Timestamp,
};

#[derive(FromRow)]
struct Row {
    kind: String,
    id: String,
    title: String,
    parent: Option<String>,
    deleted_at: i64,
    chats: i64,
    pictures: i64,
}

/// Sets or clears the mark that something lies in the bin.
const PERSONA_MARK: &str = "update persona set deleted_at = $3
    where space_id = $1 and persona_id = $2 and (deleted_at is null) = ($4 = 1)";
const TEST_INPUT_MARK: &str = "update test_input set deleted_at = $3
    where space_id = $1 and test_input_id = $2 and (deleted_at is null) = ($4 = 1)";
const ENTRY_MARK: &str = "update entry set deleted_at = $3
    where space_id = $1 and entry_id = $2 and (deleted_at is null) = ($4 = 1)";
const CHAT_MARK: &str = "update conversation set deleted_at = $3
    where space_id = $1 and conversation_id = $2 and kind = 'chat'
        and (deleted_at is null) = ($4 = 1)";
const PERSONA_PURGE: &str =
    "delete from persona where space_id = $1 and persona_id = $2 and deleted_at is not null";
const TEST_INPUT_PURGE: &str =
    "delete from test_input where space_id = $1 and test_input_id = $2 and deleted_at is not null";
const ENTRY_PURGE: &str =
    "delete from entry where space_id = $1 and entry_id = $2 and deleted_at is not null";
const CHAT_PURGE: &str = "delete from conversation
    where space_id = $1 and conversation_id = $2 and kind = 'chat' and deleted_at is not null";

impl Link {
    /// What lies in the bin, the last deleted first. Test inputs of a persona in the bin go with it, and its
    /// pictures but the faces of others.
    pub async fn bin(
        &mut self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<Binned>, StoreError> {
        const SQL: &str = "with binned (kind, id, title, parent, deleted_at) as (
                select 'persona' as kind, p.persona_id as id, v.name as title,
                    cast(null as text) as parent, p.deleted_at as deleted_at
                from persona p join persona_version v on v.space_id = p.space_id
                    and v.persona_id = p.persona_id and v.revision = p.revision
                where p.space_id = $1 and p.deleted_at is not null
                union all
                select 'test_input', t.test_input_id, substr(v.content, 1, 120), pv.name, t.deleted_at
                from test_input t join test_input_version v on v.space_id = t.space_id
                    and v.test_input_id = t.test_input_id and v.revision = t.revision
                join persona p on p.space_id = t.space_id and p.persona_id = t.persona_id
                join persona_version pv on pv.space_id = p.space_id
                    and pv.persona_id = p.persona_id and pv.revision = p.revision
                where t.space_id = $1 and t.deleted_at is not null and p.deleted_at is null
                union all
                select kind, entry_id, title, null, deleted_at from entry
                where space_id = $1 and deleted_at is not null
                union all
                select 'chat', c.conversation_id, c.title, v.name, c.deleted_at
                from conversation c
                join chat_member m on m.space_id = c.space_id
                    and m.conversation_id = c.conversation_id and m.position = 0
                join persona_version v on v.space_id = m.space_id
                    and v.persona_id = m.persona_id and v.revision = m.revision
                join persona p on p.space_id = m.space_id and p.persona_id = m.persona_id
                where c.space_id = $1 and c.deleted_at is not null and p.deleted_at is null
                union all
                select kind, conversation_id, title, null, deleted_at from conversation
                where space_id = $1 and kind = 'terminal' and deleted_at is not null
            ), shown as (
                select * from binned where deleted_at < $2 or (deleted_at = $2 and id > $3)
                order by deleted_at desc, id limit $4
            ), going (id, conversation_id) as (
                select s.id, c.conversation_id from shown s cross join conversation c
                where s.kind = 'persona' and c.space_id = $1 and c.persona_id = s.id
                    and c.kind = 'chat' and not exists (select 1 from chat_member o
                        where o.space_id = $1 and o.conversation_id = c.conversation_id
                            and o.position > 0)
                union all
                select s.id, s.id from shown s where s.kind = 'chat'
            ), worn (picture_id, persona_id) as (
                select v.face, p.persona_id from persona p join persona_version v
                    on v.space_id = p.space_id and v.persona_id = p.persona_id
                        and v.revision = p.revision
                where p.space_id = $1 and v.face <> ''
            )
            select s.kind, s.id, s.title, s.parent, s.deleted_at,
                (select count(*) from going g where g.id = s.id and s.kind = 'persona') as chats,
                (select count(*) from (
                    select p.picture_id from picture p where p.space_id = $1
                        and p.persona_id = s.id and s.kind = 'persona' and p.deleted_at is null
                    union
                    select p.picture_id from going g cross join picture p
                    where g.id = s.id and p.space_id = $1
                        and p.conversation_id = g.conversation_id
                        and p.deleted_at is null) as gone
                where not exists (select 1 from worn w where w.picture_id = gone.picture_id
                    and w.persona_id <> s.id)) as pictures
            from shown s order by s.deleted_at desc, s.id";
        let (at, id) = parse_cursor(after);
        let space = self.space.clone();
        let wanted = i64::from(limit) + 1;
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(at).bind(id).bind(wanted).fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| cursor(row.deleted_at, &row.id));
        let binned = |row: Row| {
            let kind = BinnedKind::from_word(&row.kind)?;
            let title = match kind.entity() {
                Some(_) => row.title,
                None => titled(&ConversationId::new(row.id.as_str()), &row.title),
            };
            Some(Binned {
                entity_type: kind,
                entity_id: row.id,
                title,
                of: row.parent,
                deleted_at: Timestamp(row.deleted_at),
                chats: row.chats,
                pictures: row.pictures,
            })
        };
        Ok(Page { items: page.items.into_iter().filter_map(binned).collect(), next: page.next })
    }

    /// How many chats and pictures go with the personas and chats in the bin when all of it is removed.
    pub async fn gone_with_bin(&mut self) -> Result<(i64, i64), StoreError> {
        const SQL: &str = "with speechless (conversation_id) as (
                select c.conversation_id from persona b cross join conversation c
                where b.space_id = $1 and b.deleted_at is not null
                    and c.space_id = $1 and c.persona_id = b.persona_id and c.kind = 'chat'
                    and not exists (select 1 from chat_member o cross join persona p
                        where o.space_id = $1 and o.conversation_id = c.conversation_id
                            and o.position > 0 and p.space_id = $1
                            and p.persona_id = o.persona_id and p.deleted_at is null)
            )
            select (select count(*) from speechless), (select count(*) from (
                select p.picture_id from persona b cross join picture p
                where b.space_id = $1 and b.deleted_at is not null
                    and p.space_id = $1 and p.persona_id = b.persona_id and p.deleted_at is null
                union
                select p.picture_id from (
                    select conversation_id from speechless
                    union
                    select conversation_id from conversation
                    where space_id = $1 and kind = 'chat' and deleted_at is not null) as c
                cross join picture p
                where p.space_id = $1 and p.conversation_id = c.conversation_id
                    and p.deleted_at is null) as gone
            where picture_id not in (select v.face from persona p join persona_version v
                    on v.space_id = p.space_id and v.persona_id = p.persona_id
                        and v.revision = p.revision
                where p.space_id = $1 and p.deleted_at is null))";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_as(SQL).bind(space.as_str()).fetch_one(wire).await?))
    }

    /// Moves something into the bin (`at` says when) or out of it. `false` when it was there already.
    /// Whether it is of that kind at all is for the caller to know.
    pub async fn mark_binned(
        &mut self,
        entity: &Entity,
        at: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        let sql = match entity.kind {
            EntityKind::Persona => PERSONA_MARK,
            EntityKind::TestInput => TEST_INPUT_MARK,
            EntityKind::Page | EntityKind::Ref | EntityKind::Task => ENTRY_MARK,
            EntityKind::Chat => CHAT_MARK,
        };
        let space = self.space.clone();
        let (stamp, wanted) = (at.map(|at| at.0), i64::from(at.is_some()));
        let changed = on!(self, wire => sqlx::query(sql)
            .bind(space.as_str()).bind(entity.id.as_str()).bind(stamp).bind(wanted)
            .execute(wire).await?.rows_affected());
        Ok(changed > 0)
    }

    /// Hands the chats in which a persona in the bin speaks first, and others speak too, to the next of them,
    /// so that they do not go with it. Says which ones.
    pub async fn hand_over_chats(
        &mut self,
        persona: &PersonaId,
    ) -> Result<Vec<ConversationId>, StoreError> {
        const CHATS: &str = "select c.conversation_id from conversation c
            join persona p on p.space_id = c.space_id and p.persona_id = c.persona_id
            where c.space_id = $1 and c.persona_id = $2 and c.kind = 'chat'
                and p.deleted_at is not null and exists (select 1 from chat_member m
                    where m.space_id = $1 and m.conversation_id = c.conversation_id
                        and m.position > 0)";
        const LEAVE: &str = "delete from chat_member
            where space_id = $1 and conversation_id = $2 and persona_id = $3";
        const FIRST: &str = "update chat_member set position = 0
            where space_id = $1 and conversation_id = $2 and position = (
                select min(m.position) from chat_member m
                where m.space_id = $1 and m.conversation_id = $2)";
        const OWNER: &str = "update conversation set persona_id = (
                select m.persona_id from chat_member m where m.space_id = $1
                    and m.conversation_id = $2 and m.position = 0)
            where space_id = $1 and conversation_id = $2";
        let space = self.space.clone();
        let chats: Vec<String> = on!(self, wire => sqlx::query_scalar(CHATS)
            .bind(space.as_str()).bind(persona.as_str()).fetch_all(wire).await?);
        for chat in &chats {
            on!(self, wire => sqlx::query(LEAVE)
                .bind(space.as_str()).bind(chat).bind(persona.as_str())
                .execute(wire).await.map(drop)?);
            for sql in [FIRST, OWNER] {
                on!(self, wire => sqlx::query(sql)
                    .bind(space.as_str()).bind(chat).execute(wire).await.map(drop)?);
            }
        }
        Ok(chats.into_iter().map(ConversationId::new).collect())
    }

    /// Removes something from the bin for good, with its versions and what was proposed about it.
    pub async fn purge(&mut self, entity: &Entity) -> Result<bool, StoreError> {
        const CHANGES: &str = "delete from pending_changes
            where space_id = $1 and entity_type = $2 and entity_id = $3";
        const CHANGES_OF_CHATS: &str = "delete from pending_changes
            where space_id = $1 and entity_type = 'chat' and entity_id in (
                select conversation_id from conversation
                where space_id = $1 and persona_id = $2 and kind = 'chat')";
        const CHANGES_OF_TEST_INPUTS: &str = "delete from pending_changes
            where space_id = $1 and entity_type = 'test_input' and entity_id in (
                select test_input_id from test_input where space_id = $1 and persona_id = $2)";
        let space = self.space.clone();
        if matches!(entity.kind, EntityKind::Persona | EntityKind::Chat) {
            self.keep_faces(&entity.id).await?;
            self.drop_pictures_of(&entity.id).await?;
        }
        let sql = match entity.kind {
            EntityKind::Persona => {
                on!(self, wire => sqlx::query(CHANGES_OF_TEST_INPUTS)
                    .bind(space.as_str()).bind(entity.id.as_str())
                    .execute(wire).await.map(drop)?);
                on!(self, wire => sqlx::query(CHANGES_OF_CHATS)
                    .bind(space.as_str()).bind(entity.id.as_str())
                    .execute(wire).await.map(drop)?);
                PERSONA_PURGE
            }
            EntityKind::TestInput => TEST_INPUT_PURGE,
            EntityKind::Page | EntityKind::Ref | EntityKind::Task => ENTRY_PURGE,
            EntityKind::Chat => CHAT_PURGE,
        };
        let gone = on!(self, wire => sqlx::query(sql)
            .bind(space.as_str()).bind(entity.id.as_str()).execute(wire).await?.rows_affected());
        on!(self, wire => sqlx::query(CHANGES)
            .bind(space.as_str()).bind(entity.kind.word()).bind(entity.id.as_str())
            .execute(wire).await.map(drop)?);
        Ok(gone > 0)
    }
}
