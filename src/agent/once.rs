//! What is sent twice is said once: whoever did not hear the answer sends the same again, and is told of the
//! first.

use super::Agent;
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId, is_wellformed},
        run::Run,
    },
    store::Link,
};

/// What a person says.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// The words.
    pub text: &'a str,
    /// What the sender calls it.
    pub client: Option<&'a str>,
}

impl<'a> From<&'a str> for Words<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, client: None }
    }
}

impl<'a> From<&'a String> for Words<'a> {
    fn from(text: &'a String) -> Self {
        text.as_str().into()
    }
}

impl Agent {
    /// The runs that answer what was sent under this name before; none when nothing was.
    pub(super) async fn said_before(
        &self,
        scope: &Scope,
        conversation: Option<&ConversationId>,
        client: Option<&str>,
    ) -> Result<Vec<Run>, ApiError> {
        let Some(client) = client else { return Ok(Vec::new()) };
        if !is_wellformed(client) {
            let rule = "What a sender calls a message has 1 to 64 letters, digits, dashes and underscores.";
            return Err(ApiError::invalid("clientId", rule));
        }
        let Some(conversation) = conversation else { return Ok(Vec::new()) };
        let mut link = self.read(scope).await?;
        let Some(first) = link.run_of_sent(conversation, client).await? else {
            return Ok(Vec::new());
        };
        let round = link.round(&first.round_id).await?;
        Ok(round.into_iter().map(|one| one.run).collect())
    }

    /// Says something, unless it was said before. Of two who send the same at once, the second is told of the
    /// first, whatever was in its way.
    pub(super) async fn once(
        &self,
        scope: &Scope,
        conversation: &ConversationId,
        client: Option<&str>,
        saying: impl Future<Output = Result<Vec<Run>, ApiError>>,
    ) -> Result<Vec<Run>, ApiError> {
        let before = self.said_before(scope, Some(conversation), client).await?;
        if !before.is_empty() {
            return Ok(before);
        }
        match saying.await {
            Ok(runs) => Ok(runs),
            Err(error) => {
                let meanwhile = self.said_before(scope, Some(conversation), client).await?;
                if meanwhile.is_empty() { Err(error) } else { Ok(meanwhile) }
            }
        }
    }
}

/// Remembers what the sender calls a message, with the message.
pub(super) async fn keep_client(
    link: &mut Link,
    conversation: &ConversationId,
    client: Option<&str>,
    message: &MessageId,
) -> Result<(), ApiError> {
    let Some(client) = client else { return Ok(()) };
    if link.keep_sent(conversation, client, message).await? {
        return Ok(());
    }
    let reason = "This message was sent already.";
    Err(ApiError::NotNow { reason: reason.into() })
}
