//! A link to the database: opened for one Space, and good for that Space only.

use sqlx::{
    AssertSqlSafe, Connection, FromRow, PgConnection, Postgres, Sqlite, SqliteConnection,
    SqlitePool, Transaction, pool::PoolConnection, postgres::PgRow, sqlite::SqliteRow,
};

use super::{Pool, Store, StoreError, news::Newsroom};
use crate::domain::{
    change::{Entity, EntityKind},
    id::SpaceId,
    news::News,
};

/// One connection, or one transaction, for one Space. Dropped without [`commit`](Link::commit), it
/// leaves nothing behind.
pub struct Link {
    pub(super) space: SpaceId,
    /// What is told once it is kept.
    pub(super) news: Vec<News>,
    newsroom: Newsroom,
    held: Held,
}

enum Held {
    SqliteRead(PoolConnection<Sqlite>),
    SqliteWrite(Transaction<'static, Sqlite>),
    PostgresRead(PoolConnection<Postgres>),
    PostgresWrite(Transaction<'static, Postgres>),
}

/// How a PostgreSQL server is told that a transaction writes. All else only reads.
pub(super) const WRITING: &str = "begin read write";

/// What a statement is run on.
pub(super) enum Wire<'link> {
    Sqlite(&'link mut SqliteConnection),
    Postgres(&'link mut PgConnection),
}

/// Runs one expression on whichever database the link has. The SQL must be in the dialect that both
/// speak: `$1` placeholders, `returning`, `on conflict`.
macro_rules! on {
    ($link:expr, $wire:ident => $body:expr) => {
        match $link.wire() {
            $crate::store::link::Wire::Sqlite($wire) => $body,
            $crate::store::link::Wire::Postgres($wire) => $body,
        }
    };
}
pub(super) use on;

/// Begins to write. A deferred transaction could not wait for the lock when it turns to writing.
async fn begin_immediate(pool: &SqlitePool) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
    match pool.begin_with("begin immediate").await {
        // On a full disk SQLite takes a transaction back by itself. The connection does not learn of
        // that and takes no other one, so it is given up.
        Err(sqlx::Error::InvalidSavePointStatement) => {
            let stuck = pool.acquire().await?.detach();
            let begun = pool.begin_with("begin immediate").await;
            // Closed last: with the last connection SQLite would remove what it has beside the file, and
            // could not make it again where there is no room.
            stuck.close().await?;
            begun
        }
        begun => begun,
    }
}

impl Link {
    pub(super) async fn read(store: &Store, space: &SpaceId) -> Result<Self, StoreError> {
        let held = match &store.pool {
            Pool::Sqlite { read, .. } => Held::SqliteRead(read.acquire().await?),
            Pool::Postgres(pool) => Held::PostgresRead(pool.acquire().await?),
        };
        Ok(Self::new(store, space, held))
    }

    pub(super) async fn write(store: &Store, space: &SpaceId) -> Result<Self, StoreError> {
        let held = match &store.pool {
            Pool::Sqlite { write, .. } => Held::SqliteWrite(begin_immediate(write).await?),
            Pool::Postgres(pool) => Held::PostgresWrite(pool.begin_with(WRITING).await?),
        };
        Ok(Self::new(store, space, held))
    }

    fn new(store: &Store, space: &SpaceId, held: Held) -> Self {
        let newsroom = store.newsroom.clone();
        Self { space: space.clone(), news: Vec::new(), newsroom, held }
    }

    /// Keeps what was written, and tells of it.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        self.hand_over_news().await?;
        match self.held {
            Held::SqliteWrite(transaction) => transaction.commit().await?,
            Held::PostgresWrite(transaction) => transaction.commit().await?,
            Held::SqliteRead(_) | Held::PostgresRead(_) => {}
        }
        Self::spread_news(&self.newsroom, &self.space, self.news);
        Ok(())
    }

    /// Holds a row until the end of the transaction, so that what was read of it stays true. On
    /// SQLite a writer has the whole file to itself already. The key is not held: rows that refer to
    /// this one may come meanwhile, and their writers may hold what we want next.
    pub async fn lock(&mut self, entity: &Entity) -> Result<(), StoreError> {
        let (table, key) = match entity.kind {
            EntityKind::Persona => ("persona", "persona_id"),
            EntityKind::TestInput => ("test_input", "test_input_id"),
            EntityKind::Page | EntityKind::Ref | EntityKind::Task => ("entry", "entry_id"),
            EntityKind::Chat => ("conversation", "conversation_id"),
        };
        let sql =
            format!("select 1 from {table} where space_id = $1 and {key} = $2 for no key update");
        let space = self.space.clone();
        if let Wire::Postgres(wire) = self.wire() {
            let row = sqlx::query(sqlx::AssertSqlSafe(sql));
            row.bind(space.as_str()).bind(entity.id.as_str()).execute(wire).await.map(drop)?;
        }
        Ok(())
    }

    /// The rows of a statement whose values are this link's Space, then these, and then a list: `select` is
    /// given what stands for being one of that.
    pub(super) async fn rows_among<Row>(
        &mut self,
        select: fn(&str) -> String,
        values: &[&str],
        list: &[&str],
    ) -> Result<Vec<Row>, StoreError>
    where
        Row: Send + Unpin + for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow>,
    {
        let (space, place) = (self.space.clone(), values.len() + 2);
        match self.wire() {
            Wire::Sqlite(wire) => {
                let sql = select(&format!("in (select value from json_each(${place}))"));
                let mut query =
                    sqlx::query_as::<Sqlite, Row>(AssertSqlSafe(sql)).bind(space.as_str());
                for value in values {
                    query = query.bind(*value);
                }
                Ok(query.bind(serde_json::json!(list).to_string()).fetch_all(wire).await?)
            }
            Wire::Postgres(wire) => {
                let sql = select(&format!("= any(${place})"));
                let mut query =
                    sqlx::query_as::<Postgres, Row>(AssertSqlSafe(sql)).bind(space.as_str());
                for value in values {
                    query = query.bind(*value);
                }
                Ok(query.bind(list).fetch_all(wire).await?)
            }
        }
    }

    pub(super) fn wire(&mut self) -> Wire<'_> {
        match &mut self.held {
            Held::SqliteRead(connection) => Wire::Sqlite(connection),
            Held::SqliteWrite(transaction) => Wire::Sqlite(transaction),
            Held::PostgresRead(connection) => Wire::Postgres(connection),
            Held::PostgresWrite(transaction) => Wire::Postgres(transaction),
        }
    }
}
