//! Finding out who asks, and letting them through or not. The one place where that is done, for pages, API,
//! server functions, streams and files alike.

use std::{net::IpAddr, sync::Once};

use axum::{
    Json,
    body::Body,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use futures_util::StreamExt;

use super::{
    counts::Counted,
    pace::Pace,
    peer::Peer,
    rules::{FUNCTIONS_AT, class_of},
};
use crate::{
    accounts::{Asks, Caller, Class, Mode, Peers, Secret, TOKEN_PREFIX},
    api,
    domain::{
        account::{Role, within_site},
        error::ApiError,
        id::UserId,
    },
    state::{AppState, Visit, sign_in_first},
};

/// Headers that say that a request was passed on by somebody.
const FORWARDED: [&str; 4] = ["forwarded", "x-real-ip", "via", "cf-connecting-ip"];
/// And how the rest of them begin.
const FORWARDED_START: &str = "x-forwarded-";

/// How the browser is connected to a proxy. Pages are told where they are by it, so that only a proxy that we
/// trust may say it.
const FORWARDED_PROTO: &str = "x-forwarded-proto";
/// Where a request came from before.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Where it is asked whether the server is alive.
const ALIVE: &str = "/healthz";

/// Why somebody does not come through.
enum Stopped {
    /// Nobody knows who they are.
    Unknown(ApiError),
    /// It is known, or does not matter, and they may not.
    Refused(ApiError),
}

impl From<ApiError> for Stopped {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::SignIn { .. } => Self::Unknown(error),
            other => Self::Refused(other),
        }
    }
}

/// Lets through who may use the address, and tells it who they are.
pub async fn admit(
    State((state, pace)): State<(AppState, Pace)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let matched = parts.extensions.get::<MatchedPath>();
    // What no route has is a file of the site, or the page that says that there is nothing.
    let class = match matched {
        Some(path) => class_of(&parts.method, path.as_str()).unwrap_or(Class::Owner),
        None => Class::Public,
    };
    let visit = Visit { address: address_of(&state, &parts), session: session_in(&state, &parts) };
    parts.extensions.insert(visit.clone());
    let known = admitted(&state, &pace, &parts, &visit, class).await;
    if !is_trusted(&state, &parts) {
        parts.headers.remove(FORWARDED_PROTO);
        tell_of_proxy(&state, &parts);
    }
    match known {
        Ok(caller) => {
            let Some(caller) = caller else {
                return next.run(Request::from_parts(parts, body)).await;
            };
            parts.extensions.insert(caller.clone());
            let asked = state.access.has_accounts().then(|| (parts.clone(), visit));
            let response = next.run(Request::from_parts(parts, body)).await;
            match asked {
                Some((parts, visit)) if is_stream(&response) => {
                    let counted = pace.count_stream(&caller.scope.user);
                    // Whoever began an answer hears it: it is being given.
                    if counted.is_none() && parts.method == Method::GET {
                        let reason = "You listen to too many things at once. Close some of them.";
                        let error = ApiError::Limited { reason: reason.into(), retry_after: None };
                        return turn_away(&state, &parts, Stopped::Refused(error));
                    }
                    while_welcome(state, caller, (parts, visit, counted), response)
                }
                Some(_) | None => response,
            }
        }
        Err(stopped) => turn_away(&state, &parts, stopped),
    }
}

/// Tells the operator once of what may be a proxy that they did not name: all who come through it are taken for one
/// stranger, and one who guesses passwords keeps all others out.
fn tell_of_proxy(state: &AppState, parts: &Parts) {
    static TOLD: Once = Once::new();
    if let Some(peer) = parts.extensions.get::<Peer>()
        && state.access.mode() == Some(&Mode::Accounts)
        && parts.headers.contains_key(FORWARDED_FOR)
    {
        TOLD.call_once(|| {
            let peer = peer.remote.ip().to_canonical();
            tracing::warn!(
                %peer,
                "X-Forwarded-For came from an address that --trusted-proxy does not name: if it is your proxy's, all \
                 who come through it count as one"
            );
        });
    }
}

/// A stream that goes on for as long as whoever listens is welcome: not after they signed out, or were taken out
/// of the Space.
fn while_welcome(
    state: AppState,
    caller: Caller,
    (parts, visit, counted): (Parts, Visit, Option<Counted<UserId>>),
    response: Response,
) -> Response {
    response.map(|body| {
        let mut words = body.into_data_stream();
        let mut round = tokio::time::interval(state.access.recheck);
        round.reset();
        Body::from_stream(async_stream::stream! {
            loop {
                tokio::select! {
                    word = words.next() => match word {
                        Some(word) => yield word,
                        None => break,
                    },
                    _ = round.tick() => {
                        let Some(mode) = state.access.mode() else { break };
                        match identify(&state, mode, &parts, &visit, Asks::Still).await {
                            Ok(again) if again.scope == caller.scope => {}
                            // A database that is away, or has no room, says nothing about anybody.
                            Err(ApiError::Unavailable | ApiError::DiskFull) => {}
                            Ok(_) | Err(_) => break,
                        }
                    }
                }
            }
            drop(counted);
        })
    })
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"))
}

async fn admitted(
    state: &AppState,
    pace: &Pace,
    parts: &Parts,
    visit: &Visit,
    class: Class,
) -> Result<Option<Caller>, Stopped> {
    let undecided = Mode::Local(Peers::SameUser);
    let mode = match state.access.mode() {
        Some(mode) => mode,
        // Until the database is there, nobody knows whether there are accounts; nor is anything to be had.
        None if !state.store.is_ready() => &undecided,
        None if class == Class::Public => return Ok(None),
        None => return Err(Stopped::Refused(ApiError::Unavailable)),
    };
    if let Mode::Local(_) = mode
        && parts.headers.keys().any(is_forwarded)
    {
        let reason = "This request was passed on by a proxy, and this server lets in whoever works on its \
             machine. To serve others, make an account (greenroom user add NAME) and start it with \
             --auth accounts --public-host NAME --trusted-proxy IP, which is the proxy's address.";
        return Err(Stopped::Refused(ApiError::Denied { reason: reason.into() }));
    }
    if class == Class::Public {
        // Whoever looks whether the server is alive is answered in a flood, too.
        if !matches!(mode, Mode::Local(_)) && parts.uri.path() != ALIVE {
            pace.count_open(&visit.address)?;
        }
        // The page that says that there is nothing has a navigation too.
        let page = wants_page(parts) && parts.extensions.get::<MatchedPath>().is_none();
        return Ok(if page {
            identify(state, mode, parts, visit, Asks::Anew).await.ok()
        } else {
            None
        });
    }
    let is_local = matches!(mode, Mode::Local(_));
    let caller = match identify(state, mode, parts, visit, Asks::Anew).await {
        Ok(caller) => caller,
        Err(error) => {
            if !is_local {
                pace.count_stranger(&visit.address)?;
            }
            return Err(error.into());
        }
    };
    if !is_local {
        pace.count_known(caller.scope.user.as_str())?;
    }
    caller.may(class)?;
    Ok(Some(caller))
}

fn is_forwarded(name: &HeaderName) -> bool {
    FORWARDED.contains(&name.as_str()) || name.as_str().starts_with(FORWARDED_START)
}

/// Who asks.
async fn identify(
    state: &AppState,
    mode: &Mode,
    parts: &Parts,
    visit: &Visit,
    asks: Asks,
) -> Result<Caller, ApiError> {
    if let Mode::Proxy(_) = mode
        && !is_trusted(state, parts)
    {
        let reason = "This server answers to its proxy only.";
        return Err(ApiError::Denied { reason: reason.into() });
    }
    if let Some(token) = token_in(&parts.headers) {
        let reason = "This API token is not known, was revoked, or is over.";
        let known = state.accounts.by_token(&token, state.access.holders()).await?;
        return known.ok_or_else(|| ApiError::SignIn { reason: reason.into() });
    }
    let by_session = async || match &visit.session {
        Some(session) => state.accounts.by_session(session, state.access.holders(), asks).await,
        None => Ok(None),
    };
    match mode {
        Mode::Accounts => by_session().await?.ok_or_else(sign_in_first),
        Mode::Proxy(header) => {
            let name = parts.headers.get(header).and_then(|name| name.to_str().ok());
            let known = state.accounts.by_name(name.unwrap_or_default()).await?;
            known.ok_or_else(|| {
                let reason = "The proxy names nobody who has an account here. \
                     Whoever runs the server can add one (greenroom user add NAME).";
                ApiError::Denied { reason: reason.into() }
            })
        }
        Mode::Local(Peers::Link) => by_session().await?.ok_or_else(|| {
            let reason = "Open the link that the server printed when it started.";
            ApiError::SignIn { reason: reason.into() }
        }),
        Mode::Local(peers) => {
            // A link on another site opens nothing by itself.
            let site = parts.headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
            if !matches!(site, None | Some(b"none" | b"same-origin")) {
                let reason = "This page was asked for by another site.";
                return Err(ApiError::SignIn { reason: reason.into() });
            }
            let peer = parts.extensions.get::<Peer>();
            if *peers == Peers::Within || peer.is_some_and(Peer::is_same_user) {
                return Ok(state.local_owner());
            }
            let reason = "This server lets in whoever started it, from the same machine and the same \
                 account of the system. For others, make an account: greenroom user add NAME.";
            Err(ApiError::SignIn { reason: reason.into() })
        }
    }
}

/// What whoever looks at a page is in its Space, where there are accounts.
pub fn role_shown(state: &AppState) -> Option<Role> {
    let parts = leptos::context::use_context::<Parts>()?;
    let caller = parts.extensions.get::<Caller>()?;
    state.access.has_accounts().then_some(caller.role)
}

/// The token of a program. What does not look like one of ours is somebody else's, and says nothing.
fn token_in(headers: &HeaderMap) -> Option<Secret> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    let ours = scheme.eq_ignore_ascii_case("bearer") && token.starts_with(TOKEN_PREFIX);
    ours.then(|| Secret::given(token))
}

/// What the browser holds in the cookie of this server.
fn session_in(state: &AppState, parts: &Parts) -> Option<Secret> {
    let lines = parts.headers.get_all(header::COOKIE).iter();
    let pairs = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = named.find(|(name, _)| *name == state.access.cookie())?;
    (!value.is_empty()).then(|| Secret::given(value))
}

fn is_trusted(state: &AppState, parts: &Parts) -> bool {
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.remote.ip().to_canonical());
    peer.is_some_and(|peer| state.access.trusted.iter().any(|network| network.contains(peer)))
}

/// From where a request comes: what a proxy says that we trust, or who is at the other end.
fn address_of(state: &AppState, parts: &Parts) -> String {
    // The last one was added by the proxy itself; those before it may be made up.
    let told = parts.headers.get_all(FORWARDED_FOR).iter().next_back();
    let told = told.and_then(|told| told.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.remote.ip().to_canonical());
    match told {
        Some(told) if is_trusted(state, parts) => Some(told),
        Some(_) | None => peer,
    }
    .map_or_else(String::new, |address: IpAddr| address.to_string())
}

fn wants_page(parts: &Parts) -> bool {
    let accept = parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// Tells why somebody does not come through: a program by a status, a browser by a page, or by the one where
/// they can sign in.
fn turn_away(state: &AppState, parts: &Parts, stopped: Stopped) -> Response {
    let path = parts.uri.path();
    let (error, unknown) = match stopped {
        Stopped::Unknown(error) => (error, true),
        Stopped::Refused(error) => (error, false),
    };
    let inner = ["/api", FUNCTIONS_AT, "/rail"].iter().any(|start| path.starts_with(start));
    let is_form = parts.method == Method::POST && wants_page(parts);
    if !is_form && (inner || !wants_page(parts)) {
        // Our own pages read the answers of server functions as they are.
        if path.starts_with(FUNCTIONS_AT) {
            let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::FORBIDDEN);
            return (status, Json(error)).into_response();
        }
        let mut response = error.into_response();
        if unknown {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        return response;
    }
    if unknown && state.access.has_accounts() {
        return Redirect::to(&format!("/login?next={}", escaped(&back(parts)))).into_response();
    }
    api::told(state, &parts.headers, &error, &back(parts))
}

/// Where to go on once it is known who asks: to the page that was asked for, or that a form stands on.
fn back(parts: &Parts) -> String {
    let asked = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if parts.method == Method::GET {
        return within_site(asked).to_owned();
    }
    let from = parts.headers.get(header::REFERER).and_then(|from| from.to_str().ok());
    let from = from.and_then(|from| from.parse::<axum::http::Uri>().ok());
    let path = from.as_ref().and_then(|from| from.path_and_query()).map(|path| path.as_str());
    within_site(path.unwrap_or("/")).to_owned()
}

/// A text as the value of a parameter.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
