//! The public page of a persona, for anyone with its address. It is the one page that is read without
//! asking whose Space it is of.

use std::hash::{DefaultHasher, Hash, Hasher};

use aide::axum::ApiRouter;
use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use leptos::prelude::*;

use super::{error::unknown_address, rail::html};
use crate::{
    app::{
        components::written::escaped,
        pages::published::{NothingPublished, PublishedPage, ShownPage},
    },
    domain::{
        error::ApiError,
        publication::{PublicPage, check_slug},
        visible::show_in,
    },
    markdown,
    state::{AppState, origin},
};

/// The most of an appearance that others quote.
const QUOTED_CHARS: usize = 200;
/// What a browser may do there: read it.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";
/// Kept anywhere, and asked about before it is shown: what is taken down is gone at once.
const KEEPING: &str = "public, no-cache";
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
const NOT_LISTED: &str = "noindex, nofollow";

pub fn routes() -> ApiRouter<AppState> {
    // Nothing can be done there but read.
    ApiRouter::new().route("/p/{slug}", get(open).fallback(unknown_address))
}

async fn open(
    State(state): State<AppState>,
    headers: HeaderMap,
    slug: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let slug = slug.map(|Path(slug)| slug).unwrap_or_default();
    // What no address can be is not looked for.
    let page = match check_slug(&slug) {
        Ok(()) => state.store.public_page(&slug).await?,
        Err(_) => None,
    };
    let reached = origin(&state, &headers);
    let styles = [state.files.style, state.files.tool_style];
    let Some(mut page) = page else { return Ok(nothing(styles)) };
    show_in([&mut page.name, &mut page.appearance]);
    show_in(page.examples.iter_mut().map(|example| &mut example.input));
    let indexed = page.indexed;
    let address = format!("{reached}/p/{slug}");
    let document = document(styles, &head(&page, &address), move || {
        view! { <PublishedPage page=shown(page)/> }.into_any()
    });
    let tag = tag(&document);
    let known = headers.get_all(header::IF_NONE_MATCH).iter().any(|known| {
        let mut tags = known.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.any(|known| known == "*" || known.trim_start_matches("W/") == tag)
    });
    let kept = [(header::ETAG, tag.as_str()), (header::CACHE_CONTROL, KEEPING)];
    if known {
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    let mut answer = (kept, policy(), Html(document)).into_response();
    if !indexed {
        answer.headers_mut().insert(ROBOTS, header::HeaderValue::from_static(NOT_LISTED));
    }
    Ok(answer)
}

fn policy() -> [(HeaderName, &'static str); 1] {
    [(header::CONTENT_SECURITY_POLICY, POLICY)]
}

/// What is told where nothing is public, or no longer.
fn nothing(styles: [String; 2]) -> Response {
    let head = format!(
        "<title>Nothing to see here</title><meta name=\"robots\" content=\"{NOT_LISTED}\">"
    );
    let document = document(styles, &head, || view! { <NothingPublished/> }.into_any());
    (StatusCode::NOT_FOUND, [(ROBOTS, NOT_LISTED)], policy(), Html(document)).into_response()
}

fn shown(page: PublicPage) -> ShownPage {
    let examples = page.examples.into_iter();
    ShownPage {
        name: page.name,
        appearance: page.appearance,
        prompt: page.system_prompt.map(|prompt| markdown::to_html(&prompt)),
        examples: examples
            .map(|example| (example.input, markdown::to_html(&example.answer)))
            .collect(),
    }
}

/// What other sites and search engines are told.
fn head(page: &PublicPage, address: &str) -> String {
    let line = page.appearance.split_whitespace().collect::<Vec<_>>().join(" ");
    let about: String = match line.is_empty() {
        true => format!("{}, a persona made with Greenroom.", page.name),
        false => line.chars().take(QUOTED_CHARS).collect(),
    };
    let (name, about, address) = (quoted(&page.name), quoted(&about), quoted(address));
    let mut head = format!("<title>{}</title>", escaped(&page.name));
    if !page.indexed {
        head += &format!("<meta name=\"robots\" content=\"{NOT_LISTED}\">");
    }
    head += &format!("<meta name=\"description\" content=\"{about}\">");
    head += &format!("<link rel=\"canonical\" href=\"{address}\">");
    let graph = [
        ("type", "profile"),
        ("title", &name),
        ("description", &about),
        ("url", &address),
        ("site_name", "Greenroom"),
    ];
    for (property, content) in graph {
        head += &format!("<meta property=\"og:{property}\" content=\"{content}\">");
    }
    head + "<meta name=\"twitter:card\" content=\"summary\">"
}

/// A text as the value of an attribute.
fn quoted(text: &str) -> String {
    escaped(text).replace('"', "&quot;")
}

/// The whole document.
fn document(styles: [String; 2], head: &str, body: impl FnOnce() -> AnyView) -> String {
    let ([style, own_style], body) = (styles.map(|style| quoted(&style)), html(body));
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">{head}\
         <link rel=\"icon\" href=\"/favicon.svg\" type=\"image/svg+xml\">\
         <link rel=\"stylesheet\" href=\"{style}\"><link rel=\"stylesheet\" href=\"{own_style}\"></head>\
         <body>{body}</body></html>"
    )
}

/// A mark that is the same while the document is.
fn tag(document: &str) -> String {
    let mut hasher = DefaultHasher::new();
    document.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
