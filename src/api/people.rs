//! The people of a Space, for its owners: roles, invitations, new passwords, and what happened.

use aide::axum::ApiRouter;
use axum::{
    Extension,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use leptos::prelude::*;

use super::{
    document::{document, told, under},
    extract::{Fields, Sent},
};
use crate::{
    accounts::{Caller, Made, NewLink},
    app::pages::people::{PeoplePage, ShownLink, ShownPeople},
    domain::{account::Role, error::ApiError, id::UserId},
    state::{AppState, origin},
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .route("/people", get(open))
        .route("/people/role", post(set_role))
        .route("/people/remove", post(remove))
        .route("/people/invite", post(invite))
        .route("/people/reset", post(reset))
        .route("/people/links/drop", post(drop_link))
}

/// The page, with a link that was just made, or what is wrong.
async fn page(
    state: &AppState,
    caller: &Caller,
    headers: &HeaderMap,
    tried: Result<Option<Made>, ApiError>,
) -> Result<Response, ApiError> {
    if !state.access.has_accounts() {
        let reason = "There are no accounts here yet. Make the first one with “greenroom user add NAME”, \
             and start the server again.";
        return Ok(told(state, headers, &ApiError::NotNow { reason: reason.into() }, "/"));
    }
    let (made, problem) = match tried {
        Ok(made) => (made, None),
        Err(error) => (None, Some(error)),
    };
    let scope = &caller.scope;
    let shown = ShownPeople {
        own: scope.user.clone(),
        signs_out: caller.session().is_some(),
        members: state.accounts.members(&scope.space).await?,
        links: state.accounts.links(scope).await?,
        events: state.accounts.events(&scope.space).await?,
        made: made.map(|made| ShownLink {
            address: format!("{}{}", origin(state, headers), made.path),
            expires_at: made.expires_at,
        }),
        problem: problem.as_ref().map(ToString::to_string),
    };
    let page =
        document(state, headers, "People", move || view! { <PeoplePage people=shown/> }.into_any());
    Ok(match &problem {
        Some(error) => under(error, page),
        None => page,
    })
}

async fn open(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    page(&state, &caller, &headers, Ok(None)).await
}

/// Back to the page, or the page with what is wrong.
async fn after(
    state: &AppState,
    caller: &Caller,
    headers: &HeaderMap,
    tried: Result<(), ApiError>,
) -> Result<Response, ApiError> {
    match tried {
        Ok(()) => Ok(Redirect::to("/people").into_response()),
        Err(error) => page(state, caller, headers, Err(error)).await,
    }
}

fn role(fields: &Fields) -> Result<Role, ApiError> {
    let rule = "A role is owner, editor or viewer.";
    fields.get("role").parse().map_err(|_| ApiError::invalid("role", rule))
}

async fn set_role(
    Sent { state, caller, visit, headers, fields }: Sent,
) -> Result<Response, ApiError> {
    let user = UserId::new(fields.get("user"));
    let tried = match role(&fields) {
        Ok(role) => state.accounts.set_role(&caller.scope, &user, role, &visit.address).await,
        Err(error) => Err(error),
    };
    after(&state, &caller, &headers, tried).await
}

async fn remove(
    Sent { state, caller, visit, headers, fields }: Sent,
) -> Result<Response, ApiError> {
    let user = UserId::new(fields.get("user"));
    let tried = state.accounts.remove(&caller.scope, &user, &visit.address).await;
    after(&state, &caller, &headers, tried).await
}

async fn invite(
    Sent { state, caller, visit, headers, fields }: Sent,
) -> Result<Response, ApiError> {
    let made = match role(&fields) {
        Ok(role) => {
            let wanted = NewLink::Invite(role);
            state.accounts.make_link(&caller.scope, wanted, &visit.address).await
        }
        Err(error) => Err(error),
    };
    page(&state, &caller, &headers, made.map(Some)).await
}

async fn reset(Sent { state, caller, visit, headers, fields }: Sent) -> Result<Response, ApiError> {
    let wanted = NewLink::Reset(UserId::new(fields.get("user")));
    let made = state.accounts.make_link(&caller.scope, wanted, &visit.address).await;
    page(&state, &caller, &headers, made.map(Some)).await
}

async fn drop_link(
    Sent { state, caller, visit, headers, fields }: Sent,
) -> Result<Response, ApiError> {
    let tried = state.accounts.drop_link(&caller.scope, fields.get("link"), &visit.address).await;
    after(&state, &caller, &headers, tried).await
}
