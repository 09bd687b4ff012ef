//! What every request can reach.

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{Method, header, request::Parts},
};
use leptos::config::LeptosOptions;

use crate::{
    app::shell::SiteFiles,
    changes::{Gate, Scope},
    domain::{
        actor::Actor,
        change::{Change, Outcome},
        error::ApiError,
        id::SpaceId,
    },
    store::{Link, Store},
};

/// The Space that a new installation starts with.
pub const HOME_SPACE: &str = "home";
/// The person who uses it without an account.
pub const LOCAL_OWNER: &str = "owner";

/// What all requests share, cheap to clone.
#[derive(Clone, Debug)]
pub struct AppState {
    /// What is kept.
    pub store: Store,
    /// For whom requests are answered: without accounts, always the owner of the home Space.
    pub scope: Scope,
    /// The site's options.
    pub site: LeptosOptions,
    /// The names of the site's files.
    pub files: SiteFiles,
}

impl AppState {
    /// A state in front of this store, for the local owner.
    pub fn new(store: Store, site: LeptosOptions, files: SiteFiles) -> Self {
        let scope = Scope { space: HOME_SPACE.into(), user: LOCAL_OWNER.into() };
        Self { store, scope, site, files }
    }

    /// The desk of whoever asks.
    pub fn desk(&self) -> Desk {
        let Scope { space, user } = self.scope.clone();
        let gate = Gate::new(self.store.clone(), space.clone(), Actor::Person { user });
        Desk { gate, store: self.store.clone(), space }
    }
}

/// Where one request works: it reads and changes one Space, for one person.
#[derive(Clone, Debug)]
pub struct Desk {
    /// The door to changing something.
    pub gate: Gate,
    store: Store,
    space: SpaceId,
}

impl Desk {
    /// A link that reads.
    pub async fn read(&self) -> Result<Link, ApiError> {
        Ok(self.store.read(&self.space).await?)
    }
}

/// The desk of the server function that is running.
pub fn desk() -> Result<Desk, ApiError> {
    let state = leptos::context::use_context::<AppState>();
    let state = state.ok_or_else(|| ApiError::Internal { incident: "no state".into() })?;
    Ok(state.desk())
}

/// Whether the running server function answers a form that was sent without JavaScript.
fn is_plain_form() -> bool {
    let parts = leptos::context::use_context::<Parts>();
    parts.is_some_and(|parts| {
        let posted = parts.method == Method::POST;
        let accept = parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        posted && accept.is_some_and(|accept| accept.contains("text/html"))
    })
}

/// What a person wrote in a plain form must not be lost in a redirect: when it cannot be saved, it is
/// kept, and the person is sent to the page that says why and shows both texts.
pub async fn keep_refused(
    desk: &Desk,
    saved: &Result<Outcome, ApiError>,
    change: Change,
) -> Result<(), ApiError> {
    if matches!(saved, Err(ApiError::Conflict(_) | ApiError::Invalid { .. })) && is_plain_form() {
        let id = desk.gate.keep_refused(change).await?;
        leptos_axum::redirect(&format!("/conflicts/{id}"));
    }
    Ok(())
}

impl FromRef<AppState> for LeptosOptions {
    fn from_ref(state: &AppState) -> Self {
        state.site.clone()
    }
}

impl FromRequestParts<AppState> for Desk {
    type Rejection = ApiError;

    async fn from_request_parts(_: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        Ok(state.desk())
    }
}

impl aide::OperationInput for Desk {}
