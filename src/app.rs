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
    live::provide_live,
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
use pages::{ServedPage, not_found::NotFoundPage, persona::PersonaPage, personas::PersonasPage};
use platform::served;

/// The whole app. Pages are rendered whole before they are sent, so that they read without JavaScript
/// and carry the right status.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    provide_notices();
    provide_live();
    provide_theme();
    view! {
        <Router>
            <Frame>
                <FlatRoutes fallback=NotFoundPage>
                    <Route path=path!("/") view=PersonasPage ssr=SsrMode::Async/>
                    <Route path=path!("/personas/:id") view=PersonaPage ssr=SsrMode::Async/>
                    <Route path=path!("/personas/:id/roleplay") view=|| served(ServedPage::Roleplay) ssr=SsrMode::Async/>
                    <Route path=path!("/chats") view=|| served(ServedPage::Chats) ssr=SsrMode::Async/>
                    <Route path=path!("/chats/:id") view=|| served(ServedPage::Chat) ssr=SsrMode::Async/>
                    <Route path=path!("/knowledge") view=|| served(ServedPage::Knowledge) ssr=SsrMode::Async/>
                    <Route path=path!("/pages/:id") view=|| served(ServedPage::Page) ssr=SsrMode::Async/>
                    <Route path=path!("/refs/:id") view=|| served(ServedPage::Ref) ssr=SsrMode::Async/>
                    <Route path=path!("/tasks/:id") view=|| served(ServedPage::Task) ssr=SsrMode::Async/>
                    <Route path=path!("/search") view=|| served(ServedPage::Search) ssr=SsrMode::Async/>
                    <Route path=path!("/conflicts/:id") view=|| served(ServedPage::Conflict) ssr=SsrMode::Async/>
                    <Route path=path!("/gallery") view=|| served(ServedPage::Gallery) ssr=SsrMode::Async/>
                    <Route path=path!("/inbox") view=|| served(ServedPage::Inbox) ssr=SsrMode::Async/>
                    <Route path=path!("/audit") view=|| served(ServedPage::Audit) ssr=SsrMode::Async/>
                    <Route path=path!("/traces") view=|| served(ServedPage::Traces) ssr=SsrMode::Async/>
                    <Route path=path!("/traces/:id") view=|| served(ServedPage::Trace) ssr=SsrMode::Async/>
                    <Route path=path!("/usage") view=|| served(ServedPage::Usage) ssr=SsrMode::Async/>
                    <Route path=path!("/bin") view=|| served(ServedPage::Bin) ssr=SsrMode::Async/>
                    <Route path=path!("/settings") view=|| served(ServedPage::Settings) ssr=SsrMode::Async/>
                </FlatRoutes>
            </Frame>
            <Notices/>
        </Router>
    }
}
