//! What a Space has set, as a file: services and models, without a word about keys.

use serde::{Deserialize, Serialize};

use super::ArchiveError;
use crate::{
    agent::{Agent, DEFAULT_MODEL},
    changes::Scope,
    domain::{
        budget::Budgets,
        error::ApiError,
        model::{Model, Service},
        picture::PictureSettings,
    },
    store::Store,
};

/// The file.
pub const SETTINGS: &str = "settings.json";

/// What a Space has set.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SpaceSettings {
    services: Vec<Reached>,
    models: Vec<Model>,
    /// The model that speaks when nobody says which; empty leaves it to the keys.
    default_model: String,
    budgets: Budgets,
    pictures: PictureSettings,
}

/// How a service is reached. Where its key is does not go along: in another's hands a file could send the
/// key elsewhere.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Reached {
    service: String,
    label: String,
    dialect: String,
    base_url: String,
}

impl SpaceSettings {
    /// What is set now.
    pub async fn of(store: &Store, agent: &Agent, scope: &Scope) -> Result<Self, ArchiveError> {
        let budgets = agent.budgets(scope).await?;
        let mut link = store.read(&scope.space).await?;
        let reached = |service: Service| Reached {
            service: service.service,
            label: service.label,
            dialect: service.dialect,
            base_url: service.base_url,
        };
        Ok(Self {
            services: link.services().await?.into_iter().map(reached).collect(),
            models: link.added_models().await?,
            default_model: link.preference(DEFAULT_MODEL).await?.unwrap_or_default(),
            pictures: link.picture_settings().await?,
            budgets,
        })
    }

    /// Sets it. A service that is set up already keeps its key if its address stays. What could not be set is
    /// given back, with the reason.
    pub async fn set(
        self,
        store: &Store,
        agent: &Agent,
        scope: &Scope,
    ) -> Result<Vec<String>, ArchiveError> {
        let mut left = Vec::new();
        let known = store.read(&scope.space).await?.services().await?;
        for Reached { service, label, dialect, base_url } in self.services {
            let same =
                known.iter().find(|known| known.service == service && known.base_url == base_url);
            let key_ref = same.map(|known| known.key_ref.clone()).unwrap_or_default();
            let service = Service { service, label, dialect, base_url, key_ref };
            agent.put_service(scope, service).await?;
        }
        for model in &self.models {
            agent.put_model(scope, model).await?;
        }
        match agent.set_default_model(scope, &self.default_model).await {
            Ok(()) => {}
            // A name that nothing is known of here; the default stays as it is.
            Err(error @ ApiError::Invalid { .. }) => {
                left.push(format!("the default model: {error}"))
            }
            Err(error) => return Err(error.into()),
        }
        agent.set_budgets(scope, self.budgets).await?;
        let mut link = store.write(&scope.space).await?;
        link.set_picture_settings(&self.pictures).await?;
        link.commit().await?;
        Ok(left)
    }
}
