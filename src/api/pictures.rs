//! Pictures: ask for one, look at them, and what can be done with them.

use aide::axum::{
    ApiRouter, IntoApiResponse,
    routing::{get_with, post_with},
};
use axum::{Json, http::header};
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{Body, Created, Given, Params, Segments, page_size};
use crate::{
    domain::{
        change::Outcome,
        error::ApiError,
        id::{ConversationId, MessageId, PersonaId, PictureId},
        list::Page,
        picture::{Picture, PictureSettings, Shape, Wish},
    },
    jobs::Imagine,
    state::{AppState, Desk},
    store::PictureFilter,
};

/// A picture with this name never changes.
const FOR_EVER: &str = "private, max-age=31536000, immutable";

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/pictures",
            get_with(list, |op| op.summary("Pictures, the newest first."))
                .post_with(imagine, |op| op.summary("Have a picture made.")),
        )
        .api_route(
            "/api/picture-settings",
            get_with(settings, |op| op.summary("What is set about pictures."))
                .put_with(set, |op| op.summary("Set what is wanted about pictures.")),
        )
        .api_route(
            "/api/pictures/{id}",
            get_with(read, |op| op.summary("One picture, or how it stands."))
                .delete_with(delete, |op| op.summary("Delete a picture.")),
        )
        .api_route(
            "/api/pictures/{id}/retry",
            post_with(retry, |op| op.summary("Try again to make a picture.")),
        )
        .api_route(
            "/api/pictures/{id}/restore",
            post_with(restore, |op| op.summary("Bring a deleted picture back.")),
        )
        .api_route(
            "/api/pictures/{id}/face",
            post_with(face, |op| op.summary("Make a picture the face of a persona.")),
        )
        .api_route(
            "/api/pictures/{id}/file",
            get_with(file, |op| op.summary("The picture itself.")),
        )
}

#[derive(Deserialize, JsonSchema)]
struct PicturePath {
    /// The picture.
    id: PictureId,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListParams {
    /// Only those of this persona.
    persona_id: Option<PersonaId>,
    /// Only those of this chat.
    chat_id: Option<ConversationId>,
    /// Only those of this message.
    message_id: Option<MessageId>,
    /// Those that were deleted, instead of those that were not.
    #[serde(default)]
    deleted: bool,
    /// Where to go on: the `next` of the page before.
    after: Option<String>,
    /// How many at most; 50 unless said, 200 at the most.
    limit: Option<u32>,
}

/// A picture that is asked for: by its prompt, or as the moment of an answer.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewPicture {
    /// What it shows, up to 4000 characters. May be left out for an answer in a chat.
    #[serde(default)]
    prompt: String,
    /// Whom it shows.
    persona_id: Option<PersonaId>,
    /// The message it belongs to.
    message_id: Option<MessageId>,
    /// Its shape.
    #[serde(default)]
    size: Shape,
    /// How many steps the model takes: 1 to 50.
    steps: Option<u32>,
    /// Where its chance begins.
    seed: Option<u32>,
    /// The image model; the one that is set unless said.
    #[serde(default)]
    model: String,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Whose {
    /// The persona; the one that the picture shows unless said.
    persona_id: Option<PersonaId>,
}

async fn list(
    desk: Desk,
    Params(params): Params<ListParams>,
) -> Result<Json<Page<Picture>>, ApiError> {
    let filter = PictureFilter {
        persona: params.persona_id.as_ref(),
        chat: params.chat_id.as_ref(),
        message: params.message_id.as_ref(),
        deleted: params.deleted,
    };
    let mut link = desk.read().await?;
    Ok(Json(link.pictures(filter, params.after.as_deref(), page_size(params.limit)).await?))
}

async fn imagine(desk: Desk, Body(new): Body<NewPicture>) -> Result<Created<Picture>, ApiError> {
    let NewPicture { prompt, persona_id, message_id, size, steps, seed, model } = new;
    let wish = Wish { prompt, size, steps, seed, model };
    let asked = Imagine { persona: persona_id, message: message_id, wish };
    Ok(Created(desk.jobs.imagine(&desk.scope, asked).await?))
}

async fn settings(desk: Desk) -> Result<Json<PictureSettings>, ApiError> {
    Ok(Json(desk.jobs.picture_settings(&desk.scope).await?))
}

async fn set(
    desk: Desk,
    Body(settings): Body<PictureSettings>,
) -> Result<Json<PictureSettings>, ApiError> {
    desk.jobs.set_picture_settings(&desk.scope, &settings).await?;
    Ok(Json(settings))
}

async fn read(
    desk: Desk,
    Segments(path): Segments<PicturePath>,
) -> Result<Json<Picture>, ApiError> {
    Ok(Json(desk.read().await?.picture(&path.id).await?))
}

async fn retry(
    desk: Desk,
    Segments(path): Segments<PicturePath>,
) -> Result<Json<Picture>, ApiError> {
    Ok(Json(desk.jobs.retry_picture(&desk.scope, &path.id).await?))
}

async fn delete(
    desk: Desk,
    Segments(path): Segments<PicturePath>,
) -> Result<Json<Picture>, ApiError> {
    Ok(Json(desk.jobs.delete_picture(&desk.scope, &path.id).await?))
}

async fn restore(
    desk: Desk,
    Segments(path): Segments<PicturePath>,
) -> Result<Json<Picture>, ApiError> {
    Ok(Json(desk.jobs.restore_picture(&desk.scope, &path.id).await?))
}

async fn face(
    desk: Desk,
    Segments(path): Segments<PicturePath>,
    Given(whose): Given<Whose>,
) -> Result<Json<Outcome>, ApiError> {
    let made = desk.jobs.make_face(&desk.gate, &desk.scope, &path.id, whose.persona_id);
    Ok(Json(made.await?))
}

async fn file(
    desk: Desk,
    Segments(path): Segments<PicturePath>,
) -> Result<impl IntoApiResponse, ApiError> {
    let (kind, bytes) = desk.jobs.picture_file(&desk.scope, &path.id).await?;
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, FOR_EVER.to_owned()),
        (header::ETAG, format!("\"{}\"", path.id)),
    ];
    Ok((headers, bytes))
}
