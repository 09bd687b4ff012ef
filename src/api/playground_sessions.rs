//! Sessions of the playground, and the files in them.

use aide::axum::{
    ApiRouter, IntoApiResponse,
    routing::{get_with, post_with},
};
use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, FromRequest as _, Multipart, Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::post,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    chat_import::{hear_out, refused_at, unreadable_file},
    extract::{Body, Created, Given, Params, Segments, identifier, page_size, refusing_over},
    ui_stream::{UiMessage, ui_messages},
};
use crate::{
    agent::{NewSession, Put, Unsaved},
    domain::{
        change::Conflict,
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId, RunId},
        list::Page,
        playground::{PlaygroundSession, SessionChanges, Todo, Variables, variables_in},
        version::Revision,
        virtual_file::{FileChange, FileInfo, FilePath, MAX_ALL_BYTES, PictureKind, VirtualFile},
    },
    state::{AppState, Desk},
    store::{FilePlace, Kept},
};

/// How much of an upload that is too large is heard out, so that whoever sent it is told why.
const MAX_HEARD_BYTES: usize = 16 * MAX_ALL_BYTES;

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/agents/{id}/playground/sessions",
            get_with(list, |op| op.summary("Sessions with a persona, the last written in first."))
                .post_with(create, |op| op.summary("Begin a session.")),
        )
        .api_route(
            "/api/agents/{id}/playground/sessions/{sessionId}",
            get_with(read, |op| op.summary("A session with its messages, files and todos."))
                .patch_with(update, |op| {
                    op.summary("Rename a session, or set its version, model and variables.")
                })
                .delete_with(delete, |op| op.summary("Delete a session; it can be brought back.")),
        )
        .api_route(
            "/api/agents/{id}/playground/sessions/{sessionId}/restore",
            post_with(restore, |op| op.summary("Bring a deleted session back.")),
        )
        .api_route(
            "/api/agents/{id}/playground/sessions/{sessionId}/clear",
            post_with(clear, |op| {
                op.summary("Begin a session anew; what was said stays on its branch.")
            }),
        )
        .api_route(
            "/api/agents/{id}/playground/sessions/{sessionId}/leaf",
            post_with(go_to, |op| op.summary("Go to the newest end below a message.")),
        )
        .api_route(
            "/api/agents/{id}/playground/sessions/{sessionId}/files",
            get_with(files, |op| op.summary("The files, as they are on the branch in use.")),
        )
        .api_route(
            "/api/agents/{id}/playground/sessions/{sessionId}/files/{*path}",
            get_with(read_file, |op| op.summary("What is in a file."))
                .put_with(write_file, |op| op.summary("Write a file."))
                .delete_with(delete_file, |op| op.summary("Delete a file.")),
        )
        .api_route(
            "/api/agents/{id}/playground/sessions/{sessionId}/files.zip",
            get_with(archive, |op| op.summary("All files, as a zip archive.")),
        )
}

/// The form that takes files of a person's own, larger than other bodies.
pub fn upload_routes() -> ApiRouter<AppState> {
    let upload = Router::new()
        .route("/api/agents/{id}/playground/sessions/{sessionId}/upload", post(upload));
    let upload = ApiRouter::new().merge(upload).layer(DefaultBodyLimit::max(MAX_ALL_BYTES));
    refusing_over(MAX_HEARD_BYTES, upload)
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

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FileAddress {
    /// The persona.
    id: PersonaId,
    /// The session.
    session_id: ConversationId,
    /// Where the file stands.
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct ListParams {
    /// Those that were deleted instead.
    #[serde(default)]
    deleted: bool,
    /// Where to go on: the `next` of the page before.
    after: Option<String>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct ReadParams {
    /// Only what was said before this message.
    before: Option<MessageId>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Begun {
    /// The identifier that it shall have; one is made up without it.
    #[serde(default)]
    id: Option<String>,
    /// What it is called; by its first message without a title.
    #[serde(default)]
    title: String,
    /// The version that speaks; the present one without it.
    #[serde(default)]
    persona_revision: Option<Revision>,
    /// The model; the persona's own without it.
    #[serde(default)]
    model: String,
    /// What stands in for `{{name}}` in the prompt.
    #[serde(default)]
    variables: Variables,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Going {
    /// The message.
    leaf: MessageId,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Written {
    /// All that the file says.
    content: String,
    /// The revision that it is written over, 0 for a file that is not there yet: when another one stands
    /// there, nothing is written, and the answer has both texts. Without it, it is written over whatever
    /// stands there.
    #[serde(default)]
    revision: Option<Revision>,
}

/// A session with all that is in it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Whole {
    /// The session.
    #[serde(flatten)]
    session: PlaygroundSession,
    /// What can be filled in the prompt of the version that speaks.
    variable_names: Vec<String>,
    /// The branch in use, as the AI SDK's clients keep messages, the oldest first.
    messages: Vec<UiMessage>,
    /// Send it as `before` to get what was said before; `null` at the beginning.
    next: Option<MessageId>,
    /// The run that goes on.
    run_id: Option<RunId>,
    /// The files on this branch.
    files: Vec<FileInfo>,
    /// What is to be done, as it was last written on this branch.
    todos: Vec<Todo>,
}

/// The files of a session.
#[derive(Serialize, JsonSchema)]
struct Listed {
    /// The files, by their paths.
    items: Vec<FileInfo>,
    /// There is no other page.
    next: Option<String>,
}

async fn list(
    desk: Desk,
    Segments(path): Segments<AgentPath>,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<PlaygroundSession>>, ApiError> {
    let kept = if params.deleted { Kept::Deleted } else { Kept::InUse };
    let mut link = desk.read().await?;
    link.persona(&path.id).await?;
    let limit = page_size(params.limit);
    Ok(Json(link.sessions(&path.id, kept, params.after.as_deref(), limit).await?))
}

async fn create(
    desk: Desk,
    Segments(path): Segments<AgentPath>,
    Given(begun): Given<Begun>,
) -> Result<Created<PlaygroundSession>, ApiError> {
    let new = NewSession {
        id: Some(identifier(begun.id)?),
        persona: path.id,
        revision: begun.persona_revision,
        title: begun.title,
        model: begun.model,
        variables: begun.variables,
        system_prompt: None,
    };
    Ok(Created(desk.agent.create_session(&desk.scope, new).await?))
}

async fn read(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
    Params(params): Params<ReadParams>,
) -> Result<Json<Whole>, ApiError> {
    let (agent, scope) = (&desk.agent, &desk.scope);
    let session = agent.session(scope, &path.id, &path.session_id).await?;
    let branch = agent.session_path(scope, &session, params.before.as_ref()).await?;
    let files = agent.files(scope, &branch.place).await?;
    let fields = desk.read().await?.persona_at(&path.id, session.persona_revision).await?;
    let prompt = branch.tried.as_ref().or(session.system_prompt.as_ref());
    let prompt = prompt.unwrap_or(&fields.system_prompt);
    let run = branch.run.as_ref().filter(|run| !run.status.is_over());
    Ok(Json(Whole {
        variable_names: variables_in(prompt),
        messages: ui_messages(&branch),
        run_id: run.map(|run| run.id.clone()),
        todos: branch.todos,
        next: branch.next,
        files,
        session,
    }))
}

async fn update(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
    Body(changes): Body<SessionChanges>,
) -> Result<Json<PlaygroundSession>, ApiError> {
    let changed = desk.agent.change_session(&desk.scope, &path.id, &path.session_id, changes);
    Ok(Json(changed.await?))
}

async fn delete(desk: Desk, Segments(path): Segments<SessionPath>) -> Result<StatusCode, ApiError> {
    desk.agent.delete_session(&desk.scope, &path.id, &path.session_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn restore(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Json<PlaygroundSession>, ApiError> {
    Ok(Json(desk.agent.restore_session(&desk.scope, &path.id, &path.session_id).await?))
}

async fn clear(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Json<PlaygroundSession>, ApiError> {
    Ok(Json(desk.agent.clear_session(&desk.scope, &path.id, &path.session_id).await?))
}

async fn go_to(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
    Body(going): Body<Going>,
) -> Result<Json<PlaygroundSession>, ApiError> {
    let (agent, scope) = (&desk.agent, &desk.scope);
    agent.go_to_in_session(scope, &path.id, &path.session_id, &going.leaf).await?;
    Ok(Json(agent.session(scope, &path.id, &path.session_id).await?))
}

/// From where the files of a session are seen, when it is this persona's.
async fn place(
    desk: &Desk,
    persona: &PersonaId,
    session: &ConversationId,
) -> Result<FilePlace, ApiError> {
    let session = desk.agent.session(&desk.scope, persona, session).await?;
    desk.agent.session_place(&desk.scope, &session.id).await
}

async fn files(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<Json<Listed>, ApiError> {
    let place = place(&desk, &path.id, &path.session_id).await?;
    Ok(Json(Listed { items: desk.agent.files(&desk.scope, &place).await?, next: None }))
}

async fn read_file(
    desk: Desk,
    Segments(address): Segments<FileAddress>,
) -> Result<Response, ApiError> {
    let place = place(&desk, &address.id, &address.session_id).await?;
    let file = desk.agent.file(&desk.scope, &place, &FilePath::parse(&address.path)?).await?;
    Ok(download(file))
}

/// A file as something to save: what a model wrote is never shown as a page of ours.
fn download(file: VirtualFile) -> Response {
    let kind = match (file.text(), PictureKind::of(&file.content)) {
        (Some(_), _) => "text/plain; charset=utf-8",
        // A page of ours may draw it; opened by itself it is saved like all others.
        (None, Some(picture)) => picture.media_type(),
        (None, None) => "application/octet-stream",
    };
    let name = file.info.path.rsplit('/').next().unwrap_or_default();
    let plain: String = name
        .chars()
        .map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() || "._- ".contains(letter) => letter,
            _ => '_',
        })
        .collect();
    let named = HeaderValue::from_str(&format!("attachment; filename=\"{plain}\""));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (
            header::CONTENT_DISPOSITION,
            named.unwrap_or_else(|_| HeaderValue::from_static("attachment")),
        ),
    ];
    (headers, file.content).into_response()
}

async fn write_file(
    desk: Desk,
    Segments(address): Segments<FileAddress>,
    Body(written): Body<Written>,
) -> Result<StatusCode, ApiError> {
    let path = FilePath::parse(&address.path)?;
    let place = place(&desk, &address.id, &address.session_id).await?;
    let change = FileChange { path: path.clone(), content: Some(written.content.clone().into()) };
    let Some(seen) = written.revision else {
        desk.agent.put_files(&desk.scope, &place, vec![change]).await?;
        return Ok(StatusCode::NO_CONTENT);
    };
    let put = desk.agent.put_file_over(&desk.scope, &place, change, seen, Unsaved::Dropped);
    match put.await? {
        Put::Kept => Ok(StatusCode::NO_CONTENT),
        Put::Changed(there) => {
            let base =
                desk.read().await?.file_revision(&place.session, path.as_str(), seen).await?;
            let text = |file: &VirtualFile| file.text().unwrap_or_default().to_owned();
            Err(ApiError::Conflict(Box::new(Conflict {
                field: "file".into(),
                yours: written.content,
                theirs: there.as_ref().map(text).unwrap_or_default(),
                base: base.and_then(|base| String::from_utf8(base).ok()).unwrap_or_default(),
                revision: there.map_or(0, |file| file.info.revision),
            })))
        }
    }
}

async fn delete_file(
    desk: Desk,
    Segments(address): Segments<FileAddress>,
) -> Result<StatusCode, ApiError> {
    let path = FilePath::parse(&address.path)?;
    let place = place(&desk, &address.id, &address.session_id).await?;
    desk.agent.file(&desk.scope, &place, &path).await?;
    let gone = FileChange { path, content: None };
    desk.agent.put_files(&desk.scope, &place, vec![gone]).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn archive(
    desk: Desk,
    Segments(path): Segments<SessionPath>,
) -> Result<impl IntoApiResponse, ApiError> {
    let place = place(&desk, &path.id, &path.session_id).await?;
    let files = desk.agent.whole_files(&desk.scope, &place).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/zip"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"files.zip\""),
    ];
    // Megabytes are packed.
    let zipped = tokio::task::spawn_blocking(move || zipped(&files)).await;
    let packed = zipped.map_err(std::io::Error::other).flatten().map_err(|error| {
        let incident = uuid::Uuid::now_v7().simple().to_string();
        tracing::error!(incident, %error, "an archive could not be made");
        ApiError::Internal { incident }
    })?;
    Ok((headers, packed))
}

/// The files as an archive.
fn zipped(files: &[VirtualFile]) -> std::io::Result<Vec<u8>> {
    use std::io::{Cursor, Write};
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(&file.info.path, options)?;
        archive.write_all(&file.content)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Takes a form with files, and leads back to the session.
async fn upload(
    State(state): State<AppState>,
    desk: Desk,
    Segments(path): Segments<SessionPath>,
    request: Request,
) -> Result<Redirect, ApiError> {
    let place = match place(&desk, &path.id, &path.session_id).await {
        Ok(place) => place,
        Err(error) => {
            hear_out(request, MAX_HEARD_BYTES).await;
            return Err(error);
        }
    };
    let page = format!("/playground/{}/{}", path.id, path.session_id);
    let told = request.headers().get(header::CONTENT_LENGTH);
    let length = told.and_then(|told| told.to_str().ok()?.parse::<usize>().ok());
    let put = if length.is_some_and(|length| length > MAX_ALL_BYTES) {
        hear_out(request, MAX_HEARD_BYTES).await;
        Err(ApiError::TooLarge { limit_kib: MAX_ALL_BYTES as u64 / 1024 })
    } else {
        match Multipart::from_request(request, &state).await {
            Ok(form) => put_uploaded(&desk, &place, form).await,
            Err(_) => Err(ApiError::WrongType { expected: "multipart/form-data".into() }),
        }
    };
    Ok(Redirect::to(&match put {
        Ok(()) => page,
        Err(error) => refused_at(&page, error),
    }))
}

async fn put_uploaded(desk: &Desk, place: &FilePlace, mut form: Multipart) -> Result<(), ApiError> {
    let mut changes = Vec::new();
    let limit = MAX_ALL_BYTES;
    while let Some(field) =
        form.next_field().await.map_err(|error| unreadable_file(error, limit))?
    {
        let Some(name) = field.file_name().filter(|name| !name.is_empty()) else { continue };
        let path = FilePath::parse(name)?;
        let content = field.bytes().await.map_err(|error| unreadable_file(error, limit))?;
        changes.push(FileChange { path, content: Some(content.into()) });
    }
    if changes.is_empty() {
        return Err(ApiError::invalid("file", "Choose one or more files."));
    }
    desk.agent.put_files(&desk.scope, place, changes).await
}

#[cfg(test)]
mod tests;
