//! Pages that the server renders and the browser only shows, and the forms in them.
//!
//! Such a page is the same with and without JavaScript. With it, going there and sending its forms
//! does not load the document anew: the page is fetched as it is, and its content put in place.

use std::cell::Cell;

use gloo_net::http::{Request, Response};
use leptos::{ev, html::Div, prelude::*, server_fn::redirect::REDIRECT_HEADER, task::spawn_local};
use leptos_router::hooks::{use_location, use_navigate};
use wasm_bindgen::JsCast;
use web_sys::{
    DomParser, Element, FormData, HtmlElement, HtmlFormElement, HtmlInputElement,
    HtmlTextAreaElement, MouseEvent, SubmitEvent, SupportedType, UrlSearchParams,
};

use crate::{
    app::{components::notice::Noticeboard, pages::ServedPage},
    domain::{
        change::{ChangeState, Outcome},
        error::ApiError,
        theme::Theme,
        version::Revision,
    },
};

/// The element whose content is fetched.
const PLACE: &str = "served";

thread_local! {
    /// The page that is shown, and what loads it once more.
    static AGAIN: Cell<Option<(ServedPage, Callback<()>)>> = const { Cell::new(None) };
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
    let shown = StoredValue::new(String::new());
    let load = Callback::new(move |wanted: String| {
        let again = shown.try_get_value().as_ref() == Some(&wanted);
        shown.set_value(wanted.clone());
        spawn_local(async move {
            let content = fetch_content(&wanted).await;
            // Another page may have been asked for meanwhile.
            let current = shown.try_get_value().is_some_and(|shown| shown == wanted);
            if let Some(place) = place.try_get_untracked().flatten().filter(|_| current) {
                // What somebody began to write meanwhile stays.
                if again && has_writing(&place) {
                    return;
                }
                let content = content.unwrap_or_else(|error| failed(&error));
                put(&place, &content);
            }
        });
    });
    Effect::new(move |before: Option<String>| {
        let wanted = address();
        match before {
            // The server sent it with the document.
            None if hydrating => shown.set_value(wanted.clone()),
            _ => load.run(wanted.clone()),
        }
        wanted
    });
    // It stands until another page takes its place: once this one is gone, it does nothing.
    let again = Callback::new(move |()| {
        if let Some(address) = shown.try_get_value() {
            load.run(address);
        }
    });
    AGAIN.set(Some((page, again)));
    let waiting = if hydrating { "" } else { r#"<div class="skeleton block tall"></div>"# };
    view! { <div id=PLACE node_ref=place inner_html=waiting></div> }.into_any()
}

/// Loads the page that is shown once more, unless somebody is writing on it.
fn refresh_served() {
    let writing = document().get_element_by_id(PLACE).is_some_and(|place| has_writing(&place));
    if !writing && let Some((_, again)) = AGAIN.get() {
        again.try_run(());
    }
}

/// Something changed in the Space: a page that lists such things shows it.
pub fn renew_served() {
    if AGAIN.get().is_some_and(|(page, _)| page.is_live()) {
        refresh_served();
    }
}

/// The form on the page whose text is kept with a key.
fn kept_form() -> Option<HtmlFormElement> {
    let form = document().query_selector("#served form[data-save]").ok().flatten()?;
    form.dyn_into().ok()
}

/// Whether something is written there that is not saved.
pub fn is_writing_served() -> bool {
    kept_form().is_some_and(|form| has_writing(&form))
}

/// Saves it. Says whether there was something to save.
pub fn save_served() -> bool {
    kept_form().is_some_and(|form| form.request_submit().is_ok())
}

/// Closes the drawer on the page. Says whether there was one.
pub fn close_served() -> bool {
    let close = document().query_selector("#served .drawer header a").ok().flatten();
    let close = close.and_then(|close| close.dyn_into::<HtmlElement>().ok());
    close.inspect(HtmlElement::click).is_some()
}

/// Asks before a link leads away from it.
pub fn ask_before_leaving(event: MouseEvent) {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    let link = target.and_then(|target| target.closest("a[href]:not([target])").ok().flatten());
    if link.is_some()
        && is_writing_served()
        && !window().confirm_with_message("Leave without saving?").unwrap_or(true)
    {
        event.prevent_default();
    }
}

/// Whether a field holds something else than it came with.
pub fn has_writing(place: &Element) -> bool {
    let Ok(fields) = place.query_selector_all("textarea, input:not([type=hidden])") else {
        return false;
    };
    (0..fields.length()).filter_map(|at| fields.get(at)).any(|field| {
        match field.dyn_into::<HtmlTextAreaElement>() {
            Ok(area) => area.default_value().is_ok_and(|first| first != area.value()),
            Err(other) => other.dyn_into::<HtmlInputElement>().is_ok_and(|input| {
                input.value() != input.default_value() || input.checked() != input.default_checked()
            }),
        }
    })
}

fn failed(error: &ApiError) -> String {
    format!(r#"<p class="problem" role="alert">{error}</p>"#)
}

/// Puts content in place; what was open stays open, and the cursor where it was.
fn put(place: &HtmlElement, content: &str) {
    let active = document().active_element();
    let focused = active.as_ref().map(Element::id).unwrap_or_default();
    let cursor = active
        .and_then(|element| element.dyn_into::<HtmlTextAreaElement>().ok())
        .map(|area| (area.selection_start(), area.selection_end(), area.scroll_top()));
    let open = place.query_selector_all("details[open][id]").ok();
    let open: Vec<String> = open.map_or_else(Vec::new, |open| {
        let elements = (0..open.length()).filter_map(|at| open.get(at)?.dyn_into::<Element>().ok());
        elements.map(|element| element.id()).collect()
    });
    if place.inner_html() == content {
        return;
    }
    place.set_inner_html(content);
    for id in open {
        if let Some(details) = document().get_element_by_id(&id) {
            details.set_attribute("open", "").unwrap_or_default();
        }
    }
    if !focused.is_empty() {
        super::focus(&focused);
    }
    let area = document().active_element().and_then(|element| element.dyn_into().ok());
    if let (Some((start, end, top)), Some(area)) = (cursor, area) {
        let area: HtmlTextAreaElement = area;
        area.set_selection_start(start.unwrap_or_default()).unwrap_or_default();
        area.set_selection_end(end.unwrap_or_default()).unwrap_or_default();
        area.set_scroll_top(top);
    }
}

/// The content of a page, and its title into the document.
async fn fetch_content(address: &str) -> Result<String, ApiError> {
    let text = text_of(Request::get(address).header("accept", "text/html").send().await).await?;
    let parsed = DomParser::new()
        .and_then(|parser| parser.parse_from_string(&text, SupportedType::TextHtml))
        .map_err(|_| ApiError::Unavailable)?;
    document().set_title(&parsed.title());
    let content = parsed.get_element_by_id(PLACE).or_else(|| parsed.get_element_by_id("page"));
    content.map(|content| content.inner_html()).ok_or(ApiError::Unavailable)
}

/// What an address answers.
pub async fn fetch_text(address: &str) -> Result<String, ApiError> {
    let response = Request::get(address).send().await.map_err(|_| ApiError::Offline)?;
    if !response.ok() {
        return Err(ApiError::Unavailable);
    }
    text_of(Ok(response)).await
}

async fn text_of(response: Result<Response, gloo_net::Error>) -> Result<String, ApiError> {
    let response = response.map_err(|_| ApiError::Offline)?;
    response.text().await.map_err(|_| ApiError::Offline)
}

/// What a server function answered to a form.
pub struct Answered {
    /// Its result, as JSON.
    pub result: String,
    /// Where it sends the person.
    pub to: Option<String>,
}

/// What is written in a form, as it is sent.
fn text_of_form(form: &HtmlFormElement) -> Result<String, ApiError> {
    let body = FormData::new_with_form(form)
        .and_then(|data| UrlSearchParams::new_with_str_sequence_sequence(&data));
    body.map(|body| body.to_string().into()).map_err(|_| ApiError::Unavailable)
}

/// Sends a form as it stands.
pub async fn send_form(
    form: &HtmlFormElement,
    pressed: Option<Element>,
) -> Result<Answered, ApiError> {
    let body =
        UrlSearchParams::new_with_str(&text_of_form(form)?).map_err(|_| ApiError::Unavailable)?;
    if let Some(button) = pressed
        && let (Some(name), Some(value)) =
            (button.get_attribute("name"), button.get_attribute("value"))
    {
        body.append(&name, &value);
    }
    let request = Request::post(&form.action())
        .header("accept", "application/json")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(String::from(body.to_string()))
        .map_err(|_| ApiError::Unavailable)?;
    let response = request.send().await.map_err(|_| ApiError::Offline)?;
    let (ok, headers) = (response.ok(), response.headers());
    let to = headers.get(REDIRECT_HEADER).and_then(|_| headers.get("location"));
    let result = text_of(Ok(response)).await?;
    if ok {
        Ok(Answered { result, to })
    } else {
        Err(serde_json::from_str(&result).unwrap_or(ApiError::Unavailable))
    }
}

/// Lets a form stand as it was saved. What was typed since then is not saved, and written against that.
fn settle(form: &HtmlFormElement, sent: &str, now: Revision) {
    let Ok(fields) = form.query_selector_all("textarea, input") else { return };
    let same = text_of_form(form).is_ok_and(|text| text == sent);
    for field in (0..fields.length()).filter_map(|at| fields.get(at)) {
        match field.dyn_into::<HtmlTextAreaElement>() {
            Ok(area) if same => area.set_default_value(&area.value()).unwrap_or_default(),
            Ok(_) => {}
            Err(other) => {
                let Ok(input) = other.dyn_into::<HtmlInputElement>() else { continue };
                // After a merge, more has changed than what this form says.
                if input.name() == "revision" && input.value() == (now - 1).to_string() {
                    input.set_value(&now.to_string());
                }
                if same {
                    input.set_default_value(&input.value());
                    input.set_default_checked(input.checked());
                }
            }
        }
    }
}

/// Sends forms that are marked `data-quiet` without leaving the page, and says what came of it.
pub fn send_quiet_forms(board: Noticeboard) {
    let navigate = use_navigate();
    let theme = expect_context::<RwSignal<Theme>>();
    let listener = window_event_listener(ev::submit, move |event: SubmitEvent| {
        let form = event.target().and_then(|target| target.dyn_into::<HtmlFormElement>().ok());
        let Some(form) = form.filter(|form| form.has_attribute("data-quiet")) else { return };
        event.prevent_default();
        // Pressed twice, it is sent once.
        if form.has_attribute("aria-busy") {
            return;
        }
        let pressed = event.submitter().map(Element::from);
        let colours = pressed
            .as_ref()
            .filter(|button| button.get_attribute("name").as_deref() == Some("theme"));
        let colours = colours.and_then(|button| Theme::from_word(&button.get_attribute("value")?));
        let navigate = navigate.clone();
        form.set_attribute("aria-busy", "true").unwrap_or_default();
        spawn_local(async move {
            let text = text_of_form(&form).unwrap_or_default();
            let sent = send_form(&form, pressed).await;
            form.remove_attribute("aria-busy").unwrap_or_default();
            match sent {
                Ok(Answered { result, to }) => {
                    let told = form.get_attribute("data-told").unwrap_or_default();
                    let outcome = serde_json::from_str::<Outcome>(&result).ok();
                    let revision = outcome.as_ref().map(|outcome| outcome.revision);
                    let kept = outcome
                        .as_ref()
                        .is_some_and(|outcome| outcome.state == ChangeState::Conflict);
                    let change = outcome.and_then(|outcome| outcome.change_id);
                    let undo = change.filter(|_| !form.has_attribute("data-final"));
                    // What could not be saved is shown on a page of its own, which says so.
                    if !told.is_empty() && !kept {
                        board.tell_with_undo(told, undo);
                    }
                    // What was written in it has arrived.
                    match revision.filter(|_| form.has_attribute("data-save") && !kept) {
                        Some(revision) => settle(&form, &text, revision),
                        // What was typed since then stays.
                        None if text_of_form(&form).is_ok_and(|now| now == text) => form.reset(),
                        None => {}
                    }
                    super::close_popovers();
                    *board.undone.write() += 1;
                    if let Some(colours) = colours {
                        theme.set(colours);
                    }
                    if form.has_attribute("data-talk") {
                        *board.talked.write() += 1;
                    }
                    match to {
                        Some(to) => navigate(&to, Default::default()),
                        None => refresh_served(),
                    }
                }
                Err(error) => board.tell(error.to_string()),
            }
        });
    });
    on_cleanup(move || listener.remove());
}

/// The server says so on the page.
pub fn refused_form() -> Option<String> {
    None
}
