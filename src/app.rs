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

/// What shows a served page. Of one type for all of them, so that the browser's program has it once.
fn of(page: ServedPage) -> impl Fn() -> AnyView + Clone + Send + Sync + 'static {
    move || served(page)
}

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
                    <Route path=path!("/personas/:id/roleplay") view=of(ServedPage::Roleplay) ssr=SsrMode::Async/>
                    <Route path=path!("/chats") view=of(ServedPage::Chats) ssr=SsrMode::Async/>
                    <Route path=path!("/chats/:id") view=of(ServedPage::Chat) ssr=SsrMode::Async/>
                    <Route path=path!("/knowledge") view=of(ServedPage::Knowledge) ssr=SsrMode::Async/>
                    <Route path=path!("/pages/:id") view=of(ServedPage::Page) ssr=SsrMode::Async/>
                    <Route path=path!("/refs/:id") view=of(ServedPage::Ref) ssr=SsrMode::Async/>
                    <Route path=path!("/tasks/:id") view=of(ServedPage::Task) ssr=SsrMode::Async/>
                    <Route path=path!("/search") view=of(ServedPage::Search) ssr=SsrMode::Async/>
                    <Route path=path!("/conflicts/:id") view=of(ServedPage::Conflict) ssr=SsrMode::Async/>
                    <Route path=path!("/playground/:id") view=of(ServedPage::Playground) ssr=SsrMode::Async/>
                    <Route path=path!("/playground/:id/:session") view=of(ServedPage::Session) ssr=SsrMode::Async/>
                    <Route path=path!("/terminal") view=of(ServedPage::Terminals) ssr=SsrMode::Async/>
                    <Route path=path!("/terminal/:id") view=of(ServedPage::Terminal) ssr=SsrMode::Async/>
                    <Route path=path!("/gallery") view=of(ServedPage::Gallery) ssr=SsrMode::Async/>
                    <Route path=path!("/inbox") view=of(ServedPage::Inbox) ssr=SsrMode::Async/>
                    <Route path=path!("/audit") view=of(ServedPage::Audit) ssr=SsrMode::Async/>
                    <Route path=path!("/traces") view=of(ServedPage::Traces) ssr=SsrMode::Async/>
                    <Route path=path!("/traces/:id") view=of(ServedPage::Trace) ssr=SsrMode::Async/>
                    <Route path=path!("/usage") view=of(ServedPage::Usage) ssr=SsrMode::Async/>
                    <Route path=path!("/bin") view=of(ServedPage::Bin) ssr=SsrMode::Async/>
                    <Route path=path!("/settings") view=of(ServedPage::Settings) ssr=SsrMode::Async/>
                </FlatRoutes>
            </Frame>
            <Notices/>
        </Router>
    }
}
