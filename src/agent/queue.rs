//! What a person does with what comes next in a chat: puts words there, takes them back, and has turns said
//! again.

use super::{
    Agent,
    chat_tree::{
        ChatWords, PathAsk, check_content, check_device, check_visible, find_leaf, remember,
        standing,
    },
    chats::chat_conversation,
    line::waiting,
    rounds::Round,
};
use crate::{
    changes::Scope,
    domain::{
        change::Entity,
        chat::Chat,
        error::ApiError,
        id::{ConversationId, MessageId, NextId},
        line::{MAX_REPLAYED, MAX_WAITING, Next, NextItem},
        message::Role,
        news::News,
    },
    store::Link,
};

/// How far back turns are looked for that can be said again.
const LOOKED_BACK: i64 = 100;
/// Why something waits that a person took back.
const TAKEN_BACK: &str = "You took it back.";

/// What somebody wants to change about what comes next.
#[derive(Clone, Debug, Default)]
pub struct NextChange {
    /// Other words.
    pub content: Option<String>,
    /// Whether it waits for a person, or goes on by itself.
    pub held: Option<bool>,
}

impl Agent {
    /// What comes next in a chat.
    pub async fn what_comes_next(
        &self,
        scope: &Scope,
        chat: &ConversationId,
    ) -> Result<Vec<NextItem>, ApiError> {
        let mut link = self.read(scope).await?;
        chat_conversation(&mut link, chat).await?;
        Ok(link.line(chat).await?)
    }

    /// Says something in a chat as soon as nobody is answering there.
    pub async fn queue(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        words: ChatWords,
    ) -> Result<NextItem, ApiError> {
        check_content(&words.content)?;
        check_device(words.device.as_deref())?;
        if words.client.is_some() {
            let rule =
                "What waits in line has no name of its sender's: look whether it stands there.";
            return Err(ApiError::invalid("clientId", rule));
        }
        if words.branch {
            let rule = "What waits in line is said at the end of a branch, and begins none.";
            return Err(ApiError::invalid("branch", rule));
        }
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(chat)).await?;
        let conversation = chat_conversation(&mut link, chat).await?;
        if link.line(chat).await?.len() >= MAX_WAITING {
            let reason = format!("{MAX_WAITING} messages wait already. Take one back first.");
            return Err(ApiError::NotNow { reason });
        }
        let open = Round::open(&mut link, chat).await?;
        let after = match (&words.parent, &open) {
            (Some(parent), Some(open)) if open.writes(parent) => Some(open.end()),
            (Some(parent), _) => {
                let known = standing(&mut link, chat, parent).await?;
                check_visible(&mut link, chat, &known.message.id).await?;
                Some(known.message.id)
            }
            (None, open) => {
                let ask = PathAsk { device: words.device.clone(), ..PathAsk::default() };
                let found = find_leaf(&mut link, scope, &conversation, open.as_ref(), &ask).await?;
                found.leaf
            }
        };
        let ChatWords { content, device, .. } = words;
        let item = waiting(scope, Next::Words { content, after, device_id: device });
        link.put_next(chat, &item).await?;
        link.tell(News::of_chat(chat));
        link.commit().await?;
        self.go_on_in(scope.space.clone(), chat.clone()).await;
        Ok(item)
    }

    /// Holds what comes next, lets it go on, or puts it in other words.
    pub async fn change_next(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        id: &NextId,
        change: NextChange,
    ) -> Result<NextItem, ApiError> {
        let (mut link, mut item) = self.next_item(scope, chat, id).await?;
        if let Some(other) = change.content {
            check_content(&other)?;
            match &mut item.what {
                Next::Words { content, .. } => *content = other,
                Next::Answers { .. } | Next::Replay { .. } | Next::Replayed { .. } => {
                    let rule = "Only your own words can be put otherwise.";
                    return Err(ApiError::invalid("content", rule));
                }
            }
        }
        match change.held {
            Some(true) => item.held = item.held.or_else(|| Some(TAKEN_BACK.into())),
            Some(false) => item.held = None,
            None => {}
        }
        link.put_next(chat, &item).await?;
        link.tell(News::of_chat(chat));
        link.commit().await?;
        self.go_on_in(scope.space.clone(), chat.clone()).await;
        Ok(item)
    }

    /// Takes something out of the line, and gives it back.
    pub async fn drop_next(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        id: &NextId,
    ) -> Result<NextItem, ApiError> {
        let (mut link, item) = self.next_item(scope, chat, id).await?;
        link.take_next(chat, id).await?;
        link.tell(News::of_chat(chat));
        link.commit().await?;
        self.go_on_in(scope.space.clone(), chat.clone()).await;
        Ok(item)
    }

    /// Something in the line of a chat, and a link that holds the line still.
    async fn next_item(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        id: &NextId,
    ) -> Result<(Link, NextItem), ApiError> {
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(chat)).await?;
        chat_conversation(&mut link, chat).await?;
        let found = link.line(chat).await?.into_iter().find(|item| item.id == *id);
        Ok((link, found.ok_or_else(|| ApiError::not_found("waiting message"))?))
    }

    /// Says the person's last words again, on a branch of their own beside the old one, to the personas as
    /// they are in the chat now.
    pub async fn replay(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        turns: usize,
        device: Option<&str>,
    ) -> Result<NextItem, ApiError> {
        check_device(device)?;
        check_replay(turns)?;
        let mut link = self.write(scope).await?;
        let conversation = self.free(&mut link, scope, chat).await?;
        let ask = PathAsk { device: device.map(str::to_owned), ..PathAsk::default() };
        let leaf = find_leaf(&mut link, scope, &conversation, None, &ask).await?.leaf;
        let branch = match &leaf {
            Some(leaf) => link.branch_end(leaf, LOOKED_BACK).await?,
            None => Vec::new(),
        };
        let mut message_ids: Vec<MessageId> = branch
            .into_iter()
            .filter(|message| message.role == Role::User)
            .map(|message| message.id)
            .collect();
        message_ids.drain(..message_ids.len().saturating_sub(turns));
        let Some(old) = leaf.filter(|_| !message_ids.is_empty()) else {
            return Err(nothing_said());
        };
        let item = waiting(scope, Next::Replay { message_ids, begun: None, old });
        link.put_next(chat, &item).await?;
        link.commit().await?;
        self.go_on_in(scope.space.clone(), chat.clone()).await;
        // The device goes along to the new branch.
        let mut link = self.write(scope).await?;
        let now = link.line(chat).await?.into_iter().find(|other| other.id == item.id);
        if let Some(NextItem { what: Next::Replay { begun: Some(begun), .. }, .. }) = &now {
            remember(&mut link, scope, chat, device, begun).await?;
        }
        link.commit().await?;
        Ok(now.unwrap_or(item))
    }

    /// Lets the personas of a chat speak as they are now, and says the last turns to them again if that is
    /// wanted.
    pub async fn update_and_replay(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        turns: Option<usize>,
        device: Option<&str>,
    ) -> Result<Chat, ApiError> {
        let Some(turns) = turns else { return self.update_personas(scope, chat).await };
        // What cannot be said again is told before anything changes.
        check_device(device)?;
        check_replay(turns)?;
        let mut link = self.write(scope).await?;
        let conversation = self.free(&mut link, scope, chat).await?;
        if conversation.leaf.is_none() {
            return Err(nothing_said());
        }
        drop(link);
        let updated = self.update_personas(scope, chat).await?;
        self.replay(scope, chat, turns, device).await?;
        Ok(updated)
    }
}

fn nothing_said() -> ApiError {
    ApiError::NotNow { reason: "Nothing was said yet that could be said again.".into() }
}

/// Refuses a number of turns that nobody would read.
fn check_replay(turns: usize) -> Result<(), ApiError> {
    if (1..=MAX_REPLAYED).contains(&turns) {
        return Ok(());
    }
    let rule = format!("Between 1 and {MAX_REPLAYED} turns can be said again.");
    Err(ApiError::invalid("replay", rule))
}
