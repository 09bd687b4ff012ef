//! Pictures, and what a day of them costs.

use sqlx::FromRow;

use super::{
    Link, StoreError, Work,
    link::{Wire, on},
    now,
};
use crate::domain::{
    id::{ConversationId, MessageId, PersonaId, PictureId, UserId},
    list::Page,
    news::News,
    picture::{GIVEN_UP, Picture, PictureFacts, PictureSettings, PictureState, Wish},
    timestamp::Timestamp,
};

/// The name under which they are kept.
const SETTINGS: &str = "pictures";

const COLUMNS: &str = "picture_id, persona_id, conversation_id, message_id, state, wish, facts,
    problem, cost_micros, created_at, deleted_at";

#[derive(FromRow)]
struct Row {
    picture_id: String,
    persona_id: Option<String>,
    conversation_id: Option<String>,
    message_id: Option<String>,
    state: String,
    wish: String,
    facts: Option<String>,
    problem: Option<String>,
    cost_micros: Option<i64>,
    created_at: i64,
    deleted_at: Option<i64>,
}

impl TryFrom<Row> for Picture {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let id = PictureId::new(row.picture_id);
        let state = PictureState::from_word(&row.state).unwrap_or_default();
        Ok(Self {
            file: (state == PictureState::Done).then(|| Self::file_path(&id)),
            id,
            persona_id: row.persona_id.map(PersonaId::new),
            chat_id: row.conversation_id.map(ConversationId::new),
            message_id: row.message_id.map(MessageId::new),
            state,
            problem: row.problem,
            wish: StoreError::read_json(&row.wish)?,
            facts: row.facts.as_deref().map(StoreError::read_json).transpose()?,
            cost_micros: row.cost_micros,
            created_at: Timestamp(row.created_at),
            deleted_at: row.deleted_at.map(Timestamp),
        })
    }
}

/// Which pictures are listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct PictureFilter<'a> {
    /// Of this persona.
    pub persona: Option<&'a PersonaId>,
    /// Of this chat.
    pub chat: Option<&'a ConversationId>,
    /// Of this message.
    pub message: Option<&'a MessageId>,
    /// Those that were deleted instead of those that were not.
    pub deleted: bool,
}

/// A picture that is asked for.
#[derive(Clone, Debug)]
pub struct NewPicture<'a> {
    /// The identifier.
    pub id: &'a PictureId,
    /// Whom it shows.
    pub persona: Option<&'a PersonaId>,
    /// The message it belongs to, and its chat.
    pub moment: Option<(&'a ConversationId, &'a MessageId)>,
    /// For whom it is made.
    pub user: &'a UserId,
    /// What is asked for.
    pub wish: &'a Wish,
}

/// What a day of pictures took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaySpent {
    /// How many were asked for.
    pub made: i64,
    /// What they cost, in millionths of a dollar.
    pub micros: i64,
}

/// What a picture counts for in the budget of a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// When its service was asked; `None` when it counts for nothing.
    pub asked_at: Option<Timestamp>,
    /// What it cost, each time that it was drawn, in millionths of a dollar; `None` when nobody knows.
    pub cost_micros: Option<i64>,
}

impl Counted {
    /// The same when it is drawn now for this price.
    pub fn and(self, price: Option<i64>) -> Self {
        let cost_micros = match (self.cost_micros, price) {
            (Some(before), Some(price)) => Some(before + price),
            (before, price) => price.or(before),
        };
        Self { asked_at: Some(now()), cost_micros }
    }
}

impl Link {
    /// Keeps the wish for a picture, and has it made.
    pub async fn insert_picture(&mut self, new: NewPicture<'_>) -> Result<(), StoreError> {
        const SQL: &str = "insert into picture
            (space_id, picture_id, persona_id, conversation_id, message_id, user_id, state, wish,
                created_at, updated_at)
            values ($1, $2, $3, $4, $5, $6, 'queued', $7, $8, $8)";
        let (space, at) = (self.space.clone(), now());
        let (chat, message) = new.moment.unzip();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(new.id.as_str())
            .bind(new.persona.map(|id| id.as_str())).bind(chat.map(|id| id.as_str()))
            .bind(message.map(|id| id.as_str())).bind(new.user.as_str())
            .bind(serde_json::json!(new.wish).to_string()).bind(at.0)
            .execute(wire).await.map(drop)?);
        self.insert_job(&Work::DrawPicture(new.id.clone()), at).await?;
        self.tell(News::of_picture(new.id, chat));
        Ok(())
    }

    /// A picture, deleted or not.
    pub async fn picture(&mut self, id: &PictureId) -> Result<Picture, StoreError> {
        let sql = format!("select {COLUMNS} from picture where space_id = $1 and picture_id = $2");
        let space = self.space.clone();
        let row: Option<Row> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        row.ok_or(StoreError::NotFound("picture"))?.try_into()
    }

    /// Pictures, the newest first. Those of chats in the bin are not among them.
    pub async fn pictures(
        &mut self,
        filter: PictureFilter<'_>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<Picture>, StoreError> {
        let sql = format!(
            "select {COLUMNS} from picture p
            where space_id = $1 and ($2 = '' or picture_id < $2)
                and ($3 = '' or persona_id = $3) and ($4 = '' or conversation_id = $4)
                and ($5 = '' or message_id = $5) and (deleted_at is not null) = ($6 = 1)
                and not exists (select 1 from conversation c where c.space_id = p.space_id
                    and c.conversation_id = p.conversation_id and c.deleted_at is not null)
                and not exists (select 1 from persona o where o.space_id = p.space_id
                    and o.persona_id = p.persona_id and o.deleted_at is not null)
            order by picture_id desc limit $7"
        );
        // Identifiers of ours sort by the time they were made.
        let after = PictureId::new(after.unwrap_or_default());
        let space = self.space.clone();
        let rows: Vec<Row> = on!(self, wire => sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(space.as_str()).bind(after.as_str())
            .bind(filter.persona.map_or("", |id| id.as_str()))
            .bind(filter.chat.map_or("", |id| id.as_str()))
            .bind(filter.message.map_or("", |id| id.as_str()))
            .bind(i64::from(filter.deleted)).bind(i64::from(limit) + 1)
            .fetch_all(wire).await?);
        let page = Page::cut(rows, limit, |row| row.picture_id.clone());
        let items: Result<Vec<Picture>, StoreError> =
            page.items.into_iter().map(Picture::try_from).collect();
        Ok(Page { items: items?, next: page.next })
    }

    /// The pictures of these messages of a chat, in the order they were asked for.
    pub async fn pictures_of(
        &mut self,
        chat: &ConversationId,
        messages: &[&MessageId],
    ) -> Result<Vec<Picture>, StoreError> {
        let select = |wanted: &str| {
            format!(
                "select {COLUMNS} from picture where space_id = $1 and conversation_id = $2
                    and message_id {wanted} and deleted_at is null
                order by picture_id"
            )
        };
        let wanted: Vec<&str> = messages.iter().map(|id| id.as_str()).collect();
        let rows: Vec<Row> = self.rows_among(select, &[chat.as_str()], &wanted).await?;
        rows.into_iter().map(Picture::try_from).collect()
    }

    /// How many pictures a message has.
    pub async fn count_pictures(
        &mut self,
        chat: &ConversationId,
        message: &MessageId,
    ) -> Result<i64, StoreError> {
        const SQL: &str = "select count(*) from picture where space_id = $1
            and conversation_id = $2 and message_id = $3 and deleted_at is null";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(chat.as_str()).bind(message.as_str())
            .fetch_one(wire).await?))
    }

    /// What the Space sets about pictures.
    pub async fn picture_settings(&mut self) -> Result<PictureSettings, StoreError> {
        let kept = self.preference(SETTINGS).await?;
        Ok(kept.and_then(|kept| serde_json::from_str(&kept).ok()).unwrap_or_default())
    }

    /// Sets what the Space wants about pictures.
    pub async fn set_picture_settings(
        &mut self,
        settings: &PictureSettings,
    ) -> Result<(), StoreError> {
        self.set_preference(SETTINGS, &serde_json::json!(settings).to_string()).await
    }

    /// Holds the Space's budget until the end of the transaction. A file has one writer only.
    pub async fn lock_budget(&mut self) -> Result<(), StoreError> {
        const SQL: &str = "select 1 from space where space_id = $1 for no key update";
        let space = self.space.clone();
        if let Wire::Postgres(wire) = self.wire() {
            sqlx::query(SQL).bind(space.as_str()).execute(wire).await.map(drop)?;
        }
        Ok(())
    }

    /// What a picture counts for before it is drawn: what was drawn and could not be kept. One that is being
    /// drawn was left by a process that died, and counts for nothing.
    pub async fn counted(&mut self, id: &PictureId) -> Result<Counted, StoreError> {
        const SQL: &str = "select asked_at, cost_micros from picture
            where space_id = $1 and picture_id = $2 and state <> 'drawing'";
        let space = self.space.clone();
        let row: Option<(Option<i64>, Option<i64>)> = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(id.as_str()).fetch_optional(wire).await?);
        let (asked_at, cost_micros) = row.unwrap_or_default();
        Ok(Counted { asked_at: asked_at.map(Timestamp), cost_micros })
    }

    /// What the pictures took that were asked for since this moment. Of this one, only what was drawn and could
    /// not be kept counts.
    pub async fn spent_since(
        &mut self,
        since: Timestamp,
        beside: &PictureId,
    ) -> Result<DaySpent, StoreError> {
        const SQL: &str = "select count(*), cast(coalesce(sum(cost_micros), 0) as bigint)
            from picture where space_id = $1 and asked_at >= $2
                and (picture_id <> $3 or state <> 'drawing')";
        let space = self.space.clone();
        let (made, micros): (i64, i64) = on!(self, wire => sqlx::query_as(SQL)
            .bind(space.as_str()).bind(since.0).bind(beside.as_str()).fetch_one(wire).await?);
        Ok(DaySpent { made, micros })
    }

    /// Says that a picture is being made, and counts it.
    pub async fn begin_picture(
        &mut self,
        picture: &Picture,
        counted: Counted,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update picture set state = 'drawing', wish = $3, problem = null,
                asked_at = $4, cost_micros = $5, updated_at = $6
            where space_id = $1 and picture_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(picture.id.as_str())
            .bind(serde_json::json!(picture.wish).to_string())
            .bind(counted.asked_at.map(|at| at.0)).bind(counted.cost_micros).bind(now().0)
            .execute(wire).await.map(drop)?);
        self.tell(News::of_picture(&picture.id, picture.chat_id.as_ref()));
        Ok(())
    }

    /// Says that a picture is there.
    pub async fn finish_picture(
        &mut self,
        picture: &Picture,
        facts: &PictureFacts,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update picture set state = 'done', facts = $3, problem = null,
                updated_at = $4
            where space_id = $1 and picture_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(picture.id.as_str())
            .bind(serde_json::json!(facts).to_string()).bind(now().0)
            .execute(wire).await.map(drop)?);
        self.tell(News::of_picture(&picture.id, picture.chat_id.as_ref()));
        Ok(())
    }

    /// Says that a picture is not there, why, and what it counts for all the same; the words that were found
    /// for it are kept.
    pub async fn miss_picture(
        &mut self,
        picture: &Picture,
        state: PictureState,
        problem: Option<&str>,
        counted: Counted,
    ) -> Result<(), StoreError> {
        const SQL: &str = "update picture set state = $3, problem = $4, asked_at = $7,
                cost_micros = $8, updated_at = $5, wish = $6
            where space_id = $1 and picture_id = $2 and state <> 'done'";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(picture.id.as_str()).bind(state.word()).bind(problem)
            .bind(now().0).bind(serde_json::json!(picture.wish).to_string())
            .bind(counted.asked_at.map(|at| at.0)).bind(counted.cost_micros)
            .execute(wire).await.map(drop)?);
        self.tell(News::of_picture(&picture.id, picture.chat_id.as_ref()));
        Ok(())
    }

    /// Says of a picture that nobody is making any more, and of which nothing else was said, that it is not
    /// there. What it counts for stays.
    pub(super) async fn give_up_picture(&mut self, id: &PictureId) -> Result<(), StoreError> {
        const SQL: &str = "update picture set state = 'failed', problem = $3, updated_at = $4
            where space_id = $1 and picture_id = $2 and state in ('queued', 'drawing')
            returning conversation_id";
        let space = self.space.clone();
        let given_up: Option<Option<String>> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id.as_str()).bind(GIVEN_UP).bind(now().0)
            .fetch_optional(wire).await?);
        if let Some(chat) = given_up {
            self.tell(News::of_picture(id, chat.map(ConversationId::new).as_ref()));
        }
        Ok(())
    }

    /// Queues a picture again that could not be made. `false` when it did not fail.
    pub async fn requeue_picture(&mut self, picture: &Picture) -> Result<bool, StoreError> {
        const SQL: &str = "update picture set state = 'queued', problem = null, updated_at = $3
            where space_id = $1 and picture_id = $2 and state = 'failed' and deleted_at is null";
        let (space, at) = (self.space.clone(), now());
        let queued = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(picture.id.as_str()).bind(at.0)
            .execute(wire).await?.rows_affected());
        if queued > 0 {
            self.insert_job(&Work::DrawPicture(picture.id.clone()), at).await?;
            self.tell(News::of_picture(&picture.id, picture.chat_id.as_ref()));
        }
        Ok(queued > 0)
    }

    /// Marks a picture as deleted, or takes the mark away. `false` when nothing changed.
    pub async fn mark_picture(
        &mut self,
        picture: &Picture,
        deleted_at: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        const SQL: &str = "update picture set deleted_at = $3, updated_at = $4
            where space_id = $1 and picture_id = $2 and (deleted_at is null) = ($5 = 1)";
        let space = self.space.clone();
        let marked = on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(picture.id.as_str()).bind(deleted_at.map(|at| at.0))
            .bind(now().0).bind(i64::from(deleted_at.is_some()))
            .execute(wire).await?.rows_affected());
        self.tell(News::of_picture(&picture.id, picture.chat_id.as_ref()));
        Ok(marked > 0)
    }

    /// The persona whose face a picture is, if it is one's.
    pub async fn face_of(&mut self, picture: &PictureId) -> Result<Option<String>, StoreError> {
        const SQL: &str = "select v.name from persona p join persona_version v
                on v.space_id = p.space_id and v.persona_id = p.persona_id
                    and v.revision = p.revision
            where p.space_id = $1 and v.face = $2 and p.deleted_at is null limit 1";
        let space = self.space.clone();
        Ok(on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(picture.as_str()).fetch_optional(wire).await?))
    }

    /// Refuses a face that is no picture of this Space. One that a version has had may come back
    /// with that version, though the picture be gone.
    pub(super) async fn check_face(&mut self, face: &str) -> Result<(), StoreError> {
        const SQL: &str = "select 1 from picture
                where space_id = $1 and picture_id = $2 and state = 'done'
            union all
            select 1 from persona_version where space_id = $1 and face = $2 limit 1";
        if face.is_empty() {
            return Ok(());
        }
        let space = self.space.clone();
        let known: Option<i32> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(face).fetch_optional(wire).await?);
        known.map(drop).ok_or(StoreError::NotFound("picture"))
    }

    /// Removes a picture for good.
    pub async fn remove_picture(&mut self, id: &PictureId) -> Result<(), StoreError> {
        const SQL: &str = "delete from picture where space_id = $1 and picture_id = $2";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id.as_str()).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Takes the faces of personas that stay out of a persona or a chat that goes. One that showed who goes
    /// shows from then on whose face it is.
    pub(super) async fn keep_faces(&mut self, id: &str) -> Result<(), StoreError> {
        const SQL: &str = "with worn (picture_id, persona_id) as (
                select v.face, min(p.persona_id) from persona p join persona_version v
                    on v.space_id = p.space_id and v.persona_id = p.persona_id
                        and v.revision = p.revision
                where p.space_id = $1 and p.persona_id <> $2 and v.face <> ''
                group by v.face
            )
            update picture set conversation_id = null, message_id = null,
                persona_id = case when persona_id <> $2 then persona_id else (
                    select w.persona_id from worn w where w.picture_id = picture.picture_id) end
            where space_id = $1 and picture_id in (select picture_id from worn)
                and (persona_id = $2 or conversation_id = $2 or conversation_id in (
                    select conversation_id from conversation
                    where space_id = $1 and persona_id = $2))";
        let space = self.space.clone();
        on!(self, wire => sqlx::query(SQL)
            .bind(space.as_str()).bind(id).execute(wire).await.map(drop)?);
        Ok(())
    }

    /// Has the files removed of the pictures that go with a persona or a chat.
    pub(super) async fn drop_pictures_of(&mut self, id: &str) -> Result<(), StoreError> {
        const SQL: &str = "select picture_id from picture where space_id = $1
            and (persona_id = $2 or conversation_id = $2 or conversation_id in (
                select conversation_id from conversation where space_id = $1 and persona_id = $2))";
        let space = self.space.clone();
        let ids: Vec<String> = on!(self, wire => sqlx::query_scalar(SQL)
            .bind(space.as_str()).bind(id).fetch_all(wire).await?);
        for id in ids {
            let work = Work::RemovePicture(PictureId::new(id));
            self.insert_job(&work, now()).await?;
        }
        Ok(())
    }
}
