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
        id::{CallId, ConversationId, MessageId, PartId, PersonaId, RunId},
        message::{MESSAGE, Message, Part, PartBody, Role, ToolCall},
        playground::{CHANGED, EXECUTE},
        run::Run,
        timestamp::Timestamp,
        tree::PathMessage,
        visible::visible_in_prose,
    },
};

/// The tools that only look.
const READING: [&str; 4] = ["ls", "read_file", "glob", "grep"];
/// The tools that may have written files.
const WRITING: [&str; 4] = ["write_file", "edit_file", "delete_file", EXECUTE];

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
    let SessionTurn { said, html, took } = turn;
    let message = said.message.clone();
    let broken = run.as_ref().is_some_and(|run| run.status.is_over());
    // An answer that never came has a place of its own, below the question.
    if broken && message.role == Role::User {
        let never = run.clone().map(|run| {
            let (persona, session) = (persona.clone(), session.clone());
            view! { <NeverCame persona session name=name.clone() run models/> }
        });
        let (run, models, turn) = (None, Vec::new(), SessionTurn { said, html, took });
        let asked = view! { <SessionTurnView persona session name turn run models/> }.into_any();
        return view! { {asked} {never} }.into_any();
    }
    let (models, others) = if broken { (Vec::new(), models) } else { (models, Vec::new()) };
    let otherwise = (!others.is_empty()).then(|| {
        view! { <OtherModel persona=persona.clone() session=session.clone() id=message.id.clone() models=others/> }
            .into_any()
    });
    let (id, role) = (message.id.clone(), message.role);
    let mine = role == Role::User;
    let who = if mine { "You".to_owned() } else { name };
    let live = said.generating.then_some("");
    let pieces = pieces(&message, html, &took);
    let steps = (!said.generating).then(|| written_steps(&persona, &session, &message));
    // One that did not simply come to its end is linked where that is told.
    let traced = message.run_id.clone().filter(|_| run.is_none());
    let tools = (!said.generating)
        .then(|| view! { <Tools persona session said=said.clone() models traced/> });
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
            <TurnFoot turn=shown otherwise/>
            {tools}
        </li>
    }
    .into_any()
}

/// An answer that never came, and what one can do about it.
#[component]
fn NeverCame(
    persona: PersonaId,
    session: ConversationId,
    name: String,
    run: Run,
    models: Vec<NamedModel>,
) -> impl IntoView {
    let (id, at, asked) = (run.reply_id.clone(), run.created_at, run.message_id.clone());
    let otherwise = (!models.is_empty()).then(|| {
        view! { <OtherModel persona=persona session=session id=asked models/> }.into_any()
    });
    let shown = ShownTurn {
        id: id.clone(),
        role: Role::Assistant,
        who: name.clone(),
        pieces: Vec::new(),
        at,
        // Nothing was written, so nothing is told of what it took.
        model: String::new(),
        stop: None,
        spent: run.spent,
        run: Some(run),
        told: None,
        asks: false,
    };
    view! {
        <li class="turn chat-turn" id=format!("turn-{id}") tabindex="-1">
            <p class="who"><strong>{name}</strong> " " <When at/></p>
            <TurnFoot turn=shown otherwise/>
        </li>
    }
}

/// Has what failed tried by another model.
#[component]
fn OtherModel(
    persona: PersonaId,
    session: ConversationId,
    id: MessageId,
    models: Vec<NamedModel>,
) -> impl IntoView {
    view! {
        <form method="post" action=AnswerAgain::url() class="row tight" data-quiet>
            <input type="hidden" name="persona" value=persona.to_string()/>
            <input type="hidden" name="session" value=session.to_string()/>
            <input type="hidden" name="id" value=id.to_string()/>
            <label class="sr" for=format!("again-{id}")>"Model"</label>
            <select id=format!("again-{id}") name="model" class="small">
                <option value="">"another model…"</option>
                {model_options(&models, "")}
            </select>
            <button class="button quiet small"><Glyph icon=Icon::Undo/> "Retry with it"</button>
        </form>
    }
}

/// The pieces of a message, its words as they were rendered. How long a tool took is told as it was measured,
/// and otherwise by when it gave its result.
pub fn pieces(
    message: &Message,
    mut html: Vec<(PartId, String)>,
    measured: &[(CallId, u64)],
) -> Vec<Piece> {
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
    let guessed = times(&message.parts);
    let pieces = message.parts.iter().filter_map(|part| {
        let id = part.id.clone();
        match &part.body {
            PartBody::Text(_) => Some(Piece::Words { html: rendered(&id)?, part: id }),
            PartBody::Reasoning(_) => Some(Piece::Thoughts { html: rendered(&id)?, part: id }),
            PartBody::ToolCall(call) => {
                let mut times = measured.iter().chain(&guessed);
                let took_ms = times.find(|(known, _)| *known == call.call);
                let took_ms = took_ms.map(|(_, took)| *took);
                Some(Piece::Step { result: result(call), call: call.clone(), took_ms })
            }
            PartBody::ToolResult(_) => None,
        }
    });
    pieces.collect()
}

/// How long each tool took: those that only look begin together once all are asked for, the others one
/// after another.
fn times(parts: &[Part]) -> Vec<(CallId, u64)> {
    let mut times = Vec::new();
    let (mut asked, mut writes, mut last) = (Timestamp(0), false, Timestamp(0));
    let mut answering = false;
    for part in parts {
        match &part.body {
            PartBody::ToolCall(call) => {
                let fresh = std::mem::take(&mut answering);
                writes = (writes && !fresh) || !READING.contains(&call.name.as_str());
                (asked, last) = (part.at, Timestamp(0));
            }
            PartBody::ToolResult(result) => {
                answering = true;
                let began = if writes { asked.0.max(last.0) } else { asked.0 };
                times.push((result.call.clone(), (part.at.0 - began).max(0).cast_unsigned()));
                last = part.at;
            }
            PartBody::Text(_) | PartBody::Reasoning(_) => {}
        }
    }
    times
}

/// Links to what each step did to files.
fn written_steps(
    persona: &PersonaId,
    session: &ConversationId,
    message: &Message,
) -> Option<impl IntoView + use<>> {
    let done = |call: &ToolCall| {
        message.parts.iter().any(|part| match &part.body {
            PartBody::ToolResult(result) if result.call == call.call => {
                // A program that fails keeps what it wrote before, and one that succeeds may write nothing.
                let told = CHANGED.iter().any(|told| result.output.contains(told));
                if call.name == EXECUTE { told } else { !result.is_error }
            }
            _ => false,
        })
    };
    let calls: Vec<(String, String)> = message
        .parts
        .iter()
        .filter_map(|part| match &part.body {
            PartBody::ToolCall(call) if WRITING.contains(&call.name.as_str()) && done(call) => {
                let path = call.input.get("path").and_then(|path| path.as_str());
                let told = visible_in_prose(path.unwrap_or(&call.name).to_owned());
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
    traced: Option<RunId>,
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
    let trace = traced.map(|run| format!("/traces/{run}"));
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
                        <option value="">"the session’s model"</option>
                        {model_options(&models, "")}
                    </select>
                    <button class="button quiet small"><Glyph icon=Icon::Undo/> "Answer again"</button>
                </form>
            })}
            {trace.map(|trace| view! { <a href=trace>"Trace"</a> })}
        </div>
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{message::ToolResult, run::Spent};

    fn part(at: i64, body: PartBody) -> Part {
        Part { id: "p".into(), at: Timestamp(at), body, carried: None }
    }

    fn call(at: i64, name: &str, id: &str) -> Part {
        let call = ToolCall { call: id.into(), name: name.into(), input: json!({}) };
        part(at, PartBody::ToolCall(call))
    }

    fn result(at: i64, id: &str) -> Part {
        let result = ToolResult {
            call: id.into(),
            name: String::new(),
            output: String::new(),
            is_error: false,
            change_id: None,
            sources: Vec::new(),
        };
        part(at, PartBody::ToolResult(result))
    }

    #[test]
    fn tools_that_write_are_timed_one_after_another_and_those_that_look_together() {
        let parts = [
            call(10, "write_file", "a"),
            call(12, "ls", "b"),
            result(20, "a"),
            result(23, "b"),
            call(50, "ls", "c"),
            call(50, "grep", "d"),
            result(54, "d"),
            result(58, "c"),
        ];

        let took: Vec<(CallId, u64)> =
            [("a", 8), ("b", 3), ("d", 4), ("c", 8)].map(|(id, ms)| (id.into(), ms)).into();
        assert_eq!(times(&parts), took);
    }

    #[test]
    fn what_was_measured_counts_more_than_when_results_were_given() {
        let parts =
            vec![call(10, "ls", "a"), call(10, "ls", "b"), result(20, "a"), result(30, "b")];
        let message = Message {
            id: "m".into(),
            parent_id: None,
            role: Role::Assistant,
            parts,
            run_id: None,
            model: String::new(),
            stop: None,
            spent: Spent::default(),
            created_at: Timestamp(10),
        };

        let told = pieces(&message, Vec::new(), &[("a".into(), 3)]);

        let took = told.into_iter().map(|piece| match piece {
            Piece::Step { took_ms, .. } => took_ms,
            Piece::Words { .. } | Piece::Thoughts { .. } | Piece::Draft(_) => None,
        });
        assert_eq!(took.collect::<Vec<_>>(), [Some(3), Some(20)]);
    }
}
