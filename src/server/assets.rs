//! The site's files: from inside the binary, or from the site's folder in a build without them.

use std::path::Path;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use leptos::config::LeptosOptions;

use super::access;
use crate::{
    app::shell::{self, SiteFiles},
    state::AppState,
};

/// A file of the site.
pub struct File {
    name: &'static str,
    kind: &'static str,
    etag: &'static str,
    /// Under the package folder and never changing under its name; else at the root.
    in_package: bool,
    raw: &'static [u8],
    brotli: &'static [u8],
    gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/site.rs"));

const FOR_EVER: &str = "public, max-age=31536000, immutable";
const FOR_A_WHILE: &str = "public, max-age=3600";

/// The addresses of the files that every page names.
pub fn names(site: &LeptosOptions) -> SiteFiles {
    let package = |name: &str| format!("/{}/{name}", site.site_pkg_dir);
    let program = match PROGRAM {
        Some((loader, wasm)) => Some((package(loader), package(wasm))),
        // `cargo leptos` puts them here.
        None => {
            let folder = Path::new(&*site.site_root).join(&*site.site_pkg_dir);
            let loader = format!("{}.js", site.output_name);
            let wasm = format!("{}.wasm", site.output_name);
            folder.join(&loader).exists().then(|| (package(&loader), package(&wasm)))
        }
    };
    SiteFiles { style: package(STYLE), tool_style: package(TOOL_STYLE), program }
}

/// Serves a file of the site, or the page that says that there is nothing.
pub async fn serve_or_not_found(State(state): State<AppState>, request: Request) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if reads
        && let Some(response) = find(&state.site, request.uri().path(), request.headers()).await
    {
        return response;
    }
    let context = {
        let state = state.clone();
        move || leptos::context::provide_context(state.clone())
    };
    let files = state.files.clone();
    let page = leptos_axum::render_app_async_with_context(context, move || {
        shell::shell(files.clone(), access::role_shown(&state))
    });
    page(request).await.into_response()
}

async fn find(site: &LeptosOptions, path: &str, headers: &HeaderMap) -> Option<Response> {
    let path = path.strip_prefix('/')?;
    let package = path.strip_prefix(&*site.site_pkg_dir).and_then(|rest| rest.strip_prefix('/'));
    let embedded = FILES.iter().find(|file| match package {
        Some(name) => file.in_package && file.name == name,
        None => !file.in_package && file.name == path,
    });
    match (embedded, package) {
        (Some(file), _) => Some(answer(file, headers)),
        (None, Some(name)) if PROGRAM.is_none() => from_folder(site, name).await,
        _ => None,
    }
}

fn answer(file: &File, headers: &HeaderMap) -> Response {
    let mut response = if wants(headers, header::IF_NONE_MATCH, file.etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let (bytes, encoding) = if wants(headers, header::ACCEPT_ENCODING, "br") {
            (file.brotli, Some("br"))
        } else if wants(headers, header::ACCEPT_ENCODING, "gzip") {
            (file.gzip, Some("gzip"))
        } else {
            (file.raw, None)
        };
        let mut response = Response::new(Body::from(bytes));
        if let Some(encoding) = encoding {
            let encoding = HeaderValue::from_static(encoding);
            response.headers_mut().insert(header::CONTENT_ENCODING, encoding);
        }
        response
    };
    let caching = if file.in_package { FOR_EVER } else { FOR_A_WHILE };
    let facts = [
        (header::CONTENT_TYPE, file.kind),
        (header::CACHE_CONTROL, caching),
        (header::ETAG, file.etag),
        (header::VARY, "accept-encoding"),
    ];
    for (name, value) in facts {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether a header's list has this word, not refused by `;q=0`.
fn wants(headers: &HeaderMap, name: header::HeaderName, word: &str) -> bool {
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).any(|list| {
        list.split(',').any(|item| {
            let mut parts = item.split(';').map(str::trim);
            let named = parts.next().is_some_and(|name| name.trim_start_matches("W/") == word);
            named && !parts.any(|part| part == "q=0" || part == "q=0.0")
        })
    })
}

/// While developing: the file as `cargo leptos` or `make site` left it.
async fn from_folder(site: &LeptosOptions, name: &str) -> Option<Response> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if !name.split('/').all(plain) || name.contains('\\') {
        return None;
    }
    let file = Path::new(&*site.site_root).join(&*site.site_pkg_dir).join(name);
    let kind = match name.rsplit('.').next()? {
        "js" => "text/javascript",
        "wasm" => "application/wasm",
        "css" => "text/css",
        _ => return None,
    };
    let bytes = tokio::fs::read(file).await.ok()?;
    Some(
        ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], bytes)
            .into_response(),
    )
}
