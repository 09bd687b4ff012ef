//! Talking in the rail.

use leptos::prelude::*;

use crate::domain::{
    error::ApiError,
    id::{ConversationId, MessageId, RunId},
};

/// Says something to whoever listens on a page: in a chat or in a session of the playground, to its persona.
#[server(prefix = "/fn", endpoint = "say")]
pub async fn say(
    /// The address of the page.
    at: String,
    /// What is said.
    words: String,
    /// What is marked on the page; a persona is told it as a quotation.
    #[server(default)]
    marked: String,
    /// In a chat or a session: what it follows; without it, what this device last saw, or the session's end.
    #[server(default)]
    parent: Option<MessageId>,
    /// In a chat or a session: whether the companion is asked instead.
    #[server(default)]
    aside: bool,
    /// Whether it waits for the answer that is being given.
    #[server(default)]
    wait: bool,
) -> Result<RunId, ApiError> {
    use crate::{
        agent::{ChatWords, Follows},
        state::{
            chat_at, compared_first, desk, device, is_plain_form, quoting, session_at, viewed,
        },
    };
    use leptos_router::location::Url;

    let desk = desk()?;
    if let Some((persona, session)) = session_at(&at).filter(|_| !aside) {
        let (agent, scope) = (&desk.agent, &desk.scope);
        let session = agent.session(scope, &persona, &session).await?;
        let parent = parent.filter(|parent| !parent.as_str().is_empty());
        let follows = parent.map_or(Follows::Leaf, Follows::After);
        let words = quoting(&marked, &words);
        // A plain form cannot ask again: its page comes once the answer is there.
        if wait || is_plain_form() {
            return Ok(agent.say_next_in_session(scope, &session, words, follows).await?.id);
        }
        return Ok(agent.say_in_session(scope, session, &words, follows, None).await?.id);
    }
    if let Some(chat) = chat_at(&at).filter(|_| !aside) {
        // Below two branches, a plain form knows neither of them: the first is gone on from, and shown.
        let compared = compared_first().filter(|_| is_plain_form());
        let parent = match &compared {
            Some(first) => Some(desk.read().await?.newest_below(&chat, first).await?),
            None => parent,
        };
        let (content, device) = (quoting(&marked, &words), Some(device()));
        let words = ChatWords { content, parent, device, ..ChatWords::default() };
        let said = match wait {
            true => Err(ApiError::Busy { run_id: RunId::default() }),
            false => desk.agent.say_in_chat(&desk.scope, &chat, words.clone()).await,
        };
        let run = match said {
            // Where nobody can be asked, it waits, and says what for: nothing that was written is lost.
            Err(_) if wait || is_plain_form() => {
                desk.agent.queue(&desk.scope, &chat, words).await?;
                let last = desk.read().await?.last_run(&chat).await?;
                last.map(|run| run.id).unwrap_or_default()
            }
            said => said?.id,
        };
        if compared.is_some() {
            leptos_axum::redirect(&format!("/chats/{chat}"));
        }
        return Ok(run);
    }
    let view = viewed(&desk, &at, &marked).await?;
    let run = desk.agent.say(&desk.scope, &view.listener, &words, Some(view.context)).await?;
    // Where there is no panel, the answer stands in a document of its own.
    if is_plain_form() {
        leptos_axum::redirect(&format!("/rail?whole=1&at={}", Url::escape(&at)));
    }
    Ok(run.id)
}

/// Begins a new conversation with whoever listens on a page.
#[server(prefix = "/fn", endpoint = "start_afresh")]
pub async fn start_afresh(
    /// The address of the page.
    at: String,
) -> Result<ConversationId, ApiError> {
    use crate::state::{desk, viewed};

    let desk = desk()?;
    let view = viewed(&desk, &at, "").await?;
    desk.agent.start_afresh(&desk.scope, &view.listener).await
}

/// Asks the same again.
#[server(prefix = "/fn", endpoint = "retry_run")]
pub async fn retry_run(
    /// Which run.
    id: RunId,
) -> Result<RunId, ApiError> {
    use crate::state::{desk, device};

    let desk = desk()?;
    let run = desk.agent.retry(&desk.scope, &id).await?;
    // In a chat, this device goes along to the new answer.
    let chat = &run.conversation_id;
    if desk.read().await?.chat(chat).await.is_ok() {
        desk.agent.go_to(&desk.scope, chat, run.follows(), Some(&device())).await?;
        leptos_axum::redirect(&format!("/chats/{chat}"));
    }
    Ok(run.id)
}

/// Goes on with an answer that broke off.
#[server(prefix = "/fn", endpoint = "go_on_run")]
pub async fn go_on_run(
    /// Which run.
    id: RunId,
) -> Result<RunId, ApiError> {
    use crate::state::{desk, device};

    let desk = desk()?;
    let run = desk.agent.go_on(&desk.scope, &id).await?;
    // In a chat, this device goes along to what follows.
    let chat = &run.conversation_id;
    if desk.read().await?.chat(chat).await.is_ok() {
        desk.agent.go_to(&desk.scope, chat, run.follows(), Some(&device())).await?;
        leptos_axum::redirect(&format!("/chats/{chat}"));
    }
    Ok(run.id)
}
