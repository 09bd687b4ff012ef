//! Chats with personas: beginning and setting them up, what is said in them, and their files.

use aide::axum::{
    ApiRouter, IntoApiResponse,
    routing::{get_with, post_with},
};
use axum::{Json, http::header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Body, Created, Given, Params, Segments, page_size};
use crate::{
    agent::{ChatChanges, ChatFile, ChatWords, NewChat, PathAsk},
    domain::{
        change::Outcome,
        chat::{Chat, ChatMode, ChatSummary, SettingsPatch},
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId, RunId},
        list::Page,
        run::Run,
        sent::Estimate,
        tree::{PathPage, TreeNode},
        version::Revision,
    },
    state::{AppState, Desk},
};

/// How many nodes of a map come at once when nobody says otherwise.
const NODES: u32 = 1000;
/// The most that come at once.
const MAX_NODES: u32 = 2000;

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/chats",
            get_with(list, |op| op.summary("Chats, the last written in first."))
                .post_with(create, |op| op.summary("Begin a chat with a persona as it is now.")),
        )
        .api_route(
            "/api/chats/{id}",
            get_with(read, |op| op.summary("One chat."))
                .patch_with(update, |op| {
                    op.summary("Change a chat's title, mode, settings or personas.")
                })
                .delete_with(delete, |op| op.summary("Move a chat to the bin.")),
        )
        .api_route(
            "/api/chats/{id}/update-persona",
            post_with(update_persona, |op| op.summary("Let the persona speak as it is now.")),
        )
        .api_route(
            "/api/chats/{id}/messages",
            get_with(messages, |op| op.summary("A path through a chat, from its leaf upwards."))
                .post_with(say, |op| op.summary("Say something, and have it answered.")),
        )
        .api_route(
            "/api/chats/{id}/leaf",
            post_with(go_to, |op| op.summary("Go to the newest end below a message.")),
        )
        .api_route(
            "/api/chats/{id}/tree",
            get_with(tree, |op| op.summary("All messages of a chat, for its map.")),
        )
        .api_route(
            "/api/chats/{id}/export",
            get_with(export, |op| {
                op.summary("A whole chat as a file, however large it is.")
                    .response::<200, Json<ChatFile>>()
            }),
        )
        .api_route(
            "/api/chats/{id}/markdown",
            get_with(markdown, |op| {
                op.summary("One path through a chat as markdown, however long it is.")
            }),
        )
        .api_route(
            "/api/chats/{id}/estimate",
            get_with(estimate, |op| op.summary("What the next message would take.")),
        )
}

#[derive(Deserialize, JsonSchema)]
pub struct ChatPath {
    /// The chat.
    pub id: ConversationId,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListParams {
    /// Only chats with this persona.
    persona_id: Option<PersonaId>,
    /// Where to go on: the `next` of the page before.
    after: Option<String>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Begun {
    /// Who speaks.
    #[serde(default)]
    persona_id: Option<PersonaId>,
    /// Several who speak, in order, instead of one.
    #[serde(default)]
    persona_ids: Vec<PersonaId>,
    /// How; as roleplay unless said.
    #[serde(default)]
    mode: ChatMode,
    /// What it is called; without a title, one is found after the first answer.
    #[serde(default)]
    title: String,
    /// What is set for it.
    #[serde(default)]
    settings: SettingsPatch,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Changes {
    /// What it is called: no model writes another title over it.
    title: Option<String>,
    /// How the persona speaks.
    mode: Option<ChatMode>,
    /// What is set for it; what is left out stays.
    #[serde(default)]
    settings: SettingsPatch,
    /// Who speaks, in order: a new one as it is now, one that is there keeps its version.
    members: Option<Vec<PersonaId>>,
    /// The revision that this was written against.
    revision: Option<Revision>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Update {
    /// How many of the person's last messages are said again, on a branch beside the old one: up to 5.
    replay: Option<usize>,
    /// The device whose branch it is.
    device_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PathParams {
    /// Where the path ends: at the newest end below this message.
    leaf: Option<MessageId>,
    /// Only what was said before this message.
    before: Option<MessageId>,
    /// A message that must be among them, however far above the end it stands.
    around: Option<MessageId>,
    /// How many at most; 50 unless said, 100 at the most.
    limit: Option<u32>,
    /// The device that asks: without a leaf, it gets the path it last saw.
    device_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Said {
    /// What is said, up to 50 000 characters.
    content: String,
    /// What it follows; without it, what the device last saw.
    parent_id: Option<MessageId>,
    /// Whether it may begin another branch, where something follows that message already. Otherwise that is told (409,
    /// `moved_on`, with its `leaf`), and nothing is said.
    #[serde(default)]
    branch: bool,
    /// The device that says it.
    device_id: Option<String>,
    /// What the sender calls it, once in a chat: the same sent again is told of the first and its runs.
    client_id: Option<String>,
}

impl From<Said> for ChatWords {
    fn from(said: Said) -> Self {
        let Said { content, parent_id, branch, device_id, client_id } = said;
        Self { content, parent: parent_id, branch, device: device_id, client: client_id }
    }
}

/// A message that was kept, and the run that answers it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptMessage {
    /// The message.
    pub id: MessageId,
    /// The run: follow it at `/api/runs/{id}/events`.
    pub run_id: Option<RunId>,
    /// The message that the run writes.
    pub reply_id: Option<MessageId>,
    /// All runs that answer it by now, in the order of their personas.
    pub run_ids: Vec<RunId>,
}

impl From<Run> for KeptMessage {
    fn from(run: Run) -> Self {
        let run_ids = vec![run.id.clone()];
        Self { id: run.message_id, run_id: Some(run.id), reply_id: Some(run.reply_id), run_ids }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Target {
    /// Any message of the chat.
    leaf: MessageId,
    /// The device that remembers it.
    device_id: Option<String>,
}

/// Where a chat ends now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Leaf {
    /// The last message; `null` when there is none.
    pub leaf: Option<MessageId>,
}

#[derive(Deserialize, JsonSchema)]
struct TreeParams {
    /// Where to go on: the `next` of the page before.
    after: Option<MessageId>,
    /// How many at most; 1000 unless said, 2000 at the most.
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EstimateParams {
    /// What would be said.
    #[serde(default)]
    content: String,
    /// After which message.
    leaf: Option<MessageId>,
    /// The device that asks.
    device_id: Option<String>,
}

async fn list(
    desk: Desk,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<ChatSummary>>, ApiError> {
    let mut link = desk.read().await?;
    let (persona, after) = (params.persona_id.as_ref(), params.after.as_deref());
    Ok(Json(link.chats(persona, after, page_size(params.limit)).await?))
}

async fn create(desk: Desk, Body(new): Body<Begun>) -> Result<Created<Chat>, ApiError> {
    let Begun { persona_id, persona_ids, mode, title, settings } = new;
    let mut wanted = persona_id.into_iter().chain(persona_ids);
    let Some(persona) = wanted.next() else {
        return Err(ApiError::invalid("personaId", "A chat needs a persona."));
    };
    let new = NewChat { persona, others: wanted.collect(), mode, title, settings };
    Ok(Created(desk.agent.create_chat(&desk.scope, new).await?))
}

async fn read(desk: Desk, Segments(path): Segments<ChatPath>) -> Result<Json<Chat>, ApiError> {
    Ok(Json(desk.read().await?.chat(&path.id).await?))
}

async fn update(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
    Body(changes): Body<Changes>,
) -> Result<Json<Chat>, ApiError> {
    let Changes { title, mode, settings, members, revision } = changes;
    let changes = ChatChanges { title, mode, settings, members, base: revision };
    Ok(Json(desk.agent.change_chat(&desk.scope, &path.id, changes).await?))
}

async fn delete(desk: Desk, Segments(path): Segments<ChatPath>) -> Result<Json<Outcome>, ApiError> {
    Ok(Json(desk.agent.delete_chat(&desk.scope, &path.id).await?))
}

async fn update_persona(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
    Given(wish): Given<Update>,
) -> Result<Json<Chat>, ApiError> {
    let Update { replay, device_id } = wish;
    let (agent, scope) = (&desk.agent, &desk.scope);
    Ok(Json(agent.update_and_replay(scope, &path.id, replay, device_id.as_deref()).await?))
}

async fn messages(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
    Params(params): Params<PathParams>,
) -> Result<Json<PathPage>, ApiError> {
    let PathParams { leaf, before, around, limit, device_id } = params;
    let ask = PathAsk { leaf, before, around, limit, device: device_id };
    Ok(Json(desk.agent.path(&desk.scope, &path.id, ask).await?))
}

async fn say(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
    Body(said): Body<Said>,
) -> Result<Created<KeptMessage>, ApiError> {
    let runs = desk.agent.say_to(&desk.scope, &path.id, said.into(), None).await?;
    let run_ids = runs.iter().map(|run| run.id.clone()).collect();
    let first = runs.into_iter().next().ok_or_else(|| ApiError::not_found("run"))?;
    Ok(Created(KeptMessage { run_ids, ..first.into() }))
}

async fn go_to(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
    Body(target): Body<Target>,
) -> Result<Json<Leaf>, ApiError> {
    let device = target.device_id.as_deref();
    let leaf = desk.agent.go_to(&desk.scope, &path.id, &target.leaf, device).await?;
    Ok(Json(Leaf { leaf: Some(leaf) }))
}

async fn tree(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
    Params(params): Params<TreeParams>,
) -> Result<Json<Page<TreeNode>>, ApiError> {
    let limit = params.limit.unwrap_or(NODES).clamp(1, MAX_NODES);
    let mut link = desk.read().await?;
    link.chat(&path.id).await?;
    let rows = link.messages_after(&path.id, params.after.as_ref(), limit + 1).await?;
    let page = Page::cut(rows, limit, |row| row.message.id.to_string());
    Ok(Json(page.map(TreeNode::from)))
}

async fn export(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
) -> Result<impl IntoApiResponse, ApiError> {
    let pieces = desk.agent.export_chat(&desk.scope, &path.id).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], axum::body::Body::from_stream(pieces)))
}

async fn markdown(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
    Params(params): Params<PathParams>,
) -> Result<impl IntoApiResponse, ApiError> {
    let (leaf, device) = (params.leaf, params.device_id);
    let pieces = desk.agent.chat_markdown(&desk.scope, &path.id, leaf, device).await?;
    let kind = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    Ok((kind, axum::body::Body::from_stream(pieces)))
}

async fn estimate(
    desk: Desk,
    Segments(path): Segments<ChatPath>,
    Params(params): Params<EstimateParams>,
) -> Result<Json<Estimate>, ApiError> {
    let EstimateParams { content, leaf, device_id } = params;
    Ok(Json(desk.agent.estimate(&desk.scope, &path.id, &content, leaf, device_id).await?))
}

/// The device that asks for something.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Device {
    /// The device.
    pub device_id: Option<String>,
}

/// A body that says at most which device asks.
pub type FromDevice = Given<Device>;
