//! The web app: the same components render on the server and come alive in the browser.
//!
//! The one rule of the room: no file here asks which build it is in; what differs is in `platform`.

pub mod components;
pub mod pages;
pub mod platform;
pub mod server_fns;
pub mod shell;
pub mod state;

use components::{
    frame::Frame,
    notice::{Notices, provide_notices},
    theme_switch::provide_theme,
};
use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::{
    SsrMode,
    components::{FlatRoutes, Route, Router},
    path,
};
use pages::{
    bin::BinPage, conflict::ConflictPage, not_found::NotFoundPage, persona::PersonaPage,
    personas::PersonasPage, settings::SettingsPage,
};

/// The whole app. Pages are rendered whole before they are sent, so that they read without JavaScript
/// and carry the right status.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    provide_notices();
    provide_theme();
    view! {
        <Router>
            <Frame>
                <FlatRoutes fallback=NotFoundPage>
                    <Route path=path!("/") view=PersonasPage ssr=SsrMode::Async/>
                    <Route path=path!("/personas/:id") view=PersonaPage ssr=SsrMode::Async/>
                    <Route path=path!("/conflicts/:id") view=ConflictPage ssr=SsrMode::Async/>
                    <Route path=path!("/bin") view=BinPage ssr=SsrMode::Async/>
                    <Route path=path!("/settings") view=SettingsPage ssr=SsrMode::Async/>
                </FlatRoutes>
            </Frame>
            <Notices/>
        </Router>
    }
}
