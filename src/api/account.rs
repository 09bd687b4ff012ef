//! One's own account: password, browsers, tokens, and the Space one works in.

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
    document::{document, under},
    extract::Sent,
};
use crate::{
    accounts::{Caller, NewToken, Secret},
    app::pages::account::{AccountPage, ShownAccount},
    domain::{account::TokenScope, error::ApiError, id::SpaceId},
    state::AppState,
};

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .route("/account", get(open))
        .route("/account/password", post(change_password))
        .route("/account/sessions/end", post(end_session))
        .route("/account/tokens", post(make_token))
        .route("/account/tokens/revoke", post(revoke_token))
        .route("/account/space", post(switch_space))
}

/// What the page tells beside what is there.
#[derive(Default)]
struct Said {
    problem: Option<ApiError>,
    done: Option<&'static str>,
    token: Option<Secret>,
}

async fn page(
    state: &AppState,
    caller: &Caller,
    headers: &HeaderMap,
    said: Said,
) -> Result<Response, ApiError> {
    let user = &caller.scope.user;
    let members = state.accounts.members(&caller.scope.space).await?;
    let shown = ShownAccount {
        user: user.to_string(),
        role: caller.role,
        space: caller.scope.space.clone(),
        spaces: state.accounts.spaces(user).await?,
        has_password: members.iter().any(|member| member.user == *user && member.has_password),
        this_session: caller.session().unwrap_or_default().to_owned(),
        sessions: state.accounts.sessions(user).await?,
        tokens: state.accounts.tokens(user).await?,
        has_people: state.access.has_accounts(),
        new_token: said.token.map(|token| token.expose().to_owned()),
        done: said.done.map(Into::into),
        problem: said.problem.as_ref().map(ToString::to_string),
    };
    let page = document(state, headers, "Account", move || {
        view! { <AccountPage account=shown/> }.into_any()
    });
    Ok(match &said.problem {
        Some(error) => under(error, page),
        None => page,
    })
}

/// The page after something was tried: with what is wrong where a person can mend it.
async fn after(
    state: &AppState,
    caller: &Caller,
    headers: &HeaderMap,
    tried: Result<Said, ApiError>,
) -> Result<Response, ApiError> {
    let said = match tried {
        Ok(said) => said,
        Err(
            problem @ (ApiError::Invalid { .. }
            | ApiError::Limited { .. }
            | ApiError::NotFound { .. }),
        ) => Said { problem: Some(problem), ..Said::default() },
        Err(other) => return Err(other),
    };
    page(state, caller, headers, said).await
}

async fn open(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    page(&state, &caller, &headers, Said::default()).await
}

async fn change_password(
    Sent { state, caller, visit, headers, fields }: Sent,
) -> Result<Response, ApiError> {
    let words = [fields.get("old"), fields.get("new")];
    let session = caller.session().unwrap_or_default();
    let changed =
        state.accounts.change_password(&caller.scope, session, words, &visit.address).await;
    let done = Some(
        "Your password is changed. Every other browser is signed out. API tokens stay: revoke those that \
         somebody else may have.",
    );
    let tried = changed.map(|()| Said { done, ..Said::default() });
    after(&state, &caller, &headers, tried).await
}

async fn end_session(
    Sent { state, caller, visit, headers, fields }: Sent,
) -> Result<Response, ApiError> {
    let session = fields.get("session");
    let ended = state.accounts.end_session(&caller.scope, session, &visit.address).await;
    match ended {
        Ok(()) if caller.session() == Some(session) => Ok(Redirect::to("/login").into_response()),
        Ok(()) => Ok(Redirect::to("/account").into_response()),
        Err(error) => after(&state, &caller, &headers, Err(error)).await,
    }
}

/// The page itself shows the token: what is shown once is in no address and nowhere to come back to.
async fn make_token(
    Sent { state, caller, visit, headers, fields }: Sent,
) -> Result<Response, ApiError> {
    let made = match TokenScope::from_word(fields.get("scope")) {
        Some(scope) => {
            let name = fields.get("name").to_owned();
            let days = fields.get("days").trim().parse().unwrap_or_default();
            let new = NewToken { name, scope, days };
            state.accounts.make_token(&caller.scope, new, &visit.address).await
        }
        None => Err(ApiError::invalid("scope", "A token may read, or read and write.")),
    };
    let tried = made.map(|token| Said { token: Some(token), ..Said::default() });
    after(&state, &caller, &headers, tried).await
}

async fn revoke_token(
    Sent { state, caller, visit, headers, fields }: Sent,
) -> Result<Response, ApiError> {
    let revoked =
        state.accounts.revoke_token(&caller.scope, fields.get("token"), &visit.address).await;
    match revoked {
        Ok(()) => Ok(Redirect::to("/account").into_response()),
        Err(error) => after(&state, &caller, &headers, Err(error)).await,
    }
}

async fn switch_space(
    Sent { state, caller, headers, fields, .. }: Sent,
) -> Result<Response, ApiError> {
    let space = SpaceId::new(fields.get("space"));
    match state.accounts.switch_space(&caller, &space).await {
        Ok(()) => Ok(Redirect::to("/").into_response()),
        Err(error) => after(&state, &caller, &headers, Err(error)).await,
    }
}
