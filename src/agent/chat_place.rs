//! Where a message stands: on which path it is shown, and whether it is far above the end of it.

use super::{
    Agent,
    chat_tree::{PathAsk, named},
    chats::chat_conversation,
    rounds::Round,
};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId},
        tree::PATH_SIZE,
    },
    store::Link,
};

/// Where a message stands on the path that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Among the last messages, which are shown at once.
    Near,
    /// Further above.
    Far,
}

impl Agent {
    /// Goes to a message: a device that is on a branch with it stays there, any other goes to the newest
    /// end below it. Says where the message stands then.
    pub async fn go_to_place(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        message: &MessageId,
        device: Option<&str>,
    ) -> Result<(MessageId, Place), ApiError> {
        let mut link = self.read(scope).await?;
        chat_conversation(&mut link, chat).await?;
        let open = Round::open(&mut link, chat).await?;
        let ask = PathAsk { device: device.map(str::to_owned), ..PathAsk::default() };
        let to = leaf_around(&mut link, scope, chat, open.as_ref(), message, &ask).await?;
        drop(link);
        let leaf = self.go_to(scope, chat, &to, device).await?;
        let mut link = self.read(scope).await?;
        let end = link.end_of_stretch(chat, &leaf, message, PATH_SIZE, PATH_SIZE / 2).await?;
        let is_far = end.is_some_and(|end| end != leaf);
        Ok((leaf, if is_far { Place::Far } else { Place::Near }))
    }
}

/// The message below which the path ends that shows another one: the leaf that is asked for, or where the
/// device last was, if the other one stands on the way to it, and that one itself if not.
pub(super) async fn leaf_around(
    link: &mut Link,
    scope: &Scope,
    chat: &ConversationId,
    open: Option<&Round>,
    around: &MessageId,
    ask: &PathAsk,
) -> Result<MessageId, ApiError> {
    // What is being written stands on no path yet.
    if open.is_some_and(|open| open.writes(around)) {
        return Ok(around.clone());
    }
    named(link, chat, around).await?;
    let leaf = match (&ask.leaf, ask.device.as_deref()) {
        (Some(leaf), _) => Some(leaf.clone()),
        (None, Some(device)) => link.device_leaf(chat, &scope.user, device).await?,
        (None, None) => None,
    };
    match leaf {
        Some(leaf) if link.is_above(chat, around, &leaf).await? => Ok(leaf),
        _ => Ok(around.clone()),
    }
}
