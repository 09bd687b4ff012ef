//! The document around the app: what the server sends before anything else.

use leptos::{nonce::Nonce, prelude::*};
use leptos_meta::MetaTags;

use super::{App, platform};
use crate::domain::account::Role;

/// The addresses of the files that every page names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFiles {
    /// The style sheet.
    pub style: String,
    /// The one that only some pages need.
    pub tool_style: String,
    /// The loader and the browser's program; without them pages are plain.
    pub program: Option<(String, String)>,
}

/// The HTML document, for somebody with this role where there are accounts.
pub fn shell(files: SiteFiles, role: Option<Role>) -> impl IntoView {
    provide_context(files.clone());
    let theme = platform::theme();
    let nonce = platform::content_policy();
    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=theme.word() data-account=role.map(Role::word)>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <meta name="description" content="Where AI personas get ready before they go on stage."/>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
                <link rel="stylesheet" href=files.style/>
                {files.program.map(|(loader, wasm)| program(loader, wasm, nonce))}
                <MetaTags/>
            </head>
            <body>
                <App/>
            </body>
        </html>
    }
}

/// Loads the browser's program and lets it take over the page.
fn program(loader: String, wasm: String, nonce: Option<Nonce>) -> impl IntoView {
    let start = format!(
        "import start, {{ hydrate }} from {loader:?};\
         start({{ module_or_path: {wasm:?} }}).then(() => {{\
         hydrate(); document.documentElement.dataset.alive = ''; }});"
    );
    view! {
        <link rel="modulepreload" href=loader/>
        <link rel="preload" href=wasm r#as="fetch" type="application/wasm" crossorigin="anonymous"/>
        <script type="module" nonce=nonce inner_html=start></script>
    }
}
