//! Every address that is not a page, one file per surface.
//!
//! The one rule of the room: handlers are sentences. They read through the store, change through the
//! gate, and leave errors to `error.rs`.

mod account;
mod bin;
mod budgets;
mod card_import;
mod changes;
mod chat_import;
mod chats;
mod conversations;
mod described;
mod document;
mod error;
mod extract;
mod health;
mod knowledge;
mod live;
mod messages;
mod models;
mod pending_changes;
mod people;
mod persona_agent;
mod personas;
mod pictures;
mod playground;
mod playground_sessions;
mod publication;
mod published;
mod queue;
mod rail;
mod ratings;
mod refs;
mod runs;
mod search;
mod sign_in;
mod sse;
mod terminal;
mod test_answers;
mod test_inputs;
mod traces;
mod ui_stream;
mod versions;

use std::sync::Arc;

use aide::{
    axum::{ApiRouter, IntoApiResponse},
    openapi::{Info, OpenApi},
};
use axum::{Extension, Json, Router};
pub use document::told;
pub use error::put_into_words;
pub use extract::{MAX_FILE_FORM_BYTES, limit_body, read_of_function};

use crate::state::AppState;

/// All routes, with the document that describes them at `/api/openapi.json`: those that take bodies of
/// 2 MiB at the most, and those that take files or whole histories and limit them themselves.
pub fn routers() -> (Router<AppState>, Router<AppState>) {
    aide::generate::extract_schemas(true);
    let mut document = OpenApi {
        info: Info {
            title: "Greenroom".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            description: Some(
                "Personas, their versions, test inputs and agents; pages, refs and tasks.".into(),
            ),
            ..Info::default()
        },
        ..OpenApi::default()
    };
    // Both are described before either is finished, so that they share their schemas.
    let files = chat_import::routes()
        .merge(card_import::routes())
        .merge(playground::chat_routes())
        .merge(playground_sessions::upload_routes())
        .merge(terminal::import_routes());
    let router = ApiRouter::new()
        .merge(personas::routes())
        .merge(versions::routes())
        .merge(publication::routes())
        .merge(published::routes())
        .merge(test_inputs::routes())
        .merge(test_answers::routes())
        .merge(knowledge::routes())
        .merge(refs::routes())
        .merge(search::routes())
        .merge(persona_agent::routes())
        .merge(runs::routes())
        .merge(models::routes())
        .merge(bin::routes())
        .merge(budgets::routes())
        .merge(changes::routes())
        .merge(pending_changes::routes())
        .merge(live::routes())
        .merge(conversations::routes())
        .merge(chats::routes())
        .merge(messages::routes())
        .merge(pictures::routes())
        .merge(playground::routes())
        .merge(playground_sessions::routes())
        .merge(queue::routes())
        .merge(terminal::routes())
        .merge(traces::routes())
        .merge(rail::routes())
        .merge(ratings::routes())
        .merge(sign_in::routes())
        .merge(account::routes())
        .merge(people::routes())
        .merge(health::routes())
        .route("/api/openapi.json", axum::routing::get(serve_document))
        .route("/api", axum::routing::any(error::unknown_address))
        .route("/api/{*rest}", axum::routing::any(error::unknown_address))
        .finish_api(&mut document);
    let files = files.finish_api(&mut document);
    // A part of the path that may have slashes in it is written as any other there.
    if let Some(paths) = &mut document.paths {
        let named = std::mem::take(&mut paths.paths).into_iter();
        paths.paths = named.map(|(path, item)| (path.replace("{*", "{"), item)).collect();
    }
    described::describe(&mut document);
    (router.layer(Extension(Arc::new(document))), files)
}

async fn serve_document(Extension(document): Extension<Arc<OpenApi>>) -> impl IntoApiResponse {
    Json(document.as_ref().clone())
}
