//! The map of a chat: the messages around one, those that were marked, and those with certain words.

use std::collections::{HashMap, HashSet};

use super::{Agent, chat_tree::named, chats::chat_conversation};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId},
        message::Role,
        tree::{FoundInTree, MapWindow, TreeNode, excerpt_around},
    },
};

/// How many messages before and after one a map shows.
const HALF: u32 = 500;
/// The most messages that are looked through for words at once.
const SEARCHED: usize = 20_000;
/// How many are read at once.
const AT_ONCE: u32 = 1000;
/// The most messages that are found at once.
const MOST_FOUND: usize = 50;
/// The most marked messages that are listed.
const MOST_MARKED: u32 = 200;

impl Agent {
    /// The map around a message, or around the end of the path that is shown.
    pub async fn map_window(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        around: Option<&MessageId>,
        leaf: Option<&MessageId>,
    ) -> Result<MapWindow, ApiError> {
        let mut link = self.read(scope).await?;
        chat_conversation(&mut link, chat).await?;
        let middle = match around.or(leaf) {
            Some(middle) => Some(named(&mut link, chat, middle).await?),
            None => None,
        };
        let middle_id = middle.as_ref().map(|middle| middle.message.id.clone());
        let mut before = link.messages_before(chat, middle_id.as_ref(), HALF + 1).await?;
        let mut after = match &middle_id {
            Some(middle) => link.messages_after(chat, Some(middle), HALF + 1).await?,
            None => Vec::new(),
        };
        let (earlier, later) = (before.len() > HALF as usize, after.len() > HALF as usize);
        before.truncate(HALF as usize);
        after.truncate(HALF as usize);
        let nodes: Vec<TreeNode> =
            before.into_iter().rev().chain(middle).chain(after).map(TreeNode::from).collect();
        let way: HashSet<MessageId> = match leaf {
            Some(leaf) => link.way_up(chat, leaf).await?.into_iter().collect(),
            None => HashSet::new(),
        };
        let ids = nodes.iter().map(|node| node.id.clone());
        let on_path = ids.filter(|id| way.contains(id)).collect();
        let first = nodes.first().filter(|_| earlier).map(|node| node.id.clone());
        let last = nodes.last().filter(|_| later).map(|node| node.id.clone());
        Ok(MapWindow { nodes, on_path, earlier: first, later: last })
    }

    /// The messages of a chat that have these words, on all branches, the newest first; those before one, if
    /// it is named.
    pub async fn find_in_chat(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        words: &str,
        before: Option<&MessageId>,
    ) -> Result<FoundInTree, ApiError> {
        let mut link = self.read(scope).await?;
        chat_conversation(&mut link, chat).await?;
        let mut found = FoundInTree::default();
        if words.trim().is_empty() {
            return Ok(found);
        }
        let (mut before, mut searched) = (before.cloned(), 0);
        loop {
            let some = link.messages_before(chat, before.as_ref(), AT_ONCE).await?;
            let Some(last) = some.last() else { return Ok(found) };
            before = Some(last.message.id.clone());
            searched += some.len();
            for marked in some {
                let named = excerpt_around(&marked.label, words);
                let said = || excerpt_around(&marked.message.text(), words);
                let Some(excerpt) = named.or_else(said) else { continue };
                if found.nodes.len() == MOST_FOUND {
                    let next = found.nodes.last().map(|last| last.id.clone());
                    return Ok(FoundInTree { next, ..found });
                }
                found.nodes.push(TreeNode { excerpt, ..TreeNode::from(marked) });
            }
            if searched >= SEARCHED {
                return Ok(FoundInTree { next: before, ..found });
            }
        }
    }

    /// What the personas are called that said these messages, as on the page of the chat: what names nobody is
    /// the first one's.
    pub async fn names_in_chat(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        nodes: impl Iterator<Item = &TreeNode>,
    ) -> Result<HashMap<MessageId, String>, ApiError> {
        let mut link = self.read(scope).await?;
        let first = link.chat(chat).await?.members.into_iter().next();
        let first = first.map(|first| first.name).unwrap_or_default();
        let said: Vec<&MessageId> =
            nodes.filter(|node| node.role == Role::Assistant).map(|node| &node.id).collect();
        let mut names: HashMap<MessageId, String> =
            said.iter().map(|id| ((*id).clone(), first.clone())).collect();
        let voices = link.voices_among(chat, &said).await?;
        names.extend(voices.into_iter().map(|voice| (voice.message, voice.name)));
        Ok(names)
    }

    /// The messages of a chat that a person labelled, bookmarked or hid, wherever they are.
    pub async fn moments(
        &self,
        scope: &Scope,
        chat: &ConversationId,
    ) -> Result<Vec<TreeNode>, ApiError> {
        let mut link = self.read(scope).await?;
        chat_conversation(&mut link, chat).await?;
        let marked = link.marked_messages(chat, MOST_MARKED).await?;
        Ok(marked.into_iter().map(TreeNode::from).collect())
    }
}
