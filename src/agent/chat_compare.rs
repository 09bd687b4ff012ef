//! Two branches of a chat beside each other.

use std::collections::HashMap;

use super::{
    Agent,
    chat_tree::{check_visible, named},
    chats::chat_conversation,
};
use crate::{
    changes::Scope,
    domain::{
        compare::{Branch, COMMON_TURNS, COMPARED_TURNS, Comparison, rows},
        error::ApiError,
        id::{ConversationId, MessageId},
    },
};

impl Agent {
    /// Compares the branches that end below two messages, from one of their turns on.
    pub async fn compare_branches(
        &self,
        scope: &Scope,
        chat: &ConversationId,
        left: &MessageId,
        right: &MessageId,
        from: usize,
    ) -> Result<Comparison, ApiError> {
        let mut link = self.read(scope).await?;
        chat_conversation(&mut link, chat).await?;
        let mut ways = Vec::with_capacity(2);
        for (message, field) in [(left, "compare"), (right, "with")] {
            named(&mut link, chat, message, field).await?;
            check_visible(&mut link, chat, message).await?;
            let leaf = link.newest_below(chat, message).await?;
            ways.push(link.way_up(chat, &leaf).await?);
        }
        let at: HashMap<&MessageId, usize> =
            ways[1].iter().enumerate().map(|(at, id)| (id, at)).collect();
        // How far up from each end the ways meet; if they never do, they have nothing in common.
        let meet = ways[0].iter().enumerate().find_map(|(one, id)| Some((one, *at.get(id)?)));
        let lengths = meet.unwrap_or((ways[0].len(), ways[1].len()));
        let branch = |way: &[MessageId], length: usize| {
            let leaf = way.first().cloned().ok_or_else(|| ApiError::not_found("message"))?;
            Ok::<_, ApiError>(Branch { leaf, length })
        };
        let (left, right) = (branch(&ways[0], lengths.0)?, branch(&ways[1], lengths.1)?);
        let common = ways[0].len() - left.length;
        let shared = link.stretch(chat, &left.leaf, left.length, COMMON_TURNS.min(common)).await?;
        let longest = left.length.max(right.length);
        let from = from.min(longest.saturating_sub(1));
        // Whether the first turns answer the same is seen in those before them.
        let first = from.saturating_sub(1);
        let end = from + COMPARED_TURNS;
        let mut sides = Vec::with_capacity(2);
        for branch in [&left, &right] {
            let (start, end) = (first.min(branch.length), end.min(branch.length));
            sides.push(link.stretch(chat, &branch.leaf, branch.length - end, end - start).await?);
        }
        let right_side = sides.pop().unwrap_or_default();
        let left_side = sides.pop().unwrap_or_default();
        let mut rows = rows(left_side, right_side, first == 0);
        rows.drain(..(from - first).min(rows.len()));
        let next = Some(end).filter(|end| *end < longest);
        Ok(Comparison { left, right, common, shared, rows, from, next })
    }
}
