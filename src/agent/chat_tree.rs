//! What is said in a chat: paths through its tree, and everything that makes the tree grow. Nothing that
//! was said is ever written over.

use super::{
    Agent, chat_answers::first, chat_files::ANSWER, chat_place::leaf_around,
    chats::chat_conversation, editor::check_words, rounds::Round,
};
use crate::{
    changes::{Scope, refresh_index},
    domain::{
        change::Entity,
        chat::GONE_PERSONA,
        error::ApiError,
        id::{ConversationId, MessageId, is_wellformed},
        message::{Conversation, Message, Part, PartBody, Role},
        news::News,
        run::{Run, Spent},
        tree::{MAX_PATH_SIZE, Newer, PATH_SIZE, PathMessage, PathPage},
    },
    store::{Link, MarkedMessage, StoreError, new_id, now},
};

/// What is told to be missing where a message is named that is not in the chat.
const MESSAGE_HERE: &str = "message of this chat";

/// Which stretch of which path is wanted.
#[derive(Clone, Debug, Default)]
pub struct PathAsk {
    /// Where the path ends: the newest end below this message.
    pub leaf: Option<MessageId>,
    /// Only what was said before this message.
    pub before: Option<MessageId>,
    /// A message that must be among them: on the path that is asked for if it stands there, and on the
    /// newest below it otherwise.
    pub around: Option<MessageId>,
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
    /// Whether it may begin another branch, beside what follows that message already.
    pub branch: bool,
    /// The device that says it.
    pub device: Option<String>,
    /// What the sender calls it.
    pub client: Option<String>,
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
        // What comes next and the run are looked for first: what they lead to before the path is read is
        // in there.
        let line = link.line(chat).await?;
        let run = link.last_run(chat).await?;
        let conversation = chat_conversation(&mut link, chat).await?;
        if let Some(before) = &ask.before {
            let known = named(&mut link, chat, before).await?;
            let items = match &known.message.parent_id {
                Some(parent) => link.path(chat, parent, limit).await?,
                None => Vec::new(),
            };
            let (next, later) = (next(&items), Some(before.clone()));
            let (leaf, newer_elsewhere, moved) = (None, None, false);
            let (runs, line) = (Vec::new(), Vec::new());
            let page =
                PathPage { items, next, later, leaf, newer_elsewhere, moved, run, runs, line };
            return Ok(page);
        }
        let round = match &run {
            Some(run) => Some(Round::read(&mut link, &run.round_id).await?),
            None => None,
        };
        let open = round.as_ref().filter(|round| !round.is_over());
        let ask = match &ask.around {
            Some(around) => {
                let leaf = leaf_around(&mut link, scope, chat, open, around, &ask).await?;
                PathAsk { leaf: Some(leaf), ..ask }
            }
            None => ask,
        };
        let found = find_leaf(&mut link, scope, &conversation, open, &ask).await?;
        let Found { leaf, newer_elsewhere, moved } = found;
        let end = match (&ask.around, &leaf) {
            (Some(around), Some(leaf)) => {
                link.end_of_stretch(chat, leaf, around, limit, limit / 2).await?
            }
            _ => None,
        };
        let later = end.filter(|end| leaf.as_ref() != Some(end));
        let mut items = match later.as_ref().or(leaf.as_ref()) {
            Some(end) => link.path(chat, end, limit).await?,
            None => Vec::new(),
        };
        let next = next(&items);
        if let Some(run) = open.and_then(Round::first_to_come) {
            let parent = Some(run.follows());
            for beside in items.iter_mut().filter(|item| item.message.parent_id.as_ref() == parent)
            {
                beside.siblings += 1;
                beside.following.get_or_insert_with(|| run.reply_id.clone());
            }
        }
        let here = round.filter(|round| leaf.as_ref() == Some(&round.end()));
        let runs: Vec<Run> = here.iter().flat_map(|round| round.unkept().cloned()).collect();
        // What is being given stands at the end, which may be far from here.
        for run in runs.iter().filter(|_| later.is_none()) {
            let parts = self.parts_so_far(&mut link, &run.id).await?;
            // What ended without words is told beside the messages.
            if run.status.is_over() && parts.is_empty() {
                continue;
            }
            items.push(self.being_written(&mut link, run, parts, leaf.as_ref()).await?);
        }
        Ok(PathPage { items, next, later, leaf, newer_elsewhere, moved, run, runs, line })
    }

    /// An answer that is being given, as the path shows it below its end.
    async fn being_written(
        &self,
        link: &mut Link,
        run: &Run,
        parts: Vec<Part>,
        leaf: Option<&MessageId>,
    ) -> Result<PathMessage, ApiError> {
        let reply = run.reply(parts);
        // Only the first of several has siblings: the others follow it.
        let chat = &run.conversation_id;
        let beside = leaf.filter(|leaf| *leaf == run.follows());
        let (count, newest) = match beside {
            Some(leaf) => link.children(chat, leaf).await?,
            None => (0, None),
        };
        let hidden = match beside.filter(|_| count > 0) {
            Some(leaf) => link.below_children(chat, leaf).await?,
            None => 0,
        };
        let name = name_in(link, run).await?;
        Ok(PathMessage {
            content: reply.text(),
            message: reply,
            persona_id: Some(run.persona_id.clone()),
            persona_revision: Some(run.persona_revision),
            persona_name: Some(name),
            position: count + 1,
            siblings: count + 1,
            previous: newest,
            following: None,
            hidden,
            label: String::new(),
            bookmarked: false,
            generating: true,
        })
    }

    /// Puts a message in other words beside it, and has them answered if that is wanted.
    pub async fn edit_message(
        &self,
        scope: &Scope,
        message: &MessageId,
        edit: ChatEdit,
    ) -> Result<(MessageId, Option<Run>), ApiError> {
        check_device(edit.device.as_deref())?;
        let (chat, known) = self.said_in_chat(scope, message).await?;
        check_said(known.message.role, &edit.content)?;
        if edit.answer && known.message.role == Role::Assistant {
            let rule = "Only what a person says can be answered.";
            return Err(ApiError::invalid("answer", rule));
        }
        let briefs = match edit.answer {
            true => Some(self.chat_briefs(scope, &chat, None).await?),
            false => None,
        };
        let mut link = self.write(scope).await?;
        let conversation = match edit.answer {
            true => self.free(&mut link, scope, &chat).await?,
            false => {
                link.lock(&Entity::from(&chat)).await?;
                chat_conversation(&mut link, &chat).await?
            }
        };
        check_visible(&mut link, &chat, message).await?;
        let other = reworded(&known.message, &edit.content);
        link.insert_message(&chat, &other).await?;
        if other.run_id.is_none()
            && let Some(speaker) = link.speaker(message).await?
        {
            link.set_speaker(&other.id, &speaker).await?;
        }
        remember(&mut link, scope, &chat, edit.device.as_deref(), &other.id).await?;
        let id = other.id.clone();
        match briefs {
            Some((briefs, how)) => {
                let runs = self.ask_all(link, scope, conversation, other.id, briefs, how).await?;
                Ok((id, Some(first(runs)?)))
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
        let open = Round::open(&mut link, chat).await?;
        let ask = PathAsk { leaf: Some(message.clone()), ..PathAsk::default() };
        let found = find_leaf(&mut link, scope, &conversation, open.as_ref(), &ask).await?;
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

/// What the persona of a run is called in it.
pub(super) async fn name_in(link: &mut Link, run: &Run) -> Result<String, ApiError> {
    match link.persona_at(&run.persona_id, run.persona_revision).await {
        Ok(persona) => Ok(persona.name),
        Err(StoreError::NotFound(_)) => Ok(GONE_PERSONA.to_owned()),
        Err(error) => Err(error.into()),
    }
}

/// Where a path ends, and what is newer elsewhere.
pub(super) struct Found {
    pub leaf: Option<MessageId>,
    newer_elsewhere: Option<Newer>,
    moved: bool,
}

/// Where the path ends that is asked for: below the leaf that is named, or where the device last was,
/// or where something was last written.
pub(super) async fn find_leaf(
    link: &mut Link,
    scope: &Scope,
    conversation: &Conversation,
    open: Option<&Round>,
    ask: &PathAsk,
) -> Result<Found, ApiError> {
    let chat = &conversation.id;
    let asked = match (&ask.leaf, ask.device.as_deref()) {
        // What is being written stands below what asked for it.
        (Some(leaf), _) if open.is_some_and(|open| open.writes(leaf)) => open.map(Round::end),
        (Some(leaf), _) => Some(named(link, chat, leaf).await?.message.id),
        (None, Some(device)) => link.device_leaf(chat, &scope.user, device).await?,
        (None, None) => None,
    };
    let newest = match &conversation.leaf {
        Some(leaf) => Some(end_below(link, chat, open, leaf).await?),
        None => None,
    };
    let asked = match &asked {
        Some(asked) => Some(end_below(link, chat, open, asked).await?),
        None => None,
    };
    // Where a chat ends is never hidden.
    let moved = match &asked {
        Some(end) if asked != newest => link.is_hidden(chat, end, newest.as_ref()).await?,
        _ => false,
    };
    let leaf = asked.filter(|_| !moved).or_else(|| newest.clone());
    let newer_elsewhere = match (newest, &leaf) {
        (Some(newest), Some(leaf)) if newest != *leaf => {
            let mut count = link.apart(chat, &newest, leaf).await?;
            // The answers that are being given there count, too.
            let written = open.filter(|open| open.end() == newest);
            let written = written.map_or(0, |open| open.unkept().count());
            count += i64::try_from(written).unwrap_or_default();
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
    open: Option<&Round>,
    message: &MessageId,
) -> Result<MessageId, ApiError> {
    if let Some(open) = open.filter(|open| open.holds(message)) {
        return Ok(open.end());
    }
    Ok(link.newest_below(chat, message).await?)
}

/// Whether that is what is told of a message that a request names and this chat does not have: one of another chat
/// or Space looks as one that never was.
pub fn is_elsewhere(error: &ApiError) -> bool {
    matches!(error, ApiError::NotFound { what } if what == MESSAGE_HERE)
}

/// A message of this chat that a request names.
pub(super) async fn named(
    link: &mut Link,
    chat: &ConversationId,
    message: &MessageId,
) -> Result<MarkedMessage, ApiError> {
    match link.marked_message(chat, message).await {
        Ok(known) => Ok(known),
        Err(StoreError::NotFound(_)) => Err(ApiError::not_found(MESSAGE_HERE)),
        Err(error) => Err(error.into()),
    }
}

/// A message that a request names. An answer that was announced, and ended before its first word,
/// is not kept: what asked for it stands for it.
pub(super) async fn standing(
    link: &mut Link,
    chat: &ConversationId,
    message: &MessageId,
) -> Result<MarkedMessage, ApiError> {
    let known = named(link, chat, message).await;
    if !known.as_ref().is_err_and(is_elsewhere) {
        return known;
    }
    match link.announced(chat, message).await? {
        Some(run) => named(link, chat, run.follows()).await,
        None => known,
    }
}

pub(super) async fn check_visible(
    link: &mut Link,
    chat: &ConversationId,
    message: &MessageId,
) -> Result<(), ApiError> {
    match link.is_hidden(chat, message, None).await? {
        true => Err(pruned()),
        false => Ok(()),
    }
}

fn pruned() -> ApiError {
    let reason = "That message is on a pruned branch. Restore the branch first.";
    ApiError::NotNow { reason: reason.into() }
}

pub(super) async fn remember(
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

pub(super) fn check_device(device: Option<&str>) -> Result<(), ApiError> {
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

/// The same of words that stand for what somebody said: an answer may be longer than what a person may say.
fn check_said(role: Role, words: &str) -> Result<(), ApiError> {
    match role {
        Role::Assistant if !words.trim().is_empty() => ANSWER.check(words),
        Role::Assistant | Role::User => check_content(words),
    }
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
