//! Models and services.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::domain::{
    error::ApiError,
    model::{Price, ServiceStatus},
};

/// All that the settings show of models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelSettings {
    /// All services, and whether their keys are there.
    pub services: Vec<ServiceStatus>,
    /// All models.
    pub models: Vec<NamedModel>,
    /// The model that speaks when a persona has none.
    pub default_model: String,
}

/// A model by its names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedModel {
    /// The model string.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// The service that runs it.
    pub service: String,
    /// Whether it was added in this Space.
    pub added: bool,
    /// What it costs; `None` when that is not known.
    pub price: Option<Price>,
    /// How many tokens it can read.
    pub context: u64,
    /// What it can do beside words.
    pub abilities: Vec<String>,
}

/// The models and services of this Space.
#[server(prefix = "/fn", endpoint = "list_models")]
pub async fn list_models() -> Result<ModelSettings, ApiError> {
    use crate::{domain::model::Model, state::desk};

    let desk = desk()?;
    let added = desk.read().await?.added_models().await?;
    let catalog = desk.agent.catalog(&desk.scope).await?;
    let named = |model: &Model| NamedModel {
        id: model.id.clone(),
        label: model.label.clone(),
        service: model.service.clone(),
        added: added.iter().any(|added| added.id == model.id),
        price: model.price,
        context: model.context,
        abilities: model.abilities().map(str::to_owned).collect(),
    };
    Ok(ModelSettings {
        services: desk.services(&catalog),
        models: catalog.models().iter().map(named).collect(),
        default_model: catalog.default_model().into(),
    })
}

/// Says how a service is reached, or adds one.
#[server(prefix = "/fn", endpoint = "save_service")]
pub async fn save_service(
    /// Its word in model strings.
    service: String,
    /// What people call it.
    label: String,
    /// What it speaks.
    dialect: String,
    /// Where it is.
    base_url: String,
    /// Where its key is; empty when it needs none.
    #[server(default)]
    key_ref: String,
    /// A key that is pasted and kept sealed, instead of saying where it is.
    #[server(default)]
    key: String,
) -> Result<(), ApiError> {
    use crate::{domain::model::Service, state::desk};

    let desk = desk()?;
    let (base_url, key_ref) = (base_url.trim().into(), key_ref.trim().into());
    let service = Service { service, label, dialect, base_url, key_ref };
    desk.agent.put_service_shown(&desk.scope, service, key.trim()).await.map(drop)
}

/// Forgets how a service was set up.
#[server(prefix = "/fn", endpoint = "reset_service")]
pub async fn reset_service(
    /// Which one.
    service: String,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.agent.delete_service(&desk.scope, &service).await
}

/// A model as the form describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewModel {
    /// The service that runs it.
    pub service: String,
    /// Its name there.
    pub name: String,
    /// How many tokens it can read.
    pub context: u64,
    /// How many tokens one answer may have.
    pub max_output: u64,
    /// What a million tokens read cost, in dollars; not known when empty.
    #[serde(default)]
    pub input_price: String,
    /// What a million tokens written cost, in dollars; not known when empty.
    #[serde(default)]
    pub output_price: String,
    /// Set when it can be given tools.
    #[serde(default)]
    pub tools: Option<String>,
    /// Set when it reasons before it answers.
    #[serde(default)]
    pub reasoning: Option<String>,
}

/// Adds a model.
#[server(prefix = "/fn", endpoint = "add_model")]
pub async fn add_model(
    /// What is known of it.
    model: NewModel,
) -> Result<(), ApiError> {
    use crate::{
        domain::model::{Model, Price},
        state::desk,
    };

    let desk = desk()?;
    let price = Price::read(&model.input_price, &model.output_price)?;
    let model = Model {
        id: format!("{}/{}", model.service, model.name),
        label: model.name.clone(),
        service: model.service,
        name: model.name,
        context: model.context,
        max_output: model.max_output,
        price,
        tools: model.tools.is_some(),
        vision: false,
        reasoning: model.reasoning.is_some(),
    };
    desk.agent.put_model(&desk.scope, &model).await
}

/// Forgets a model that was added.
#[server(prefix = "/fn", endpoint = "remove_model")]
pub async fn remove_model(
    /// Which one.
    id: String,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.agent.delete_model(&desk.scope, &id).await
}

/// Chooses the model that speaks by default.
#[server(prefix = "/fn", endpoint = "set_default_model")]
pub async fn set_default_model(
    /// The model string; empty leaves it to the keys.
    #[server(default)]
    model: String,
) -> Result<(), ApiError> {
    use crate::state::desk;

    let desk = desk()?;
    desk.agent.set_default_model(&desk.scope, &model).await
}
