//! Pages that the server renders and the browser only shows, and the forms in them.
//!
//! Such a page is the same with and without JavaScript. With it, going there and sending its forms
//! does not load the document anew: the page is fetched as it is, and its content put in place.

use std::cell::{Cell, RefCell};

use gloo_net::http::{Request, Response};
use gloo_timers::callback::Timeout;
use leptos::{ev, html::Div, prelude::*, task::spawn_local};
use leptos_router::hooks::use_location;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    Document, DomParser, Element, HtmlElement, HtmlFormElement, MouseEvent, SupportedType,
};

pub use super::forms::send_quiet_forms;
use super::{
    chat::{around, hear_chat, shown_chat},
    forms::{bring_back, has_writing, listed, send_form, show_reused},
    here::{POPOVERS, close_all},
    morph::{align, put_content, put_element},
    rail::{Following, put_gone_drafts},
    scroll::{NEAR, below, height, is_at_end, scroll_to_end, talks},
};
use crate::{
    app::{
        components::notice::{ENDED, use_notices},
        pages::ServedPage,
        state::panel::Told,
    },
    domain::error::ApiError,
};

/// The element whose content is fetched.
const PLACE: &str = "served";
/// What can be done with a message.
const TOOLS: &str = ".chat-tools";
/// News that come close together are one reason to load a page again.
const NEWS_MS: u32 = 300;
/// Stands in the address of a chat before the message that it is asked for.
const SEEN: &str = "?see=";

thread_local! {
    /// The page that is shown, and what loads it once more.
    static AGAIN: Cell<Option<(ServedPage, Callback<Reason>)>> = const { Cell::new(None) };
    /// Set while news wait to be shown.
    static NEWS: RefCell<Option<Timeout>> = const { RefCell::new(None) };
    /// Whether messages that were loaded earlier are being looked at again.
    static RENEWING: Cell<bool> = const { Cell::new(false) };
}

/// Why a page is loaded once more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// The person did something there.
    Done,
    /// The person said something there: they see it, wherever they were looking.
    Said,
    /// Something happened elsewhere: they stay where they are.
    News,
}

/// Shows a page that the server renders.
pub fn served(page: ServedPage) -> AnyView {
    let place = NodeRef::<Div>::new();
    let location = use_location();
    let hydrating =
        Owner::current_shared_context().is_some_and(|context| context.during_hydration());
    let address = move || {
        format!(
            "{}{}",
            location.pathname.get(),
            match location.search.get().as_str() {
                "" => String::new(),
                search => format!("?{search}"),
            }
        )
    };
    let board = use_notices();
    let look_back = move || {
        if kept_form().is_some_and(|form| bring_back(&form)) {
            board.tell("What you had not saved here is back.");
        }
    };
    // An answer that is being given on the page.
    let following = Following::none();
    let followed = StoredValue::new(String::new());
    let follow = move || {
        let run = followed_run();
        if followed.get_value() == run {
            return;
        }
        followed.set_value(run.clone());
        if run.is_empty() {
            following.close();
            return;
        }
        scroll_to_end();
        board.announced.set("An answer has begun.".into());
        following.open(&run.clone(), move |told| match told {
            Told::More if is_at_end() => scroll_to_end(),
            Told::More => {}
            Told::Over | Told::Lost => {
                if told == Told::Over {
                    board.announced.try_set(ENDED.into());
                }
                if followed.try_get_value().as_ref() == Some(&run) {
                    followed.set_value(String::new());
                    look_again();
                }
            }
        });
    };
    // The address of what is shown, and of what was asked for last.
    let shown = StoredValue::new(String::new());
    let wished = StoredValue::new(String::new());
    let settle = move |is_new: bool| {
        follow();
        let in_chat = |one: &str| document().query_selector(one).ok().flatten();
        if let Some(asked) = in_chat("#chat .seen").filter(|_| is_new) {
            let asked: &HtmlElement = asked.unchecked_ref();
            asked.scroll_into_view_with_bool(true);
            asked.focus().unwrap_or_default();
        }
        // Where the end is there too, the page goes on from it as any other.
        if in_chat("#chat-turns .later").is_none()
            && let Some(home) = without(SEEN, &wished.get_value())
        {
            shown.set_value(home.clone());
            wished.set_value(home);
        }
        renew_in_sight();
        if is_new {
            show_reused();
        }
        // Asked for with its place, the server knows this browser from now on.
        if let Some(place) = shown_chat(is_new) {
            spawn_local(async move {
                if parsed(&place).await.is_ok() {
                    refresh_served();
                }
            });
        }
    };
    if page == ServedPage::Chat {
        hear_chat();
    }
    let asked = StoredValue::new(0_u32);
    // Whether what the person did is not shown yet, and whether something happened elsewhere meanwhile.
    let going = StoredValue::new(false);
    let missed = StoredValue::new(false);
    let load = Callback::new(move |(wanted, reason): (String, Reason)| {
        // News must not lead back to where they were, nor take the place of the first answer: only that one
        // says that the server does not know this browser.
        if reason == Reason::News && going.get_value() {
            missed.set_value(true);
            return;
        }
        wished.set_value(wanted.clone());
        asked.update_value(|asked| *asked += 1);
        let number = asked.get_value();
        going.set_value(reason != Reason::News);
        spawn_local(async move {
            let content = match reason {
                Reason::Done | Reason::Said => fetch_content(&wanted).await,
                Reason::News => fetch_content(&with_leaf(&wanted)).await,
            };
            // Another page, or this one once more, may have been asked for meanwhile.
            let current = asked.try_get_value() == Some(number);
            if let Some(place) = place.try_get_untracked().flatten().filter(|_| current) {
                going.set_value(false);
                let path = |address: &str| address.split('?').next().map(str::to_owned);
                let before = shown.get_value();
                let is_new = before != wanted;
                match content {
                    Ok(content) if before == wanted => {
                        let under = below();
                        let last = listed(document().query_selector_all(".chat-turn")).pop();
                        let last = last.map(|turn| turn.id()).unwrap_or_default();
                        put_content(&place, &content);
                        put_gone_drafts();
                        // What comes under the last message does not push the end of a chat out of sight; on
                        // another branch, the end is not what one was looking at.
                        let stays = document().get_element_by_id(&last).is_some();
                        if stays && talks() && under < NEAR {
                            window().scroll_by_with_x_and_y(0.0, below() - under);
                        }
                    }
                    // What is shown is worth more than why it could not be loaded again.
                    Err(error) if before == wanted => board.tell(error.to_string()),
                    content => {
                        // What was chosen in them is shown now.
                        close_all(POPOVERS);
                        put_page(&place, &content.unwrap_or_else(|error| failed(&error)));
                        look_back();
                        if path(&before) != path(&wanted) {
                            scroll_to_end();
                        }
                        shown.set_value(wanted);
                    }
                }
                settle(is_new);
                if missed.get_value() {
                    missed.set_value(false);
                    look_again();
                }
            }
        });
    });
    Effect::new(move |before: Option<String>| {
        let wanted = address();
        match before {
            // The server sent it with the document.
            None if hydrating => {
                shown.set_value(wanted.clone());
                wished.set_value(wanted.clone());
                look_back();
                scroll_to_end();
                settle(true);
            }
            _ => load.run((wanted.clone(), Reason::Done)),
        }
        wanted
    });
    // It stands until another page takes its place: once this one is gone, it does nothing.
    let again = Callback::new(move |reason| {
        if let Some(address) = wished.try_get_value() {
            let places = if reason == Reason::Said { &[SEEN, "?compare="][..] } else { &[] };
            let home = places.iter().find_map(|place| without(place, &address));
            load.run((home.unwrap_or(address), reason));
        }
    });
    AGAIN.set(Some((page, again)));
    let scrolled = window_event_listener(ev::scroll, |_| {
        load_earlier();
        bring_out_tools();
        renew_in_sight();
    });
    on_cleanup(move || scrolled.remove());
    let waiting = if hydrating { "" } else { r#"<div class="skeleton block tall"></div>"# };
    view! { <div id=PLACE node_ref=place inner_html=waiting></div> }.into_any()
}

/// Puts another page in place. A chat that is shown already stays, with all that was loaded of it.
fn put_page(place: &Element, content: &str) {
    let chat = || document().get_element_by_id("chat");
    let known = chat();
    place.set_inner_html(content);
    let (Some(known), Some(wanted)) = (known, chat()) else { return };
    if known.get_attribute("data-chat") == wanted.get_attribute("data-chat") {
        wanted.replace_with_with_node_1(&known).unwrap_or_default();
        put_element(&known, &wanted.outer_html());
    }
}

/// The address of a chat without the message that it was asked for, if it was, or without what else is shown
/// instead of its end. The browser's own address forgets it too: looking again, one sees the end.
fn without(place: &str, address: &str) -> Option<String> {
    let (home, _) = address.split_once(place)?;
    let history = window().history().ok()?;
    history.replace_state_with_url(&JsValue::NULL, "", Some(home)).ok()?;
    Some(home.to_owned())
}

/// The runs that the page follows, with commas between them; empty when there are none.
fn followed_run() -> String {
    let follows = document().query_selector("#served [data-follow]").ok().flatten();
    follows.and_then(|follows| follows.get_attribute("data-follow")).unwrap_or_default()
}

/// Loads what was said before once its link comes into sight, and keeps what is read in its place.
fn load_earlier() {
    let link = document().query_selector("#served [data-earlier]").ok().flatten();
    let Some(link) = link.filter(|_| window().scroll_y().is_ok_and(|top| top < NEAR)) else {
        return;
    };
    let address = link.get_attribute("href").unwrap_or_default();
    link.remove_attribute("data-earlier").unwrap_or_default();
    spawn_local(async move {
        let page = parsed(&address).await.ok();
        let earlier = page.and_then(|page| page.query_selector("#chat-turns").ok().flatten());
        let (Some(earlier), Some(row)) = (earlier, link.parent_element()) else {
            link.set_attribute("data-earlier", "").unwrap_or_default();
            return;
        };
        // What comes after it is there.
        for rest in listed(earlier.query_selector_all(".later")) {
            rest.remove();
        }
        for tools in listed(earlier.query_selector_all(TOOLS)) {
            tools.set_inner_html(&format!("<template>{}</template>", tools.inner_html()));
        }
        let under = below();
        row.set_outer_html(&earlier.inner_html());
        window().scroll_by_with_x_and_y(0.0, below() - under);
        bring_out_tools();
    });
}

/// Brings out what can be done with the messages that are seen, or nearly. With those above it is put away until
/// then: a browser goes through all forms of a page whenever there is a new one, and every message has many.
fn bring_out_tools() {
    let kept = listed(document().query_selector_all("#chat-turns template"));
    let height = height();
    // They stand as high as what they will stand in.
    let place =
        |kept: &Element| kept.parent_element().map(|tools| tools.get_bounding_client_rect());
    let above = |kept: &Element| place(kept).is_some_and(|place| place.bottom() < -height);
    let near = |kept: &&Element| place(kept).is_some_and(|place| place.top() < 2.0 * height);
    for kept in kept[kept.partition_point(above)..].iter().take_while(near) {
        kept.set_outer_html(&kept.inner_html());
    }
}

/// Looks once more at the messages in sight that were loaded earlier, when something has happened since.
fn renew_in_sight() {
    let stale = "#chat-turns > [data-stale]:not(.earlier, .later)";
    let stale = listed(document().query_selector_all(stale));
    let above = |turn: &Element| turn.get_bounding_client_rect().bottom() < 0.0;
    let seen = |turn: &&Element| turn.get_bounding_client_rect().top() < height();
    let Some(turn) = stale.get(stale.partition_point(above)).filter(seen).cloned() else { return };
    let (id, path) = (turn.id(), location_pathname().unwrap_or_default());
    let Some((_, message)) = id.split_once('-').filter(|_| !RENEWING.replace(true)) else { return };
    let address = with_leaf(&format!("{path}?see={message}"));
    spawn_local(async move {
        let page = parsed(&address).await;
        RENEWING.set(false);
        let Ok(page) = page else { return };
        turn.remove_attribute("data-stale").unwrap_or_default();
        for wanted in listed(page.query_selector_all("#chat-turns > :not(.earlier, .later)")) {
            let known = document().get_element_by_id(&wanted.id());
            let is_old = |known: &Element| *known == turn || known.has_attribute("data-stale");
            if let Some(known) = known.filter(is_old) {
                align(&known, &wanted);
            }
        }
        renew_in_sight();
    });
}

/// Loads the page that is shown once more, at the place where this browser is by now. What somebody is writing
/// on it stays.
pub fn refresh_served() {
    load_again(Reason::Done);
}

/// Loads the page that is shown once more, and stays where it is: in another tab, this browser may be elsewhere.
pub fn look_again() {
    load_again(Reason::News);
}

/// Shows what was just said there.
pub fn show_said() {
    load_again(Reason::Said);
}

fn load_again(reason: Reason) {
    if let Some((_, again)) = AGAIN.get() {
        again.try_run(reason);
    }
}

/// The address of a page with the branch that it shows, if it shows one, so that it stays there.
fn with_leaf(address: &str) -> String {
    let chat = document().get_element_by_id("chat");
    let leaf = chat.and_then(|chat| chat.get_attribute("data-leaf"));
    match leaf.filter(|_| !address.contains("leaf=")) {
        Some(leaf) if address.contains('?') => format!("{address}&stay={leaf}"),
        Some(leaf) => format!("{address}?stay={leaf}"),
        None => address.to_owned(),
    }
}

/// Something changed in the Space: a page that lists such things shows it.
pub fn renew_served() {
    if AGAIN.get().is_some_and(|(page, _)| page.is_live()) {
        NEWS.with_borrow_mut(|news| {
            news.get_or_insert_with(|| {
                Timeout::new(NEWS_MS, || {
                    NEWS.take();
                    load_again(Reason::News);
                })
            });
        });
    }
}

/// The form on the page whose text is kept with a key.
fn kept_form() -> Option<HtmlFormElement> {
    let form = document().query_selector("#served form[data-save]").ok().flatten()?;
    form.dyn_into().ok()
}

/// Whether something is written there that is not saved.
pub fn is_writing_served() -> bool {
    let areas = listed(document().query_selector_all("#served textarea"));
    areas.into_iter().any(|area| has_writing(&area.parent_element().unwrap_or(area)))
        || kept_form().is_some_and(|form| has_writing(&form))
}

/// Whether one may go although something is not saved.
fn may_leave() -> bool {
    window().confirm_with_message("Leave without saving?").unwrap_or(true)
}

/// Saves it. Says whether there was something to save.
pub fn save_served() -> bool {
    kept_form().is_some_and(|form| form.request_submit().is_ok())
}

/// Closes the drawer on the page. Says whether there was one.
pub fn close_served() -> bool {
    // The link itself asks about what is not saved.
    let close =
        document().query_selector("#served :is(.drawer, .workbench) header a").ok().flatten();
    let close = close.and_then(|close| close.dyn_into::<HtmlElement>().ok());
    close.inspect(HtmlElement::click).is_some()
}

/// Shows what is typed as it reads, or lets it be written again. Says whether a link is for that.
fn show_typed(link: Element) -> bool {
    let parts = (kept_form(), link.closest("section"), document().get_element_by_id("typed"));
    let (Some(form), Ok(Some(card)), Some(place)) = parts else { return false };
    let Some(reads) = link.get_attribute("data-typed") else { return false };
    spawn_local(async move {
        if reads.is_empty() {
            card.remove_attribute("data-reads").unwrap_or_default();
        } else {
            let html = match send_form(&form, Some(link.clone())).await {
                Ok(read) => js_sys::JSON::parse(&read.result).unwrap_or_default().as_string(),
                Err(error) => Some(failed(&error)),
            };
            place.set_inner_html(&html.unwrap_or_default());
            card.set_attribute("data-reads", "").unwrap_or_default();
        }
        for other in listed(card.query_selector_all("[aria-current]")) {
            other.remove_attribute("aria-current").unwrap_or_default();
        }
        link.set_attribute("aria-current", "page").unwrap_or_default();
    });
    true
}

/// Asks before a link leads away from it.
pub fn ask_before_leaving(event: MouseEvent) {
    let link = around(&event, "a[href]:not([target])").filter(|_| is_writing_served());
    if link.is_some_and(|link| show_typed(link) || !may_leave()) {
        event.prevent_default();
    }
}

fn failed(error: &ApiError) -> String {
    format!(r#"<p class="problem" role="alert">{error}</p>"#)
}

/// The content of a page, and its title into the document.
async fn fetch_content(address: &str) -> Result<String, ApiError> {
    let parsed = parsed(address).await?;
    document().set_title(&parsed.title());
    let content = parsed.get_element_by_id(PLACE).or_else(|| parsed.get_element_by_id("page"));
    content.map(|content| content.inner_html()).ok_or(ApiError::Unavailable)
}

/// The document at an address.
async fn parsed(address: &str) -> Result<Document, ApiError> {
    let text = text_of(Request::get(address).header("accept", "text/html").send().await).await?;
    DomParser::new()
        .and_then(|parser| parser.parse_from_string(&text, SupportedType::TextHtml))
        .map_err(|_| ApiError::Unavailable)
}

/// What an address answers.
pub async fn fetch_text(address: &str) -> Result<String, ApiError> {
    let response = Request::get(address).send().await.map_err(|_| ApiError::Offline)?;
    if !response.ok() {
        return Err(ApiError::Unavailable);
    }
    text_of(Ok(response)).await
}

/// The text of an answer.
pub async fn text_of(response: Result<Response, gloo_net::Error>) -> Result<String, ApiError> {
    let response = response.map_err(|_| ApiError::Offline)?;
    response.text().await.map_err(|_| ApiError::Offline)
}

/// The server says so on the page.
pub fn refused_form() -> Option<String> {
    None
}
