//! Models and services: which there are, and how a Space sets them up.

use aide::axum::{
    ApiRouter,
    routing::{get_with, put_with},
};
use axum::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{Body, Params};
use crate::{
    domain::{
        error::ApiError,
        model::{Model, Service, ServiceStatus},
    },
    state::{AppState, Desk},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .api_route(
            "/api/models",
            get_with(list_models, |op| op.summary("All models, and the default one."))
                .put_with(put_model, |op| op.summary("Add a model, or change what is known of it."))
                .delete_with(delete_model, |op| op.summary("Forget a model that was added.")),
        )
        .api_route(
            "/api/models/default",
            put_with(set_default, |op| op.summary("Choose the model that speaks by default.")),
        )
        .api_route(
            "/api/services",
            get_with(list_services, |op| {
                op.summary("All services, and whether their keys are there.")
            })
            .put_with(put_service, |op| op.summary("Say how a service is reached."))
            .delete_with(delete_service, |op| op.summary("Forget how a service was set up.")),
        )
}

/// The models of a Space.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Models {
    /// All of them, those that were added first.
    items: Vec<Model>,
    /// There is no further page.
    next: Option<String>,
    /// The model that speaks when a persona has none.
    default_model: String,
}

/// The services of a Space.
#[derive(Serialize, JsonSchema)]
struct Services {
    /// All of them.
    items: Vec<ServiceStatus>,
    /// There is no further page.
    next: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct ModelName {
    /// The model string.
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct ServiceName {
    /// The service's word.
    service: String,
}

/// How a service is to be reached.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ServiceWish {
    /// Its word in model strings: `anthropic`, `ollama`, `my-server`.
    service: String,
    /// What people call it.
    label: String,
    /// The dialect it speaks: `anthropic`, `openai-chat`, `openai-responses` or `gemini`.
    dialect: String,
    /// Its address; for OpenAI's dialects with the `/v1` at the end.
    base_url: String,
    /// Where its key is found: `env:NAME`, `file:/path`, nothing when it needs none, or `sealed:…` to
    /// keep the one that was pasted. Whoever names it here sends it to this address, also where it
    /// was read from another one.
    #[serde(default)]
    key_ref: String,
    /// A key to keep sealed, instead of saying where it is. It belongs to this address's origin, and is
    /// never given out again.
    #[serde(default)]
    key: String,
}

/// Which model speaks by default.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Default {
    /// The model string; empty for the first service that has a key.
    model: String,
}

async fn list_models(desk: Desk) -> Result<Json<Models>, ApiError> {
    let catalog = desk.agent.catalog(&desk.scope).await?;
    let items = catalog.models().to_vec();
    Ok(Json(Models { items, next: None, default_model: catalog.default_model().into() }))
}

async fn put_model(desk: Desk, Body(model): Body<Model>) -> Result<Json<Model>, ApiError> {
    desk.agent.put_model(&desk.scope, &model).await?;
    Ok(Json(model))
}

async fn delete_model(desk: Desk, Params(named): Params<ModelName>) -> Result<(), ApiError> {
    desk.agent.delete_model(&desk.scope, &named.id).await
}

async fn set_default(desk: Desk, Body(default): Body<Default>) -> Result<(), ApiError> {
    desk.agent.set_default_model(&desk.scope, &default.model).await
}

async fn list_services(desk: Desk) -> Result<Json<Services>, ApiError> {
    let catalog = desk.agent.catalog(&desk.scope).await?;
    Ok(Json(Services { items: desk.services(&catalog), next: None }))
}

async fn put_service(desk: Desk, Body(wish): Body<ServiceWish>) -> Result<Json<Service>, ApiError> {
    let ServiceWish { service, label, dialect, base_url, key_ref, key } = wish;
    let service = Service { service, label, dialect, base_url, key_ref };
    Ok(Json(desk.agent.put_service_with(&desk.scope, service, key.trim()).await?))
}

async fn delete_service(desk: Desk, Params(named): Params<ServiceName>) -> Result<(), ApiError> {
    desk.agent.delete_service(&desk.scope, &named.service).await
}
