//! Telling the open pages of a Space what was just kept.
//!
//! News leave with the transaction that makes them true, and not at all when it fails. Several
//! processes on one PostgreSQL hear of each other through it; a file has one process only.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sqlx::postgres::PgListener;
use tokio::sync::broadcast;

use super::{Link, Pool, Store, StoreError, link::Wire};
use crate::domain::{
    change::ChangeState,
    id::SpaceId,
    news::{News, Topic},
};

/// The name under which processes call each other.
const CHANNEL: &str = "greenroom_news";
/// How much a listener may be behind before it is told to look again at everything.
const BACKLOG: usize = 1024;
/// How long to wait before listening again.
const RETRY: Duration = Duration::from_secs(1);

/// News of a Space; without a Space, of all.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Told {
    space: Option<SpaceId>,
    news: News,
}

/// Where news go out.
#[derive(Clone, Debug)]
pub(super) struct Newsroom(broadcast::Sender<Told>);

impl Default for Newsroom {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG).0)
    }
}

impl Newsroom {
    fn publish(&self, told: Told) {
        // Nobody listening is no error.
        drop(self.0.send(told));
    }
}

/// Hears the news of one Space, or of all.
#[derive(Debug)]
pub struct NewsFeed {
    space: Option<SpaceId>,
    told: broadcast::Receiver<Told>,
    newsroom: broadcast::WeakSender<Told>,
}

impl NewsFeed {
    fn new(newsroom: &Newsroom, space: Option<SpaceId>) -> Self {
        Self { space, told: newsroom.0.subscribe(), newsroom: newsroom.0.downgrade() }
    }

    fn is_heard(&self, told: &Told) -> bool {
        let (of, heard) = (told.space.as_ref(), self.space.as_ref());
        of.is_none() || heard.is_none() || of == heard
    }

    /// The next piece of news; `None` when there will be none.
    pub async fn next(&mut self) -> Option<News> {
        loop {
            match self.told.recv().await {
                Ok(told) if self.is_heard(&told) => return Some(told.news),
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(_)) => return Some(News::default()),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// What was told meanwhile. When that was too much, that something was missed.
    pub fn waiting(&mut self) -> Vec<News> {
        let mut waiting = Vec::new();
        loop {
            let news = match self.told.try_recv() {
                Ok(told) if self.is_heard(&told) => told.news,
                Ok(_) => continue,
                Err(broadcast::error::TryRecvError::Lagged(_)) => News::default(),
                Err(
                    broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed,
                ) => return waiting,
            };
            waiting.push(news);
        }
    }

    /// How many hear news here, of whatever Space.
    pub fn listeners(&self) -> u32 {
        let count = self.newsroom.upgrade().map_or(0, |newsroom| newsroom.receiver_count());
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl NewsFeed {
    /// Comes back when something was written, or may have been.
    pub async fn something_written(&mut self) {
        loop {
            let Some(news) = self.next().await else { return std::future::pending().await };
            let is_written = match news.topic {
                Topic::Missed | Topic::Chat => true,
                Topic::Change => news.state == Some(ChangeState::Applied),
                // What is said is looked for once it is answered.
                Topic::Run => news.status.is_some_and(|status| status.is_over()),
                Topic::Picture => false,
            };
            if is_written {
                return;
            }
        }
    }
}

impl NewsFeed {
    /// Comes back when work was asked for, or may have been.
    pub async fn something_asked(&mut self) {
        loop {
            match self.next().await.map(|news| news.topic) {
                Some(Topic::Missed | Topic::Picture) => return,
                Some(Topic::Change | Topic::Run | Topic::Chat) => {}
                None => std::future::pending().await,
            }
        }
    }
}

impl Store {
    /// The news of a Space from now on.
    pub fn news(&self, space: &SpaceId) -> NewsFeed {
        NewsFeed::new(&self.newsroom, Some(space.clone()))
    }

    /// The news of all Spaces from now on: for work that is done for everybody.
    pub fn all_news(&self) -> NewsFeed {
        NewsFeed::new(&self.newsroom, None)
    }

    /// Hears what other processes on the same database tell. Goes on for ever; with a file there is
    /// nobody else.
    pub async fn follow_news(self) {
        let Pool::Postgres(pool) = &self.pool else { return };
        loop {
            let heard = async {
                let mut listener = PgListener::connect_with(pool).await?;
                listener.listen(CHANNEL).await?;
                // What was told before this moment was not heard.
                self.newsroom.publish(Told { space: None, news: News::default() });
                // `None` means that the connection was lost and found again.
                while let Some(told) = listener.try_recv().await? {
                    if let Ok(told) = serde_json::from_str(told.payload()) {
                        self.newsroom.publish(told);
                    }
                }
                Ok::<(), sqlx::Error>(())
            };
            if let Err(error) = heard.await {
                tracing::debug!(%error, "the news are not heard");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

impl Link {
    /// Tells the open pages of this Space, once what the link writes is kept.
    pub fn tell(&mut self, news: News) {
        self.news.push(news);
    }

    /// Gives the news to the database, which passes them on to every process when it keeps the rest.
    pub(super) async fn hand_over_news(&mut self) -> Result<(), StoreError> {
        let space = self.space.clone();
        let news = std::mem::take(&mut self.news);
        if let Wire::Postgres(wire) = self.wire() {
            for news in news {
                let told = serde_json::json!(Told { space: Some(space.clone()), news });
                sqlx::query("select pg_notify($1, $2)")
                    .bind(CHANNEL)
                    .bind(told.to_string())
                    .execute(&mut *wire)
                    .await?;
            }
        } else {
            self.news = news;
        }
        Ok(())
    }

    /// Tells the news within this process.
    pub(super) fn spread_news(newsroom: &Newsroom, space: &SpaceId, news: Vec<News>) {
        for news in news {
            newsroom.publish(Told { space: Some(space.clone()), news });
        }
    }
}
