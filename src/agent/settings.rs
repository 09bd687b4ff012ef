//! What a Space sets about models and services.

use super::{Agent, DEFAULT_MODEL};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        model::{LABEL, Model, Service, WIRE_NAME},
        persona::MODEL,
    },
    providers::{Dialect, built_in},
};

/// The most models and services a Space may add.
const MAX_ADDED: usize = 200;

impl Agent {
    /// Says how a service is reached, or adds one.
    pub async fn put_service(&self, scope: &Scope, service: &Service) -> Result<(), ApiError> {
        service.check()?;
        let fits = match built_in(&service.service) {
            // What comes with the program keeps its dialect.
            Some(known) => known.dialect.map(Dialect::word) == Some(service.dialect.as_str()),
            None => Dialect::from_word(&service.dialect).is_some(),
        };
        if !fits {
            let rule = "The service must speak anthropic, openai-chat, openai-responses or gemini; \
                        one that comes with the program keeps its own.";
            return Err(ApiError::invalid("dialect", rule));
        }
        let mut link = self.write(scope).await?;
        let others = link.services().await?;
        let others = others.iter().filter(|other| other.service != service.service).count();
        if others >= MAX_ADDED {
            return Err(ApiError::invalid("service", "There are too many services already."));
        }
        link.put_service(service).await?;
        Ok(link.commit().await?)
    }

    /// Forgets how a service was set up. One that comes with the program is as it came again.
    pub async fn delete_service(&self, scope: &Scope, service: &str) -> Result<(), ApiError> {
        let mut link = self.write(scope).await?;
        if !link.delete_service(service).await? {
            return Err(ApiError::not_found("service"));
        }
        Ok(link.commit().await?)
    }

    /// Adds a model, or changes what is known of it.
    pub async fn put_model(&self, scope: &Scope, model: &Model) -> Result<(), ApiError> {
        MODEL.check_line(&model.id)?;
        WIRE_NAME.check_line(&model.name)?;
        LABEL.check_line(&model.label)?;
        if model.context == 0 || model.max_output == 0 || model.max_output > model.context {
            let rule = "The context and the longest answer must be more than 0, and the answer must \
                        fit into the context.";
            return Err(ApiError::invalid("maxOutput", rule));
        }
        let prices = model.price.iter().flat_map(|price| [price.input, price.output]);
        if prices.into_iter().any(|price| !(0.0..=10_000.0).contains(&price)) {
            return Err(ApiError::invalid("price", "A price is 0 to 10 000 dollars a million."));
        }
        let catalog = self.catalog(scope).await?;
        if !catalog.services().iter().any(|known| known.service.service == model.service) {
            let rule = format!("There is no service “{}”. Add it first.", model.service);
            return Err(ApiError::invalid("service", rule));
        }
        let mut link = self.write(scope).await?;
        let others = link.added_models().await?;
        if others.iter().filter(|other| other.id != model.id).count() >= MAX_ADDED {
            return Err(ApiError::invalid("id", "There are too many models already."));
        }
        link.put_model(model).await?;
        Ok(link.commit().await?)
    }

    /// Forgets a model that was added.
    pub async fn delete_model(&self, scope: &Scope, id: &str) -> Result<(), ApiError> {
        let mut link = self.write(scope).await?;
        if !link.delete_model(id).await? {
            return Err(ApiError::not_found("model"));
        }
        Ok(link.commit().await?)
    }

    /// Chooses the model that speaks when a persona has none; an empty string leaves it to the keys.
    pub async fn set_default_model(&self, scope: &Scope, model: &str) -> Result<(), ApiError> {
        let model = model.trim();
        if !model.is_empty() {
            self.route(scope, model).await?;
        }
        let mut link = self.write(scope).await?;
        link.set_preference(DEFAULT_MODEL, model).await?;
        Ok(link.commit().await?)
    }
}
