//! Paragraphs of what was told in a chat, each in other words of its own.

use super::{Agent, ChatEdit};
use crate::{
    changes::Scope,
    domain::{error::ApiError, id::MessageId, paragraph::with_paragraph},
};

impl Agent {
    /// Puts one paragraph of a message, counted from 0, in other words: the whole stands beside the
    /// message then. Without words, the paragraph is left out.
    pub async fn edit_paragraph(
        &self,
        scope: &Scope,
        message: &MessageId,
        number: usize,
        edit: ChatEdit,
    ) -> Result<MessageId, ApiError> {
        let (_, known) = self.said_in_chat(scope, message).await?;
        let Some(content) = with_paragraph(&known.message.text(), number, &edit.content) else {
            let rule = "That message has no such paragraph.";
            return Err(ApiError::invalid("paragraph", rule));
        };
        let (edited, _) = self.edit_message(scope, message, ChatEdit { content, ..edit }).await?;
        Ok(edited)
    }
}
