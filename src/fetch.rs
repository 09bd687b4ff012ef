//! Fetching a document from the web, for a person who asked for it.
//!
//! The one rule of the room: nothing but the public internet is reached. A name is resolved here, its
//! addresses are checked, and the connection goes to a checked address; every redirect is a new
//! question. Hosts that an operator allows may be anywhere.

mod html;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use encoding_rs::Encoding;
use futures_util::future::BoxFuture;
use reqwest::{Client, Response, StatusCode, Url, dns, header, redirect::Policy};

use crate::domain::{
    error::ApiError,
    internet::is_public,
    knowledge::{TEXT, TITLE, URL},
};

/// How long all of it may take.
const TIME: Duration = Duration::from_secs(10);
/// How large a document may be.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;
/// How far into a page it is looked for the encoding that it names: as far as browsers look.
const HEAD_BYTES: usize = 1024;

/// Finds the addresses of a name.
pub type Resolve =
    dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync;

/// What fetches. Cheap to clone.
#[derive(Clone)]
pub struct Fetcher {
    /// The hosts that may be anywhere, as `host` or `host:port`; `None` when nothing is fetched.
    allow: Option<Arc<[String]>>,
    resolve: Arc<Resolve>,
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Fetcher").field("allow", &self.allow).finish_non_exhaustive()
    }
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The host that gave it.
    pub host: String,
    /// Its title, as far as it has one.
    pub title: String,
    /// What it says, as far as a ref holds it.
    pub text: String,
    /// Whether there is more.
    pub is_cut: bool,
}

impl Fetcher {
    /// Fetches from the public internet, and from these hosts wherever they are.
    pub fn new(allow: Vec<String>) -> Self {
        let allow = allow.into_iter().map(|host| host.trim().to_ascii_lowercase());
        Self { allow: Some(allow.collect()), resolve: Arc::new(resolve_by_system) }
    }

    /// Fetches nothing.
    pub fn off() -> Self {
        Self { allow: None, ..Self::new(Vec::new()) }
    }

    /// Whether anything is fetched.
    pub fn is_on(&self) -> bool {
        self.allow.is_some()
    }

    /// The same, asking this for the addresses of names.
    pub fn resolving(self, resolve: Arc<Resolve>) -> Self {
        Self { resolve, ..self }
    }

    /// Fetches the document at an address.
    pub async fn fetch(&self, url: &str) -> Result<Fetched, ApiError> {
        let Some(allow) = &self.allow else {
            let reason = "Fetching is switched off on this server.".into();
            return Err(ApiError::Denied { reason });
        };
        let url = parse(url)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let fetched = tokio::time::timeout(TIME, self.follow(url, allow)).await;
        fetched.unwrap_or_else(|_| {
            Err(failed(&host, &format!("it took longer than {} s", TIME.as_secs())))
        })
    }

    async fn follow(&self, mut url: Url, allow: &[String]) -> Result<Fetched, ApiError> {
        for _ in 0..=MAX_REDIRECTS {
            let host = url.host_str().unwrap_or_default().to_owned();
            let addresses = self.addresses(&url, &host, allow).await?;
            let response = ask(&url, &host, addresses).await?;
            if !response.status().is_redirection() {
                return read(response, host).await;
            }
            let next = response.headers().get(header::LOCATION).and_then(|next| next.to_str().ok());
            let next = next.and_then(|next| url.join(next).ok());
            url = parse(next.ok_or_else(|| failed(&host, "it points nowhere"))?.as_str())?;
        }
        let host = url.host_str().unwrap_or_default();
        Err(failed(host, &format!("it points elsewhere more than {MAX_REDIRECTS} times")))
    }

    /// The addresses of a host that may be reached.
    async fn addresses(
        &self,
        url: &Url,
        host: &str,
        allow: &[String],
    ) -> Result<Vec<SocketAddr>, ApiError> {
        let port = url.port_or_known_default().unwrap_or_default();
        let usual = [80, 443].contains(&port);
        let named = format!("{host}:{port}");
        let is_allowed = allow.iter().any(|entry| (usual && entry == host) || *entry == named);
        if !usual && !is_allowed {
            return Err(refused("Only the ports 80 and 443 are fetched from."));
        }
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let found = match literal {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => (self.resolve)(host.to_owned(), port)
                .await
                .map_err(|_| failed(host, "there is no such host"))?,
        };
        let reachable: Vec<SocketAddr> =
            found.into_iter().filter(|address| is_allowed || is_public(address.ip())).collect();
        if reachable.is_empty() {
            return Err(refused("The address is not one of the public internet."));
        }
        Ok(reachable)
    }
}

impl Default for Fetcher {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

fn resolve_by_system(host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
    Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
}

/// An address on the web without a name or a password in it.
fn parse(url: &str) -> Result<Url, ApiError> {
    let url = Url::parse(url.trim()).map_err(|_| refused("The address cannot be read."))?;
    if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none_or(str::is_empty) {
        return Err(refused("The address must begin with http:// or https://."));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("The address must not hold a name or a password."));
    }
    Ok(url)
}

fn refused(rule: &str) -> ApiError {
    ApiError::invalid(URL.name, rule)
}

fn failed(host: &str, why: &str) -> ApiError {
    ApiError::Provider {
        service: host.to_owned(),
        reason: format!("The document at {host} could not be fetched: {why}."),
    }
}

/// Gives the checked addresses for whatever name is asked: none is looked up again.
struct Pinned(Vec<SocketAddr>);

impl dns::Resolve for Pinned {
    fn resolve(&self, _: dns::Name) -> dns::Resolving {
        let addresses: dns::Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// Asks one host, at these addresses and no others.
async fn ask(url: &Url, host: &str, addresses: Vec<SocketAddr>) -> Result<Response, ApiError> {
    // Another part of the program may have chosen already; then that choice stands.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = Client::builder()
        .redirect(Policy::none())
        // A proxy would resolve the name again.
        .no_proxy()
        .dns_resolver(Arc::new(Pinned(addresses)))
        .user_agent(concat!("greenroom/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|_| failed(host, "no connection could be prepared"))?;
    let request =
        client.get(url.clone()).header(header::ACCEPT, "text/html, text/*, application/json");
    request.send().await.map_err(|error| {
        tracing::info!(error = %error.without_url(), "a document could not be fetched");
        failed(host, "it could not be reached")
    })
}

/// What a host gave, as text.
async fn read(mut response: Response, host: String) -> Result<Fetched, ApiError> {
    let status = response.status();
    if status != StatusCode::OK {
        return Err(failed(&host, &format!("it answered with status {}", status.as_u16())));
    }
    let named = |name: header::HeaderName| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_ascii_lowercase()
    };
    let (kind, encoding) = (named(header::CONTENT_TYPE), named(header::CONTENT_ENCODING));
    let essence = kind.split(';').next().unwrap_or_default().trim().to_owned();
    let is_html = ["text/html", "application/xhtml+xml"].contains(&essence.as_str());
    let is_text = essence.starts_with("text/")
        || essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"));
    if !is_html && !is_text {
        return Err(failed(&host, "it is not a text"));
    }
    if !["", "identity"].contains(&encoding.as_str()) {
        return Err(failed(&host, "it is packed, though that was not asked for"));
    }
    let mut bytes = Vec::new();
    while let Some(piece) =
        response.chunk().await.map_err(|_| failed(&host, "the answer broke off"))?
    {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_BYTES {
            return Err(failed(&host, "it is larger than 2 MB"));
        }
    }
    let said = decode(&bytes, named_encoding(&kind, &bytes, is_html));
    let readable = if is_html {
        html::read(&said)
    } else {
        html::Readable { title: String::new(), text: said.trim().to_owned() }
    };
    let mut text = readable.text;
    let end = text.char_indices().nth(TEXT.max_chars).map(|(end, _)| end);
    text.truncate(end.unwrap_or(text.len()));
    let title = readable.title.chars().take(TITLE.max_chars).collect();
    Ok(Fetched { host, title, text, is_cut: end.is_some() })
}

/// The encoding that an answer names: in its header, or else a page near its beginning.
fn named_encoding(kind: &str, bytes: &[u8], is_html: bool) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]).to_ascii_lowercase();
    let by_page = || {
        let mut tags = head.split("<meta").skip(1).filter_map(|tag| tag.split('>').next());
        // What could be read so far is not of two bytes a letter.
        tags.find_map(charset).map(Encoding::output_encoding)
    };
    charset(kind).or_else(|| by_page().filter(|_| is_html))
}

/// The encoding that stands after `charset=`.
fn charset(text: &str) -> Option<&'static Encoding> {
    let (_, named) = text.split_once("charset")?;
    let named = named.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let ends = |letter: char| matches!(letter, '"' | '\'' | ';' | '/') || letter.is_whitespace();
    Encoding::for_label(named.split(ends).next()?.as_bytes())
}

/// Bytes as text. What reads as UTF-8 is that, also where something else is said: a server names one encoding
/// for all that it has.
fn decode(bytes: &[u8], named: Option<&'static Encoding>) -> String {
    let text = match (std::str::from_utf8(bytes), named) {
        (Ok(text), Some(named)) if named.is_ascii_compatible() => text.into(),
        (Ok(text), None) => text.into(),
        (_, named) => named.unwrap_or(encoding_rs::UTF_8).decode(bytes).0,
    };
    text.trim_start_matches('\u{feff}').replace('\0', "").replace("\r\n", "\n")
}
