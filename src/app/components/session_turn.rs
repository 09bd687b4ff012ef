//! A message of a session, with its siblings and what can be done with it. The server renders it.

use leptos::{prelude::*, server_fn::ServerFn};

use super::{
    icon::{Glyph, Icon},
    session_fields::model_options,
    turn::{Piece, PieceView, ShownTurn, TurnFoot, pieces_id},
    when::When,
    written::written,
};
use crate::{
    app::server_fns::{
        models::NamedModel,
        playground::{AnswerAgain, GoToInSession, SayOtherwise, SessionTurn},
    },
    domain::{
        id::{ConversationId, MessageId, PartId, PersonaId},
        message::{MESSAGE, Message, PartBody, Role, ToolCall},
        run::Run,
        tree::PathMessage,
    },
};

/// The tools that may have written files.
const WRITING: [&str; 4] = ["write_file", "edit_file", "delete_file", "execute"];

/// The message.
#[component]
pub fn SessionTurnView(
    /// Whose session.
    persona: PersonaId,
    /// Which one.
    session: ConversationId,
    /// What the persona is called.
    name: String,
    /// The message.
    turn: SessionTurn,
    /// The run that writes it, or that it asked for.
    run: Option<Run>,
    /// The models that could answer again; none where nobody would ask.
    models: Vec<NamedModel>,
) -> impl IntoView {
    let SessionTurn { said, html } = turn;
    let message = said.message.clone();
    let (id, role) = (message.id.clone(), message.role);
    let mine = role == Role::User;
    let who = if mine { "You".to_owned() } else { name };
    let live = said.generating.then_some("");
    let pieces = pieces(&message, html);
    let steps = (!said.generating).then(|| written_steps(&persona, &session, &message));
    let tools =
        (!said.generating).then(|| view! { <Tools persona session said=said.clone() models/> });
    let shown = ShownTurn {
        id: id.clone(),
        role,
        who: who.clone(),
        pieces: Vec::new(),
        at: message.created_at,
        model: message.model,
        stop: message.stop,
        spent: message.spent,
        run,
        told: None,
        asks: false,
    };
    view! {
        <li class="turn chat-turn" class:you=mine id=format!("turn-{id}") data-live=live tabindex="-1">
            <p class="who"><strong>{who}</strong> " " <When at=message.created_at/></p>
            <div class="pieces" id=pieces_id(&id)>
                {pieces.into_iter().map(|piece| view! { <PieceView piece/> }).collect_view()}
            </div>
            {steps}
            <TurnFoot turn=shown/>
            {tools}
        </li>
    }
}

/// The pieces of a message, its words as they were rendered.
fn pieces(message: &Message, mut html: Vec<(PartId, String)>) -> Vec<Piece> {
    let mut rendered = |part: &PartId| {
        let at = html.iter().position(|(known, _)| known == part)?;
        Some(html.swap_remove(at).1)
    };
    let result = |call: &ToolCall| {
        let mut parts = message.parts.iter();
        parts.find_map(|part| match &part.body {
            PartBody::ToolResult(result) if result.call == call.call => Some(result.clone()),
            _ => None,
        })
    };
    let pieces = message.parts.iter().filter_map(|part| {
        let id = part.id.clone();
        match &part.body {
            PartBody::Text(_) => Some(Piece::Words { html: rendered(&id)?, part: id }),
            PartBody::Reasoning(_) => Some(Piece::Thoughts { html: rendered(&id)?, part: id }),
            PartBody::ToolCall(call) => {
                Some(Piece::Step { result: result(call), call: call.clone() })
            }
            PartBody::ToolResult(_) => None,
        }
    });
    pieces.collect()
}

/// Links to what each step did to files.
fn written_steps(
    persona: &PersonaId,
    session: &ConversationId,
    message: &Message,
) -> Option<impl IntoView + use<>> {
    let done = |call: &ToolCall| {
        message.parts.iter().any(|part| {
            matches!(&part.body, PartBody::ToolResult(result) if result.call == call.call && !result.is_error)
        })
    };
    let calls: Vec<(String, String)> = message
        .parts
        .iter()
        .filter_map(|part| match &part.body {
            PartBody::ToolCall(call) if WRITING.contains(&call.name.as_str()) && done(call) => {
                let path = call.input.get("path").and_then(|path| path.as_str());
                let told = path.unwrap_or(&call.name).to_owned();
                Some((format!("/playground/{persona}/{session}?call={}", call.call), told))
            }
            _ => None,
        })
        .collect();
    (!calls.is_empty()).then(|| {
        view! {
            <p class="small faint steps-written">
                "Changes: "
                {calls.into_iter().map(|(href, told)| view! { <a href=href>{told}</a> " " }).collect_view()}
            </p>
        }
    })
}

/// The arrows between siblings, and what can be done.
#[component]
fn Tools(
    persona: PersonaId,
    session: ConversationId,
    said: PathMessage,
    models: Vec<NamedModel>,
) -> impl IntoView {
    let id = said.message.id.clone();
    let mine = said.message.role == Role::User;
    let fields = {
        let (persona, session) = (persona.to_string(), session.to_string());
        move |id: &MessageId| {
            view! {
                <input type="hidden" name="persona" value=persona.clone()/>
                <input type="hidden" name="session" value=session.clone()/>
                <input type="hidden" name="id" value=id.to_string()/>
            }
        }
    };
    let arrow = |to: &Option<MessageId>,
                 label: &'static str,
                 sign: &'static str,
                 key: &'static str| {
        let fields = to.as_ref().map(&fields);
        let off = to.is_none();
        view! {
            <form method="post" action=GoToInSession::url() data-quiet>
                {fields}
                <button class="icon tiny" aria-label=label title=label data-key=key disabled=off>{sign}</button>
            </form>
        }
    };
    let among = (said.siblings > 1).then(|| {
        view! {
            <span class="siblings row tight">
                {arrow(&said.previous, "The one before", "‹", "h")}
                <span class="small faint">{said.position} " / " {said.siblings}</span>
                {arrow(&said.following, "The one after", "›", "l")}
            </span>
        }
    });
    let asks = !models.is_empty();
    view! {
        <div class="row tight faint small chat-tools">
            {among}
            {mine.then(|| view! {
                <details class="popover" id=format!("edit-{id}")>
                    <summary class="button quiet small">"Edit"</summary>
                    <form method="post" action=SayOtherwise::url() class="popup stack" data-quiet>
                        {fields(&id)}
                        <label class="sr" for=format!("words-{id}")>"In other words"</label>
                        <textarea id=format!("words-{id}") name="content" rows="4" required maxlength=MESSAGE.max_chars inner_html=written(&said.content)></textarea>
                        <button class="button small">"Save and answer"</button>
                    </form>
                </details>
            })}
            {asks.then(|| view! {
                <form method="post" action=AnswerAgain::url() class="row tight" data-quiet>
                    {fields(&id)}
                    <label class="sr" for=format!("again-{id}")>"Model"</label>
                    <select id=format!("again-{id}") name="model" class="small">
                        <option value="">"the same model"</option>
                        {model_options(&models, "")}
                    </select>
                    <button class="button quiet small"><Glyph icon=Icon::Undo/> "Answer again"</button>
                </form>
            })}
        </div>
    }
}
