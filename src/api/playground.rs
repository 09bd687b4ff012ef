//! Talking with a persona in the playground, in the AI SDK's UI message stream.

use aide::axum::{
    ApiRouter,
    routing::{get_with, post_with},
};
use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    extract::{Body, Segments, taking},
    ui_stream,
};
use crate::{
    agent::{Again, Follows, NewSession, SessionDraft, Words},
    domain::{
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId, is_wellformed},
        playground::{PlaygroundSession, SessionChanges, Variables},
        run::Run,
    },
    state::{AppState, Desk},
};

/// The most messages of a client's history that are looked at.
const MAX_MESSAGES: usize = 2000;
/// The largest history that a client sends along.
const MAX_SAID_BYTES: usize = 32 * 1024 * 1024;
/// How long identifiers are at least that clients make up.
const GENERATED: usize = 16;

pub fn routes() -> ApiRouter<AppState> {
    let resume = || {
        get_with(resume, |op| {
            op.summary(
                "The answer that is being given, from its beginning; 204 when there is none.",
            )
        })
    };
    ApiRouter::new()
        .api_route("/api/agents/{id}/playground/{sessionId}/stream", resume())
        // Where the AI SDK's own transport looks for it.
        .api_route("/api/agents/{id}/playground/chat/{sessionId}/stream", resume())
        .api_route(
            "/api/agents/{id}/playground/{sessionId}/stop",
            post_with(stop, |op| op.summary("Stop the answer; its words stay.")),
        )
}

/// The route that takes a larger body than others: the AI SDK's client sends all that was said with every
/// message.
pub fn chat_routes() -> ApiRouter<AppState> {
    let routes = ApiRouter::new().api_route(
        "/api/agents/{id}/playground/chat",
        post_with(chat, |op| {
            op.summary("Say something to a persona. Answers with the AI SDK's UI message stream.")
        }),
    );
    taking(MAX_SAID_BYTES, routes)
}

#[derive(Deserialize, JsonSchema)]
struct AgentPath {
    /// The persona.
    id: PersonaId,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SessionPath {
    /// The persona.
    id: PersonaId,
    /// The session.
    session_id: ConversationId,
}

/// What a client says. What else an application sends along is left alone.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Said {
    /// What was said, as the client knows it. The last message of the user is answered; of the others only
    /// the identifiers count, because the session keeps its own history.
    messages: Vec<SaidMessage>,
    /// The session; without one, a new one is begun.
    #[serde(default)]
    session_id: Option<String>,
    /// What the client calls its chat: the session's identifier when `sessionId` is not given.
    #[serde(default)]
    id: Option<String>,
    /// What the client wants: `submit-message` or `regenerate-message`.
    #[serde(default)]
    trigger: Option<String>,
    /// The message that is answered again, or that is written anew.
    #[serde(default)]
    message_id: Option<String>,
    /// What stands in for `{{name}}` in the prompt; kept with the session.
    #[serde(default)]
    variables: Option<Variables>,
    /// The service of the model: `anthropic`, `openai`, `google` or another.
    #[serde(default)]
    model_provider: Option<String>,
    /// The model; kept with the session.
    #[serde(default)]
    model_id: Option<String>,
}

/// A message as a client has it.
#[derive(Deserialize, JsonSchema)]
struct SaidMessage {
    /// The identifier.
    #[serde(default)]
    id: Option<String>,
    /// Who says it.
    role: String,
    /// Its words, when it has no parts.
    #[serde(default)]
    content: Option<String>,
    /// Its parts.
    #[serde(default)]
    parts: Option<Vec<SaidPart>>,
}

/// A part of it. Only words of the user are taken.
#[derive(Deserialize, JsonSchema)]
struct SaidPart {
    /// What it is.
    #[serde(rename = "type")]
    kind: String,
    /// Its words.
    #[serde(default)]
    text: Option<String>,
}

impl SaidMessage {
    fn text(&self) -> String {
        match (&self.parts, &self.content) {
            (Some(parts), _) => {
                let words = parts.iter().filter(|part| part.kind == "text");
                let words = words.filter_map(|part| part.text.as_deref());
                words.collect::<Vec<_>>().join("\n\n")
            }
            (None, Some(content)) => content.clone(),
            (None, None) => String::new(),
        }
    }
}

impl Said {
    /// The model string that the client means.
    fn model(&self) -> Option<String> {
        let id = self.model_id.as_deref().map(str::trim).filter(|id| !id.is_empty())?;
        Some(match self.model_provider.as_deref() {
            None | Some("" | "demo") => id.to_owned(),
            Some("google") => format!("gemini/{id}"),
            Some(provider) => format!("{provider}/{id}"),
        })
    }

    /// Whether the client shows the body of an error to people as it is.
    fn shows_errors(&self) -> bool {
        self.trigger.is_some()
    }
}

async fn chat(
    State(state): State<AppState>,
    desk: Desk,
    Segments(path): Segments<AgentPath>,
    said: Result<Body<Said>, ApiError>,
) -> Result<Response, ApiError> {
    let Body(said) = said.map_err(|error| match error {
        ApiError::TooLarge { .. } => ApiError::TooLarge { limit_kib: MAX_SAID_BYTES as u64 / 1024 },
        other => other,
    })?;
    let shows_errors = said.shows_errors();
    let answered = async {
        let run = answer(&desk, &path.id, said).await?;
        let events = desk.agent.watch(&desk.scope, &run.id, 0).await?;
        Ok(ui_stream::respond(&run, events, state.closing))
    };
    match answered.await {
        Err(error) if shows_errors => Ok(in_words(error)),
        answered => answered,
    }
}

/// An error whose body is the sentence alone.
fn in_words(error: ApiError) -> Response {
    let words = error.to_string();
    let mut response = error.into_response();
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.map(|_| words.into())
}

async fn answer(desk: &Desk, persona: &PersonaId, said: Said) -> Result<Run, ApiError> {
    if said.messages.len() > MAX_MESSAGES {
        let rule = format!("At most {MAX_MESSAGES} messages are taken.");
        return Err(ApiError::invalid("messages", rule));
    }
    let draft = session(desk, persona, &said).await?;
    let session = &draft.session;
    let (agent, scope) = (&desk.agent, &desk.scope);
    let named = said.message_id.as_deref().map(MessageId::new);
    let named = named.filter(|id| !id.as_str().is_empty());
    let at = said.messages.iter().rposition(|message| message.role == "user");
    let before = said.messages[..at.unwrap_or_default()].iter().rev();
    let mut before = before.filter_map(|message| message.id.as_deref().map(MessageId::new));
    let before = before.find(|id| !id.as_str().is_empty());
    // A client with a history of its own says where in ours it stands.
    let after = match &before {
        Some(id) => agent.standing_in(scope, &session.id, id).await?,
        None => None,
    };
    let mut is_anew = named.is_some();
    if said.trigger.as_deref() == Some("regenerate-message") {
        let asked = at.map(|at| &said.messages[at]);
        match again(desk, session, named, asked, after.as_ref()).await? {
            Again::Said(message) => return agent.answer_again(scope, draft, &message, None).await,
            Again::Reworded => is_anew = true,
            Again::Never => is_anew = false,
        }
    }
    let Some(at) = at else {
        let rule = "The messages must hold one of the user's, to be answered.";
        return Err(ApiError::invalid("messages", rule));
    };
    let words = said.messages[at].text();
    let follows = match (after, before) {
        (Some(known), _) => Follows::After(known),
        // The first message in other words is another beginning.
        (None, None) if is_anew => Follows::Nothing,
        (None, _) => Follows::Leaf,
    };
    // A message that is written anew keeps the identifier that it had.
    let client = said.messages[at].id.as_deref().filter(|id| !is_anew && is_generated(id));
    agent.say_in_session(scope, draft, Words { text: &words, client }, follows, None).await
}

/// What the session knows of what shall be answered again: the message that is named, or else the last of the
/// user's. A client that names none may have been refused with it, and then it was never said.
async fn again(
    desk: &Desk,
    session: &PlaygroundSession,
    named: Option<MessageId>,
    asked: Option<&SaidMessage>,
    after: Option<&MessageId>,
) -> Result<Again, ApiError> {
    let (agent, scope, id) = (&desk.agent, &desk.scope, &session.id);
    if let Some(named) = &named
        && (asked.is_none() || agent.standing_in(scope, id, named).await?.is_some())
    {
        return Ok(Again::Said(named.clone()));
    }
    if let Some(asked) = asked {
        let (text, client) = (&asked.text(), asked.id.as_deref());
        return agent.known_words(scope, id, Words { text, client }, after).await;
    }
    session.leaf.clone().map(Again::Said).ok_or_else(|| {
        ApiError::invalid("messageId", "Nothing was said yet that could be answered again.")
    })
}

/// Whether a client made up an identifier for one message, and did not just count.
fn is_generated(id: &str) -> bool {
    id.len() >= GENERATED && is_wellformed(id)
}

/// The session that the client means, with what it sets for it; a new one when it names none, or calls it
/// by a name of its own that we do not know yet. It is kept with what is said in it.
async fn session(desk: &Desk, persona: &PersonaId, said: &Said) -> Result<SessionDraft, ApiError> {
    let (agent, scope) = (&desk.agent, &desk.scope);
    let known = match (&said.session_id, &said.id) {
        (Some(id), _) => {
            Some(agent.session(scope, persona, &ConversationId::new(id.as_str())).await?)
        }
        (None, Some(id)) => {
            match agent.session(scope, persona, &ConversationId::new(id.as_str())).await {
                Ok(session) => Some(session),
                Err(ApiError::NotFound { .. }) => None,
                Err(error) => return Err(error),
            }
        }
        (None, None) => None,
    };
    let (model, variables) = (said.model(), said.variables.clone());
    match known {
        Some(session) => {
            let model = model.filter(|model| *model != session.model);
            let variables = variables.filter(|variables| *variables != session.variables);
            if model.is_none() && variables.is_none() {
                return Ok(session.into());
            }
            let changes = SessionChanges { model, variables, ..SessionChanges::default() };
            agent.changed_session(scope, persona, &session.id, changes).await
        }
        None => {
            let id = said.id.as_deref().filter(|id| is_wellformed(id));
            let new = NewSession {
                id: id.map(ConversationId::new),
                persona: persona.clone(),
                model: model.unwrap_or_default(),
                variables: variables.unwrap_or_default(),
                ..NewSession::default()
            };
            agent.new_session(scope, new).await
        }
    }
}

async fn resume(
    State(state): State<AppState>,
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Response, ApiError> {
    let nothing = || StatusCode::NO_CONTENT.into_response();
    let session = match desk.agent.session(&desk.scope, &path.id, &path.session_id).await {
        Ok(session) => session,
        // A client looks whether it can resume before anything was said, and takes 404 for a failure.
        Err(ApiError::NotFound { .. }) => return Ok(nothing()),
        Err(error) => return Err(error),
    };
    let run = desk.read().await?.run_going_on(&session.id).await?;
    let Some(run) = run else { return Ok(nothing()) };
    let events = desk.agent.watch(&desk.scope, &run.id, 0).await?;
    Ok(ui_stream::respond(&run, events, state.closing))
}

/// What was stopped.
#[derive(Serialize, JsonSchema)]
struct Stopped {
    /// The run, as it ended; `null` when nothing was going on.
    run: Option<Run>,
}

async fn stop(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Json<Stopped>, ApiError> {
    let session = desk.agent.session(&desk.scope, &path.id, &path.session_id).await?;
    Ok(Json(Stopped { run: desk.agent.stop_session(&desk.scope, &session.id).await? }))
}
