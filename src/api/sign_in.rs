//! Coming in and going: signing in, by invitation, with a new password, by the printed link, and signing out.

use aide::axum::ApiRouter;
use axum::{
    Extension,
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use leptos::prelude::*;
use serde::Deserialize;

use super::{
    document::{document, told, under},
    extract::Fields,
};
use crate::{
    accounts::{Access, Asks, Secret, Visitor},
    app::pages::sign_in::{InvitePage, LoginPage, ResetPage},
    domain::{
        account::{LinkKind, within_site},
        error::ApiError,
    },
    state::{AppState, Visit},
};

/// A browser forgets its session after so long; the server ends it then at the latest.
const MONTH_SECONDS: u32 = 30 * 24 * 60 * 60;

pub fn routes() -> ApiRouter<AppState> {
    ApiRouter::new()
        .route("/login", get(login).post(sign_in))
        .route("/logout", post(sign_out))
        .route("/enter/{secret}", get(enter))
        .route("/invite/{secret}", get(invited).post(accept))
        .route("/reset/{secret}", get(resetting).post(reset))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    next: String,
}

/// The session, as the browser is to keep it: out of reach of programs, and of other sites.
fn cookie(access: &Access, value: &str, seconds: u32) -> HeaderValue {
    let name = access.cookie();
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax");
    HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Leads a browser on that holds this session from now on.
fn led_on(state: &AppState, session: &Secret, next: &str) -> Response {
    let cookie = cookie(&state.access, session.expose(), MONTH_SECONDS);
    ([(header::SET_COOKIE, cookie)], Redirect::to(within_site(next))).into_response()
}

fn visitor(visit: Visit, headers: &HeaderMap) -> Visitor {
    let browser = headers.get(header::USER_AGENT).and_then(|browser| browser.to_str().ok());
    let browser = browser.unwrap_or_default().to_owned();
    Visitor { address: visit.address, browser, session: visit.session }
}

/// Where there are no accounts there is nothing to sign in to.
fn check_accounts(state: &AppState) -> Result<(), ApiError> {
    if state.access.has_accounts() {
        return Ok(());
    }
    let reason = "Nobody signs in here: this server lets in whoever works on its machine.";
    Err(ApiError::NotNow { reason: reason.into() })
}

async fn login(
    State(state): State<AppState>,
    Extension(visit): Extension<Visit>,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Response {
    if let Err(error) = check_accounts(&state) {
        return told(&state, &headers, &error, "/");
    }
    // Who is signed in already need not do it again.
    if let Some(session) = &visit.session
        && matches!(
            state.accounts.by_session(session, state.access.holders(), Asks::Anew).await,
            Ok(Some(_))
        )
    {
        return Redirect::to(within_site(&asked.next)).into_response();
    }
    let next = within_site(&asked.next).to_owned();
    document(&state, &headers, "Sign in", move || {
        view! { <LoginPage name=String::new() next problem=None/> }.into_any()
    })
}

async fn sign_in(
    State(state): State<AppState>,
    Extension(visit): Extension<Visit>,
    headers: HeaderMap,
    fields: Fields,
) -> Response {
    if let Err(error) = check_accounts(&state) {
        return told(&state, &headers, &error, "/");
    }
    let (name, next) = (fields.get("name").to_owned(), within_site(fields.get("next")).to_owned());
    let visitor = visitor(visit, &headers);
    match state.accounts.sign_in(&name, fields.get("password"), visitor).await {
        Ok(session) => led_on(&state, &session, &next),
        Err(error) => {
            let problem = Some(error.to_string());
            let page = document(&state, &headers, "Sign in", move || {
                view! { <LoginPage name next problem/> }.into_any()
            });
            under(&error, page)
        }
    }
}

async fn sign_out(
    State(state): State<AppState>,
    Extension(visit): Extension<Visit>,
) -> Result<Response, ApiError> {
    if let Some(session) = &visit.session {
        state.accounts.sign_out(session, &visit.address).await?;
    }
    let cookie = cookie(&state.access, "", 0);
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to("/login")).into_response())
}

/// The owner of this machine, by the link that was printed.
async fn enter(
    State(state): State<AppState>,
    Extension(visit): Extension<Visit>,
    headers: HeaderMap,
    Path(secret): Path<String>,
) -> Response {
    if !state.access.enter(&Secret::given(&secret)) {
        let error = ApiError::NotFound { what: "link (it opens once)".into() };
        return told(&state, &headers, &error, "/");
    }
    let scope = state.scope.clone();
    let visitor = visitor(visit, &headers);
    match state.accounts.begin_session(&scope.user, &scope.space, None, &visitor).await {
        Ok(session) => led_on(&state, &session, "/"),
        Err(error) => told(&state, &headers, &error, "/"),
    }
}

async fn invited(
    State(state): State<AppState>,
    headers: HeaderMap,
    Path(secret): Path<String>,
) -> Response {
    let known = match check_accounts(&state) {
        Ok(()) => state.accounts.link(&Secret::given(&secret), LinkKind::Invite).await,
        Err(error) => Err(error),
    };
    match known {
        Ok(link) => document(&state, &headers, "Come in", move || {
            view! { <InvitePage role=link.role name=String::new() problem=None/> }.into_any()
        }),
        Err(error) => told(&state, &headers, &error, "/login"),
    }
}

async fn accept(
    State(state): State<AppState>,
    Extension(visit): Extension<Visit>,
    headers: HeaderMap,
    Path(secret): Path<String>,
    fields: Fields,
) -> Response {
    let secret = Secret::given(&secret);
    let known = match check_accounts(&state) {
        Ok(()) => state.accounts.link(&secret, LinkKind::Invite).await,
        Err(error) => Err(error),
    };
    let link = match known {
        Ok(link) => link,
        Err(error) => return told(&state, &headers, &error, "/login"),
    };
    let (name, password) = (fields.get("name").to_owned(), fields.get("password"));
    let visitor = visitor(visit, &headers);
    match state.accounts.accept(&secret, &name, password, visitor).await {
        Ok(session) => led_on(&state, &session, "/"),
        Err(error) => {
            let problem = Some(error.to_string());
            let page = document(&state, &headers, "Come in", move || {
                view! { <InvitePage role=link.role name problem/> }.into_any()
            });
            under(&error, page)
        }
    }
}

async fn resetting(
    State(state): State<AppState>,
    headers: HeaderMap,
    Path(secret): Path<String>,
) -> Response {
    match state.accounts.link(&Secret::given(&secret), LinkKind::Reset).await {
        Ok(link) => document(&state, &headers, "New password", move || {
            let name = link.user.map(String::from).unwrap_or_default();
            view! { <ResetPage name problem=None/> }.into_any()
        }),
        Err(error) => told(&state, &headers, &error, "/login"),
    }
}

async fn reset(
    State(state): State<AppState>,
    Extension(visit): Extension<Visit>,
    headers: HeaderMap,
    Path(secret): Path<String>,
    fields: Fields,
) -> Response {
    let secret = Secret::given(&secret);
    let visitor = visitor(visit, &headers);
    match state.accounts.reset(&secret, fields.get("password"), visitor).await {
        Ok(session) => led_on(&state, &session, "/"),
        Err(error @ ApiError::Invalid { .. }) => {
            let problem = Some(error.to_string());
            let page = document(&state, &headers, "New password", move || {
                view! { <ResetPage name=String::new() problem/> }.into_any()
            });
            under(&error, page)
        }
        Err(error) => told(&state, &headers, &error, "/login"),
    }
}
