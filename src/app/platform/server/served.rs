//! On the server, pages are rendered where they stand, and nobody sends forms.

use std::collections::HashMap;

use axum::{extract::Query, http::request::Parts};
use leptos::{ev::MouseEvent, prelude::*, server_fn::error::ServerFnUrlError};

use crate::{
    app::{components::notice::Noticeboard, pages::ServedPage, shell::SiteFiles},
    domain::error::ApiError,
};

/// Renders a page that the browser only shows.
pub fn served(page: ServedPage) -> AnyView {
    let files = use_context::<SiteFiles>();
    let style = files.map(|files| files.tool_style);
    view! {
        <div id="served">
            {style.map(|style| view! { <link rel="stylesheet" href=style/> })}
            {page.render()}
        </div>
    }
    .into_any()
}

/// The page is being made.
pub fn renew_served() {}

/// Nobody speaks on the server.
pub fn show_said() {}

/// Nobody writes on the server.
pub fn is_writing_served() -> bool {
    false
}

/// Nobody leaves on the server.
pub fn ask_before_leaving(_: MouseEvent) {}

/// There is nothing open.
pub fn close_served() -> bool {
    false
}

/// Nobody saves by a key on the server.
pub fn save_served() -> bool {
    false
}

/// Nobody sends forms on the server.
pub fn send_quiet_forms(_: Noticeboard) {}

/// Why the plain form that led to this page was refused: it stands in the page's address.
pub fn refused_form() -> Option<String> {
    let parts = use_context::<Parts>()?;
    let query = Query::<HashMap<String, String>>::try_from_uri(&parts.uri).ok()?;
    let refused = query.get("__err")?;
    Some(ServerFnUrlError::<ApiError>::decode_err(refused).to_string())
}
