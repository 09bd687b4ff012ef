//! What a Space sets about models and services.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Agent, DEFAULT_MODEL};
use crate::{
    changes::Scope,
    domain::{
        error::ApiError,
        id::SpaceId,
        model::{LABEL, Model, SEALED, Service, ServiceStatus, WIRE_NAME},
        persona::MODEL,
    },
    providers::{Catalog, Dialect, built_in},
    store::{Link, ModelSettings},
};

/// The most models and services a Space may add.
const MAX_ADDED: usize = 200;

/// What Spaces set about models, as far as it was read: every answer begins with it. Only where the database
/// is this process's own, or another one could set something else unheard.
#[derive(Debug, Default)]
pub(super) struct KnownModels(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// How often something was set. What was read before that is not known any more.
    written: u64,
    of: HashMap<SpaceId, ModelSettings>,
}

impl KnownModels {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was set.
    fn forget(&self) {
        let mut known = self.known();
        known.written += 1;
        known.of.clear();
    }

    async fn read(&self, link: &mut Link, space: &SpaceId) -> Result<ModelSettings, ApiError> {
        let written = {
            let known = self.known();
            if let Some(settings) = known.of.get(space) {
                return Ok(settings.clone());
            }
            known.written
        };
        let settings = link.model_settings(DEFAULT_MODEL).await?;
        let mut known = self.known();
        if known.written == written {
            known.of.insert(space.clone(), settings.clone());
        }
        Ok(settings)
    }
}

impl Agent {
    /// Tells that people have accounts here: owners of Spaces need not be who runs the server, and may not set
    /// everything about services from now on.
    pub fn fence_services(&self) {
        self.shared.providers.raise_fence();
    }

    /// The models and services of a Space.
    pub async fn catalog(&self, scope: &Scope) -> Result<Catalog, ApiError> {
        self.catalog_on(&mut self.read(scope).await?, &scope.space).await
    }

    /// The models and services of the Space that this link sees.
    pub(super) async fn catalog_on(
        &self,
        link: &mut Link,
        space: &SpaceId,
    ) -> Result<Catalog, ApiError> {
        let ModelSettings { added, services, preferred } = if self.shared.store.is_shared() {
            link.model_settings(DEFAULT_MODEL).await?
        } else {
            self.shared.models.read(link, space).await?
        };
        Ok(self.shared.providers.catalog(added, services, preferred))
    }

    /// Keeps what was set.
    async fn keep_settings(&self, link: Link) -> Result<(), ApiError> {
        link.commit().await?;
        self.shared.models.forget();
        Ok(())
    }

    /// Says how a service is reached, or adds one. A key that was pasted before stays if that is what is
    /// said of it and the service's origin stays; at another origin it is forgotten. Gives the service
    /// as it may be shown.
    pub async fn put_service(&self, scope: &Scope, service: Service) -> Result<Service, ApiError> {
        self.put_service_with(scope, service, "").await
    }

    /// The same from a form that shows where the key is, and sends that back: when nobody said anything else, the
    /// key belongs to the origin that it was shown with, and is not sent to another.
    pub async fn put_service_shown(
        &self,
        scope: &Scope,
        mut service: Service,
        pasted: &str,
    ) -> Result<Service, ApiError> {
        let known = self.catalog(scope).await?.services();
        let before = known.into_iter().find(|known| known.service.service == service.service);
        if let Some(ServiceStatus { service: before, .. }) = before
            && before.key_ref == service.key_ref
            && before.origin() != service.origin()
        {
            service.key_ref.clear();
        }
        self.put_service_with(scope, service, pasted).await
    }

    /// The same with a key that was just pasted, if it is not empty.
    pub async fn put_service_with(
        &self,
        scope: &Scope,
        mut service: Service,
        pasted: &str,
    ) -> Result<Service, ApiError> {
        if !pasted.is_empty() {
            service.key_ref.clear();
        }
        service.check()?;
        self.shared.providers.check(&service)?;
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
        let known = link.services().await?;
        if !pasted.is_empty() {
            let sealed = self.shared.providers.seal_key(pasted, &service);
            service.key_ref = sealed.map_err(|error| unsealed(&error.message))?;
        } else if service.key_ref.starts_with(SEALED) {
            // Whatever was sent, what is kept is what counts.
            let same = known.iter().find(|known| {
                known.service == service.service && known.origin() == service.origin()
            });
            let kept = same.map(|known| known.key_ref.clone());
            service.key_ref = kept.filter(|kept| kept.starts_with(SEALED)).unwrap_or_default();
        }
        let others = known.iter().filter(|other| other.service != service.service).count();
        if others >= MAX_ADDED {
            return Err(ApiError::invalid("service", "There are too many services already."));
        }
        link.put_service(&service).await?;
        self.keep_settings(link).await?;
        Ok(service.shown())
    }

    /// Forgets how a service was set up. One that comes with the program is as it came again.
    pub async fn delete_service(&self, scope: &Scope, service: &str) -> Result<(), ApiError> {
        let mut link = self.write(scope).await?;
        if !link.delete_service(service).await? {
            return Err(ApiError::not_found("service"));
        }
        self.keep_settings(link).await
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
        self.keep_settings(link).await
    }

    /// Forgets a model that was added.
    pub async fn delete_model(&self, scope: &Scope, id: &str) -> Result<(), ApiError> {
        let mut link = self.write(scope).await?;
        if !link.delete_model(id).await? {
            return Err(ApiError::not_found("model"));
        }
        self.keep_settings(link).await
    }

    /// Chooses the model that speaks when a persona has none; an empty string leaves it to the keys.
    pub async fn set_default_model(&self, scope: &Scope, model: &str) -> Result<(), ApiError> {
        let model = match model.trim() {
            "" => String::new(),
            model => self.chosen_model(scope, model).await?,
        };
        let mut link = self.write(scope).await?;
        link.set_preference(DEFAULT_MODEL, &model).await?;
        self.keep_settings(link).await
    }
}

/// Why a pasted key is not kept.
fn unsealed(told: &str) -> ApiError {
    let mut letters = told.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    ApiError::invalid("key", format!("{first}{}.", letters.as_str()))
}
