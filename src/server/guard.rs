//! What stands between the network and every address: who may ask, and what the browser may do.

use std::{any::Any, collections::HashSet, net::SocketAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{accounts::Transport, domain::error::ApiError};

/// What a browser may do with an answer that is no page: nothing, not even as a document of this origin.
const CLOSED: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// The names under which this server may be addressed.
#[derive(Clone, Debug)]
pub struct Hosts(Arc<HashSet<String>>);

impl Hosts {
    /// The loopback names with our port, and what the operator added.
    pub fn new(addr: SocketAddr, allowed: &[String]) -> Self {
        let port = addr.port();
        let mut names = HashSet::from([addr.to_string()]);
        for name in ["127.0.0.1", "localhost", "[::1]"] {
            names.insert(format!("{name}:{port}"));
            if port == 80 {
                names.insert(name.into());
            }
        }
        names.extend(allowed.iter().map(|name| name.trim().to_ascii_lowercase()));
        Self(Arc::new(names))
    }

    fn allow(&self, host: &str) -> bool {
        self.0.contains(&host.to_ascii_lowercase())
    }
}

/// Answers only to our own names. A page on another site that points its own name at this machine
/// (DNS rebinding) is stopped here, for pages, API and files alike.
pub async fn check_host(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let headers = request.headers().get_all(header::HOST).iter();
    let mut named: Vec<String> =
        headers.map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned()).collect();
    let lines = named.len();
    named.extend(request.uri().authority().map(|authority| authority.to_string()));
    if lines <= 1 && !named.is_empty() && named.iter().all(|host| hosts.allow(host)) {
        return next.run(request).await;
    }
    let host = named.into_iter().find(|host| !hosts.allow(host)).unwrap_or_default();
    ApiError::Misdirected { host: host.chars().take(100).collect() }.into_response()
}

/// A page of another site may not read the API or the rail, even by plain links and images. What the layer below
/// refuses to let it write is put into words here.
pub async fn refuse_foreign_readers(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let inner = ["/api", "/fn/", "/rail"].iter().any(|prefix| path.starts_with(prefix));
    let site = request.headers().get("sec-fetch-site").map(HeaderValue::as_bytes);
    if inner && matches!(site, Some(b"cross-site" | b"same-site")) {
        return from_another_site().into_response();
    }
    let response = next.run(request).await;
    let ours = response.headers().contains_key(header::CONTENT_TYPE);
    if response.status() == StatusCode::FORBIDDEN && !ours {
        return from_another_site().into_response();
    }
    response
}

fn from_another_site() -> ApiError {
    ApiError::Denied { reason: "This request came from another site, and was refused.".into() }
}

/// Tells the browser to be strict. Pages bring their own content policy, with a nonce.
pub async fn add_headers(
    State(transport): State<Transport>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    add(headers, header::CONTENT_SECURITY_POLICY, CLOSED);
    add(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(headers, header::X_FRAME_OPTIONS, "DENY");
    add(headers, header::REFERRER_POLICY, "same-origin");
    add(headers, HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    add(headers, HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    add(headers, header::CACHE_CONTROL, "no-store");
    match transport {
        // Whoever came encrypted once comes so for a year.
        Transport::Tls => {
            add(headers, header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
            secure_cookies(headers);
        }
        Transport::Plain => {}
    }
    response
}

/// Where connections are encrypted, no cookie of ours goes over one that is not.
fn secure_cookies(headers: &mut HeaderMap) {
    let cookies: Vec<HeaderValue> = headers.get_all(header::SET_COOKIE).iter().cloned().collect();
    headers.remove(header::SET_COOKIE);
    for cookie in cookies {
        let secured = [cookie.as_bytes(), b"; Secure"].concat();
        headers.append(header::SET_COOKIE, HeaderValue::from_bytes(&secured).unwrap_or(cookie));
    }
}

fn add(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}

/// What the log calls a request. The paths of links that open something are not told.
pub fn span(request: &Request) -> tracing::Span {
    let path = request.uri().path();
    let opens =
        ["/invite/", "/reset/", "/enter/"].into_iter().find(|start| path.starts_with(start));
    tracing::debug_span!("request", method = %request.method(), path = opens.unwrap_or(path))
}

/// A bug in a handler is one bad answer, not the end of the server.
pub fn tell_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
    let cause = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown");
    let incident = uuid::Uuid::now_v7().simple().to_string();
    tracing::error!(incident, cause, "a handler panicked");
    ApiError::Internal { incident }.into_response()
}
