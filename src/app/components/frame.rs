//! The frame around every page: navigation on the left, room for a sidebar, the page, room for the
//! companion's rail and for its bar.

use leptos::{html::Dialog, prelude::*};
use leptos_router::hooks::use_location;

use super::{
    icon::{Glyph, Icon},
    live::use_live,
    notice::use_notices,
    palette::Palette,
    problem::RefusedForm,
    rail::{Composer, Rail, Talk},
    theme_switch::ThemeSwitch,
};
use crate::app::{platform, state::shortcut::Shortcut};

/// A place in the navigation.
#[derive(Clone, Copy)]
pub struct Place {
    /// Where it is.
    pub path: &'static str,
    /// What it is called.
    pub label: &'static str,
    /// Its sign.
    pub icon: Icon,
}

impl Place {
    /// Whether a page belongs to this place. Single things belong to the list they are in.
    fn holds(&self, path: &str) -> bool {
        match self.path {
            "/" => path == "/" || path.starts_with("/personas/"),
            "/knowledge" => {
                let inside = ["/knowledge", "/pages/", "/refs/", "/tasks/"];
                inside.iter().any(|start| path.starts_with(start))
            }
            own => path.starts_with(own),
        }
    }
}

/// The places in the navigation, also found by the palette.
pub const PLACES: [Place; 11] = [
    Place { path: "/", label: "Personas", icon: Icon::People },
    Place { path: "/chats", label: "Chats", icon: Icon::Talk },
    Place { path: "/gallery", label: "Gallery", icon: Icon::Picture },
    Place { path: "/knowledge", label: "Knowledge", icon: Icon::Book },
    Place { path: "/search", label: "Search", icon: Icon::Search },
    Place { path: "/inbox", label: "Inbox", icon: Icon::Inbox },
    Place { path: "/traces", label: "Traces", icon: Icon::Trace },
    Place { path: "/usage", label: "Usage", icon: Icon::Plot },
    Place { path: "/audit", label: "Audit", icon: Icon::History },
    Place { path: "/bin", label: "Bin", icon: Icon::Bin },
    Place { path: "/settings", label: "Settings", icon: Icon::Settings },
];

/// The frame.
#[component]
pub fn Frame(
    /// The page.
    children: Children,
) -> impl IntoView {
    let location = use_location();
    let palette = NodeRef::<Dialog>::new();
    let help = NodeRef::<Dialog>::new();
    let opened = RwSignal::new(0_u32);
    let folded_out = RwSignal::new(false);
    let board = use_notices();
    let live = use_live();
    let talk = Talk::open();
    Effect::new(move |_| {
        platform::send_quiet_forms(board);
        live.start();
        live.on(|_| platform::renew_served());
        platform::warn_before_leaving(platform::is_writing_served);
    });
    let open_palette = move || {
        *opened.write() += 1;
        platform::open_dialog(palette);
    };
    Effect::new(move |_| {
        platform::on_shortcut(move |wish| match wish {
            Shortcut::Palette => {
                open_palette();
                true
            }
            Shortcut::Help => {
                platform::open_dialog(help);
                true
            }
            Shortcut::Find => {
                platform::focus("search");
                true
            }
            Shortcut::Close => platform::close_popovers() || platform::close_served(),
            Shortcut::Card(key) => platform::act_on_card(key),
            Shortcut::Save => platform::save_served(),
            Shortcut::Talk => false,
        });
    });
    Effect::new(move |_| {
        location.pathname.track();
        folded_out.set(false);
    });
    view! {
        <a class="skip" href="#page">"Skip to the page"</a>
        <div class="frame" on:click=platform::ask_before_leaving>
            <header class="nav">
                <div class="nav-head">
                    <a class="brand" href="/">
                        <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
                            <rect width="32" height="32" rx="9"/>
                            <path d="M9 23V11.5a2.5 2.5 0 0 1 2.5-2.5h9a2.5 2.5 0 0 1 2.5 2.5V23M6.5 23h19M13 15.5h6"/>
                        </svg>
                        "Greenroom"
                    </a>
                    <input
                        type="checkbox"
                        id="nav-fold"
                        class="nav-fold"
                        aria-label="Menu"
                        prop:checked=folded_out
                        on:change=move |event| folded_out.set(event_target_checked(&event))
                    />
                    <label for="nav-fold" class="nav-button" aria-hidden="true">
                        <Glyph icon=Icon::Menu/>
                    </label>
                </div>
                <div class="nav-body">
                    <nav aria-label="Main">
                        {PLACES.map(|place| {
                            let here = move || place.holds(&location.pathname.read());
                            view! {
                                <a href=place.path aria-current=move || here().then_some("page")>
                                    <Glyph icon=place.icon/>
                                    {place.label}
                                </a>
                            }
                        })}
                    </nav>
                    <div class="nav-foot">
                        <button class="hint needs-script" on:click=move |_| open_palette()>
                            "Go to…" <kbd>"Ctrl K"</kbd>
                        </button>
                        <button class="hint needs-script" on:click=move |_| platform::open_dialog(help)>
                            "Keys" <kbd>"?"</kbd>
                        </button>
                        // Shown where there are accounts. It is a document of its own.
                        <a class="hint only-accounts" href="/account" rel="external">"Account"</a>
                        <ThemeSwitch/>
                    </div>
                </div>
            </header>
            <div class="side" id="side"></div>
            <main id="page" tabindex="-1"><RefusedForm/>{children()}</main>
            <Rail talk/>
            <section class="bar" id="bar" aria-label="Talk to the page"><Composer talk/></section>
        </div>
        <Palette dialog=palette opened/>
        <dialog class="help" node_ref=help aria-labelledby="help-title">
            <header class="row apart">
                <h2 id="help-title">"Keys"</h2>
                <form method="dialog">
                    <button class="icon" aria-label="Close"><Glyph icon=Icon::Close/></button>
                </form>
            </header>
            // Only the server knows: what it wrote there stays when the browser takes the page over.
            <dl class="keys" inner_html=platform::key_help()></dl>
        </dialog>
    }
}
