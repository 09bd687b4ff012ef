//! Messages as the rail shows them.

use std::collections::HashMap;

use leptos::prelude::*;

use crate::{
    agent::Talk,
    app::components::turn::{Piece, ShownTurn, asks},
    domain::{
        error::ApiError,
        id::{CallId, ChangeId},
        message::{Message, PartBody, Role, ToolResult},
        proposal::Proposal,
        run::Run,
    },
    markdown,
    state::Desk,
};

/// A view as HTML, outside of a page.
pub fn html(view: impl FnOnce() -> AnyView) -> String {
    Owner::new().with(|| view().to_html())
}

/// All turns of a conversation.
pub async fn shown_turns(desk: &Desk, name: &str, talk: Talk) -> Result<Vec<ShownTurn>, ApiError> {
    let mut turns = Vec::with_capacity(talk.messages.len());
    let last = talk.messages.last().map(|last| last.id.clone());
    for message in talk.messages {
        let run = talk.run.clone().filter(|run| {
            let told_of = message.id == run.reply_id || message.id == run.message_id;
            told_of && Some(&message.id) == last.as_ref()
        });
        turns.push(shown_turn(desk, name, message, run).await?);
    }
    Ok(turns)
}

/// One turn, with its words rendered and its drafts as they stand.
pub async fn shown_turn(
    desk: &Desk,
    name: &str,
    message: Message,
    run: Option<Run>,
) -> Result<ShownTurn, ApiError> {
    let asks = message.role == Role::Assistant && asks(&message.text());
    let mut results: HashMap<CallId, ToolResult> = HashMap::new();
    for part in &message.parts {
        if let PartBody::ToolResult(result) = &part.body {
            results.insert(result.call.clone(), result.clone());
        }
    }
    let mut pieces = Vec::new();
    for part in message.parts {
        match part.body {
            PartBody::Text(text) => {
                pieces.push(Piece::Words { html: markdown::to_html(&text), part: part.id });
            }
            PartBody::Reasoning(text) if !text.trim().is_empty() => {
                pieces.push(Piece::Thoughts { html: markdown::to_html(&text), part: part.id });
            }
            PartBody::ToolCall(call) => {
                let result = results.remove(&call.call);
                let change = result.as_ref().and_then(|result| result.change_id.clone());
                pieces.push(Piece::Step { call, result, took_ms: None });
                if let Some(change) = change
                    && let Some(draft) = proposal(desk, &change).await?
                {
                    pieces.push(Piece::Draft(Box::new(draft)));
                }
            }
            PartBody::Reasoning(_) | PartBody::ToolResult(_) => {}
        }
    }
    Ok(ShownTurn {
        id: message.id,
        role: message.role,
        who: match message.role {
            Role::User => "You".into(),
            Role::Assistant => name.to_owned(),
        },
        pieces,
        at: message.created_at,
        model: message.model,
        stop: message.stop,
        spent: message.spent,
        run,
        told: None,
        asks,
    })
}

/// A draft that may have been purged with what it was about.
pub async fn proposal(desk: &Desk, change: &ChangeId) -> Result<Option<Proposal>, ApiError> {
    match desk.gate.proposal(change).await {
        Ok(draft) => Ok(Some(draft)),
        Err(ApiError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
