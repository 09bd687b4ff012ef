//! What is said in a chat: paths through its tree, and everything that makes the tree grow. Nothing that
//! was said is ever written over.

use super::{
    Agent,
    chats::chat_conversation,
    editor::check_words,
    runs::{Order, said},
};
use crate::{
    changes::{Scope, refresh_index},
    domain::{
        change::Entity,
        error::ApiError,
        id::{ConversationId, MessageId, is_wellformed},
        message::{Conversation, Message, Part, PartBody, Role},
        news::News,
        run::{Run, Spent},
        tree::{MAX_PATH_SIZE, Newer, PATH_SIZE, PathMessage, PathPage},
    },
    store::{Link, MarkedMessage, StoreError, new_id, now},
};

/// Which stretch of which path is wanted.
#[derive(Clone, Debug, Default)]
pub struct PathAsk {
    /// Where the path ends: the newest end below this message.
    pub leaf: Option<MessageId>,
    /// Only what was said before this message.
    pub before: Option<MessageId>,
    /// How many messages at most.
    pub limit: Option<u32>,
    /// The device that asks: without a leaf, it gets what it last saw.
    pub device: Option<String>,
}

/// Something said in a chat.
#[derive(Clone, Debug, Default)]
pub struct ChatWords {
    /// What is said.
    pub content: String,
    /// What it follows; without one, what the device last saw.
    pub parent: Option<MessageId>,
    /// The device that says it.
    pub device: Option<String>,
}

/// A message in other words.
#[derive(Clone, Debug, Default)]
pub struct ChatEdit {
    /// The other words.
    pub content: String,
    /// Whether they shall be answered.
    pub answer: bool,
    /// The device that says it.
    pub device: Option<String>,
}

impl Agent {
    /// A stretch of a path through a chat.
    pub async fn path(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        ask: PathAsk,
    ) -> Result<PathPage, ApiError> {
        check_device(ask.device.as_deref())?;
        let limit = ask.limit.unwrap_or(PATH_SIZE).clamp(1, MAX_PATH_SIZE);
        let mut link = self.read(scope).await?;
        // The run is looked for first: if it ends before the path is read, its answer is in there.
        let run = link.last_run(chat).await?;
        let conversation = chat_conversation(&mut link, chat).await?;
        if let Some(before) = &ask.before {
            let known = named(&mut link, chat, before, "before").await?;
            let items = match &known.message.parent_id {
                Some(parent) => link.path(chat, parent, limit).await?,
                None => Vec::new(),
            };
            let next = next(&items);
            let (leaf, newer_elsewhere, moved) = (None, None, false);
            return Ok(PathPage { items, next, leaf, newer_elsewhere, moved, run });
        }
        let going_on = run.as_ref().filter(|run| !run.status.is_over());
        let found = find_leaf(&mut link, scope, &conversation, going_on, &ask).await?;
        let Found { leaf, newer_elsewhere, moved } = found;
        let mut items = match &leaf {
            Some(leaf) => link.path(chat, leaf, limit).await?,
            None => Vec::new(),
        };
        let next = next(&items);
        if let Some(run) = going_on
            && leaf.as_ref() == Some(&run.message_id)
        {
            let reply = run.reply(self.parts_so_far(&mut link, &run.id).await?);
            let (count, newest) = link.children(chat, &run.message_id).await?;
            items.push(PathMessage {
                content: reply.text(),
                message: reply,
                persona_id: Some(run.persona_id.clone()),
                persona_revision: Some(run.persona_revision),
                position: count + 1,
                siblings: count + 1,
                previous: newest,
                following: None,
                hidden: 0,
                label: String::new(),
                bookmarked: false,
                generating: true,
            });
        }
        Ok(PathPage { items, next, leaf, newer_elsewhere, moved, run })
    }

    /// Says something in a chat. Another run that goes on there is in the way.
    pub async fn say_in_chat(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        words: ChatWords,
    ) -> Result<Run, ApiError> {
        check_content(&words.content)?;
        check_device(words.device.as_deref())?;
        let brief = self.chat_brief(scope, chat).await?;
        self.refuse_early(scope, chat).await?;
        let mut link = self.write(scope).await?;
        let conversation = free(&mut link, chat).await?;
        let parent = match &words.parent {
            Some(parent) => {
                let known = named(&mut link, chat, parent, "parentId").await?;
                check_visible(&mut link, chat, parent).await?;
                Some(known.message.id)
            }
            None => {
                let ask = PathAsk { device: words.device.clone(), ..PathAsk::default() };
                find_leaf(&mut link, scope, &conversation, None, &ask).await?.leaf
            }
        };
        let message = said(parent, &words.content, now());
        link.insert_message(chat, &message).await?;
        remember(&mut link, scope, chat, words.device.as_deref(), &message.id).await?;
        self.start(link, scope, Order::now(conversation, message.id, brief)).await
    }

    /// Asks for another answer beside the one that is there. For a person's message, it is answered
    /// again.
    pub async fn regenerate(
        &self,
        scope: &Scope,
        message: &MessageId,
        device: Option<&str>,
    ) -> Result<Run, ApiError> {
        check_device(device)?;
        let (chat, _) = self.said_in_chat(scope, message).await?;
        let brief = self.chat_brief(scope, &chat).await?;
        self.refuse_early(scope, &chat).await?;
        let mut link = self.write(scope).await?;
        let conversation = free(&mut link, &chat).await?;
        check_visible(&mut link, &chat, message).await?;
        let known = link.message(message).await?;
        let asked = match (known.role, known.parent_id) {
            (Role::User, _) => Some(known.id),
            (Role::Assistant, Some(parent)) => Some(parent),
            (Role::Assistant, None) => None,
        };
        let asked = match asked {
            Some(asked) => Some(link.message(&asked).await?).filter(|one| one.role == Role::User),
            None => None,
        };
        let Some(asked) = asked else {
            let reason = "Nobody asked for that message, so there is nothing to answer again.";
            return Err(ApiError::NotNow { reason: reason.into() });
        };
        remember(&mut link, scope, &chat, device, &asked.id).await?;
        self.start(link, scope, Order::now(conversation, asked.id, brief)).await
    }

    /// Puts a message in other words beside it, and has them answered if that is wanted.
    pub async fn edit_message(
        &self,
        scope: &Scope,
        message: &MessageId,
        edit: ChatEdit,
    ) -> Result<(MessageId, Option<Run>), ApiError> {
        check_content(&edit.content)?;
        check_device(edit.device.as_deref())?;
        let (chat, known) = self.said_in_chat(scope, message).await?;
        if edit.answer && known.message.role == Role::Assistant {
            let rule = "Only what a person says can be answered.";
            return Err(ApiError::invalid("answer", rule));
        }
        let brief = match edit.answer {
            true => Some(self.chat_brief(scope, &chat).await?),
            false => None,
        };
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(&chat)).await?;
        let conversation = chat_conversation(&mut link, &chat).await?;
        check_visible(&mut link, &chat, message).await?;
        let other = reworded(&known.message, &edit.content);
        link.insert_message(&chat, &other).await?;
        remember(&mut link, scope, &chat, edit.device.as_deref(), &other.id).await?;
        let id = other.id.clone();
        match brief {
            Some(brief) => {
                let order = Order::now(conversation, other.id, brief);
                Ok((id, Some(self.start(link, scope, order).await?)))
            }
            None => {
                link.set_leaf(&chat, &other.id, other.created_at).await?;
                refresh_index(&mut link, &Entity::from(&chat)).await?;
                link.tell(News::of_chat(&chat));
                link.commit().await?;
                Ok((id, None))
            }
        }
    }

    /// Goes to the newest end below a message, and remembers it for the device.
    pub async fn go_to(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        message: &MessageId,
        device: Option<&str>,
    ) -> Result<MessageId, ApiError> {
        check_device(device)?;
        let mut link = self.write(scope).await?;
        let conversation = chat_conversation(&mut link, chat).await?;
        let run = link.run_going_on(chat).await?;
        let ask = PathAsk { leaf: Some(message.clone()), ..PathAsk::default() };
        let found = find_leaf(&mut link, scope, &conversation, run.as_ref(), &ask).await?;
        if found.moved {
            return Err(pruned());
        }
        let leaf = found.leaf.ok_or_else(|| ApiError::not_found("message"))?;
        remember(&mut link, scope, chat, device, &leaf).await?;
        link.commit().await?;
        Ok(leaf)
    }

    /// Remembers that a device, which was here before, was shown a path, so that it finds it again
    /// whatever others write. Where it went meanwhile counts more.
    pub async fn saw(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        leaf: &MessageId,
        device: &str,
        before: Option<&MessageId>,
    ) -> Result<(), ApiError> {
        check_device(Some(device))?;
        if before == Some(leaf) {
            return Ok(());
        }
        let mut link = self.write(scope).await?;
        link.lock(&Entity::from(chat)).await?;
        if link.device_leaf(chat, &scope.user, device).await?.as_ref() != before {
            return Ok(());
        }
        remember(&mut link, scope, chat, Some(device), leaf).await?;
        Ok(link.commit().await?)
    }

    /// A message of a chat outside the bin, and the chat. One that is being written is in the way.
    pub(super) async fn said_in_chat(
        &self,
        scope: &Scope,
        message: &MessageId,
    ) -> Result<(ConversationId, MarkedMessage), ApiError> {
        let mut link = self.read(scope).await?;
        let chat = match link.conversation_of(message).await {
            Ok(chat) => chat,
            Err(StoreError::NotFound(_)) => {
                return Err(match link.run_writing(message).await? {
                    Some(run) => ApiError::Busy { run_id: run.id },
                    None => ApiError::not_found("message"),
                });
            }
            Err(error) => return Err(error.into()),
        };
        chat_conversation(&mut link, &chat).await.map_err(|error| match error {
            ApiError::NotFound { .. } => ApiError::not_found("message"),
            other => other,
        })?;
        let known = link.marked_message(&chat, message).await?;
        Ok((chat, known))
    }
}

/// Where a path ends, and what is newer elsewhere.
struct Found {
    leaf: Option<MessageId>,
    newer_elsewhere: Option<Newer>,
    moved: bool,
}

/// Where the path ends that is asked for: below the leaf that is named, or where the device last was,
/// or where something was last written.
async fn find_leaf(
    link: &mut Link,
    scope: &Scope,
    conversation: &Conversation,
    going_on: Option<&Run>,
    ask: &PathAsk,
) -> Result<Found, ApiError> {
    let chat = &conversation.id;
    let asked = match (&ask.leaf, ask.device.as_deref()) {
        // What is being written stands below what asked for it.
        (Some(leaf), _) if going_on.is_some_and(|run| run.reply_id == *leaf) => {
            going_on.map(|run| run.message_id.clone())
        }
        (Some(leaf), _) => Some(named(link, chat, leaf, "leaf").await?.message.id),
        (None, Some(device)) => link.device_leaf(chat, &scope.user, device).await?,
        (None, None) => None,
    };
    let mut moved = false;
    let asked = match asked {
        Some(asked) if link.pruned_above(chat, &asked).await?.is_some() => {
            moved = true;
            None
        }
        asked => asked,
    };
    let newest = match &conversation.leaf {
        Some(leaf) => Some(end_below(link, chat, going_on, leaf).await?),
        None => None,
    };
    let leaf = match &asked {
        Some(asked) => Some(end_below(link, chat, going_on, asked).await?),
        None => newest.clone(),
    };
    let newer_elsewhere = match (newest, &leaf) {
        (Some(newest), Some(leaf)) if newest != *leaf => {
            let mut count = link.apart(chat, &newest, leaf).await?;
            // The answer that is being given there counts, too.
            count += i64::from(going_on.is_some_and(|run| run.message_id == newest));
            (count > 0).then_some(Newer { leaf: newest, count })
        }
        _ => None,
    };
    Ok(Found { leaf, newer_elsewhere, moved })
}

/// The newest end below a message; an answer that is being given is the newest.
async fn end_below(
    link: &mut Link,
    chat: &ConversationId,
    going_on: Option<&Run>,
    message: &MessageId,
) -> Result<MessageId, ApiError> {
    if going_on.is_some_and(|run| run.message_id == *message) {
        return Ok(message.clone());
    }
    Ok(link.newest_below(chat, message).await?)
}

/// A message of this chat that a request names in a field.
pub(super) async fn named(
    link: &mut Link,
    chat: &ConversationId,
    message: &MessageId,
    field: &str,
) -> Result<MarkedMessage, ApiError> {
    match link.marked_message(chat, message).await {
        Ok(known) => Ok(known),
        Err(StoreError::NotFound(_)) => {
            Err(ApiError::invalid(field, "That message is not in this chat."))
        }
        Err(error) => Err(error.into()),
    }
}

/// A chat in which nobody is speaking; nobody else begins until the link is done.
async fn free(link: &mut Link, chat: &ConversationId) -> Result<Conversation, ApiError> {
    link.lock(&Entity::from(chat)).await?;
    let conversation = chat_conversation(link, chat).await?;
    match link.run_going_on(chat).await? {
        Some(run) => Err(ApiError::Busy { run_id: run.id }),
        None => Ok(conversation),
    }
}

pub(super) async fn check_visible(
    link: &mut Link,
    chat: &ConversationId,
    message: &MessageId,
) -> Result<(), ApiError> {
    match link.pruned_above(chat, message).await? {
        Some(_) => Err(pruned()),
        None => Ok(()),
    }
}

fn pruned() -> ApiError {
    let reason = "That message is on a pruned branch. Restore the branch first.";
    ApiError::NotNow { reason: reason.into() }
}

async fn remember(
    link: &mut Link,
    scope: &Scope,
    chat: &ConversationId,
    device: Option<&str>,
    leaf: &MessageId,
) -> Result<(), ApiError> {
    if let Some(device) = device {
        link.set_device_leaf(chat, &scope.user, device, leaf, now()).await?;
    }
    Ok(())
}

fn check_device(device: Option<&str>) -> Result<(), ApiError> {
    if device.is_none_or(is_wellformed) {
        return Ok(());
    }
    let rule = "A device has 1 to 64 letters, digits, dashes and underscores.";
    Err(ApiError::invalid("deviceId", rule))
}

/// Refuses what nobody can answer, by the name that the field has here.
pub(super) fn check_content(words: &str) -> Result<(), ApiError> {
    check_words(words).map_err(|error| match error {
        ApiError::Invalid { rule, .. } => ApiError::invalid("content", rule),
        other => other,
    })
}

/// The same message in other words. Who spoke stays known; that a model wrote them does not.
fn reworded(message: &Message, words: &str) -> Message {
    let at = now();
    let body = PartBody::Text(words.to_owned());
    Message {
        id: new_id(),
        parts: vec![Part { id: new_id(), at, body, carried: None }],
        model: String::new(),
        stop: None,
        spent: Spent::default(),
        created_at: at,
        ..message.clone()
    }
}

/// Where to go on above these messages.
fn next(items: &[PathMessage]) -> Option<MessageId> {
    let first = items.first()?;
    first.message.parent_id.as_ref().map(|_| first.message.id.clone())
}
