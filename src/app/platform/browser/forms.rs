//! Forms: what is written in them, sending them without leaving the page, and keeping what was not
//! saved.

use gloo_net::http::Request;
use leptos::{ev, prelude::*, server_fn::redirect::REDIRECT_HEADER, task::spawn_local};
use leptos_router::{NavigateOptions, hooks::use_navigate};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    Element, FormData, HtmlElement, HtmlFormElement, HtmlInputElement, HtmlTextAreaElement,
    NodeList, SubmitEvent, UrlSearchParams,
};

use super::{
    chat::around,
    forget_draft,
    here::{POPOVERS, close_all},
    keep_draft, kept_draft,
    rail::put_draft,
    served::{look_again, refresh_served, text_of},
};
use crate::{
    app::components::notice::Noticeboard,
    domain::{error::ApiError, theme::Theme, version::Revision},
};

const NOT_COPIED: &str =
    "The browser did not let it be copied. Mark the words and copy them yourself.";

/// The settings that a browser reuses for new chats, as they are sent.
const REUSED: [&str; 6] = [
    "settings%5Bfilled%5D",
    "settings%5Bmodel%5D",
    "settings%5Bwindow%5D",
    "settings%5Bname%5D",
    "settings%5Bappearance%5D",
    "settings%5Boverview%5D",
];

/// The elements that were found.
pub fn listed(found: Result<NodeList, JsValue>) -> Vec<Element> {
    let Ok(found) = found else { return Vec::new() };
    (0..found.length()).filter_map(|at| found.get(at)?.dyn_into().ok()).collect()
}

/// The fields of a form.
pub fn fields(of: &Element) -> Vec<Element> {
    listed(of.query_selector_all("textarea, input"))
}

/// Whether a field holds something else than it came with.
pub fn has_writing(place: &Element) -> bool {
    fields(place).into_iter().any(|field| match field.dyn_into::<HtmlTextAreaElement>() {
        Ok(area) => area.default_value().is_ok_and(|first| first != area.value()),
        Err(other) => other.dyn_into::<HtmlInputElement>().is_ok_and(|input| {
            // A mark that is not saved stays on a list that changes; one taken from a draft is a choice.
            let kept = input.closest("[data-save], .draft-words").ok().flatten().is_some();
            let ticked = kept && input.checked() != input.default_checked();
            input.value() != input.default_value() || ticked
        }),
    })
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

/// What a form says about the settings that are reused; nothing unless that is asked for.
fn reused_settings(body: &UrlSearchParams) -> Option<String> {
    let text = String::from(body.to_string());
    let is_reused =
        |pair: &&str| pair.split_once('=').is_some_and(|(name, _)| REUSED.contains(&name));
    let settings = text.split('&').filter(is_reused);
    body.has("reuse").then(|| settings.collect::<Vec<_>>().join("&"))
}

/// Ticks the box of a form whose settings are reused, if this browser keeps some.
pub fn show_reused() {
    for form in listed(document().query_selector_all("form[data-reuse]")) {
        let kept = form.get_attribute("data-reuse").and_then(|name| kept_draft(&name));
        if let Ok(Some(mark)) = form.query_selector("[name=reuse]") {
            mark.unchecked_ref::<HtmlInputElement>().set_checked(kept.is_some());
        }
    }
}

/// Lets a form be written against a later revision.
fn bring_up(form: &HtmlFormElement, revision: Revision) {
    if let Ok(Some(field)) = form.query_selector("[name=revision]") {
        field.set_attribute("value", &revision.to_string()).unwrap_or_default();
    }
}

/// Sends a form as it stands, to where what is pressed reads what is typed, or else to its own address.
pub async fn send_form(
    form: &HtmlFormElement,
    pressed: Option<Element>,
) -> Result<Answered, ApiError> {
    let body =
        UrlSearchParams::new_with_str(&text_of_form(form)?).map_err(|_| ApiError::Unavailable)?;
    let reads = pressed.as_ref().and_then(|link| link.get_attribute("data-typed"));
    if let Some(button) = pressed
        && let (Some(name), Some(value)) =
            (button.get_attribute("name"), button.get_attribute("value"))
    {
        body.append(&name, &value);
    }
    let reuse = form.get_attribute("data-reuse").map(|name| (name, reused_settings(&body)));
    let reused = form.get_attribute("data-reused").and_then(|name| kept_draft(&name));
    let body = match reused {
        Some(reused) => format!("{}&{reused}", String::from(body.to_string())),
        None => body.to_string().into(),
    };
    let request = Request::post(&reads.unwrap_or_else(|| form.action()))
        .header("accept", "application/json")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
        .map_err(|_| ApiError::Unavailable)?;
    let response = request.send().await.map_err(|_| ApiError::Offline)?;
    let (ok, headers) = (response.ok(), response.headers());
    let to = headers.get(REDIRECT_HEADER).and_then(|_| headers.get("location"));
    let result = text_of(Ok(response)).await?;
    if ok {
        // Settings that this browser was asked to reuse, or to forget.
        match reuse {
            Some((name, Some(settings))) => keep_draft(&name, &settings),
            Some((name, None)) => forget_draft(&name),
            None => {}
        }
        Ok(Answered { result, to })
    } else {
        Err(serde_json::from_str(&result).unwrap_or(ApiError::Unavailable))
    }
}

/// Lets a form stand as it was saved. What was typed since then is not saved, and written against that.
fn settle(form: &HtmlFormElement, sent: &str, now: Revision) {
    let same = text_of_form(form).is_ok_and(|text| text == sent);
    for field in fields(form) {
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

/// Where the unsaved text of a form is kept, if it is one that is saved.
fn memory(form: &HtmlFormElement) -> Option<String> {
    Some(format!("unsaved {}", form.get_attribute("data-save")?))
}

/// Keeps what is written in a form until it is saved, for the case that the page is left.
pub fn remember(form: &HtmlFormElement) {
    let Some(memory) = memory(form) else { return };
    if has_writing(form) {
        form.set_attribute("data-unsaved", "").unwrap_or_default();
        keep_draft(&memory, &text_of_form(form).unwrap_or_default());
    } else {
        form.remove_attribute("data-unsaved").unwrap_or_default();
        forget_draft(&memory);
    }
}

/// Lets go of all that is written on a draft's card.
pub fn forget_writing(card: &Element) {
    for form in listed(card.query_selector_all("form")) {
        let form: &HtmlFormElement = form.unchecked_ref();
        form.reset();
        remember(form);
    }
}

/// Puts what an earlier visit did not save back into its form. It is written against what was seen
/// then. Says whether there was something.
pub fn bring_back(form: &HtmlFormElement) -> bool {
    let kept = memory(form).and_then(|memory| kept_draft(&memory));
    let Some(kept) = kept.and_then(|text| UrlSearchParams::new_with_str(&text).ok()) else {
        return false;
    };
    for field in fields(form) {
        match field.dyn_into::<HtmlTextAreaElement>() {
            Ok(area) => kept.get(&area.name()).iter().for_each(|text| area.set_value(text)),
            Err(other) => {
                let Ok(input) = other.dyn_into::<HtmlInputElement>() else { continue };
                if matches!(input.type_().as_str(), "radio" | "checkbox") {
                    // One that is not marked is not in the text.
                    let marked = kept.get_all(&input.name());
                    input.set_checked(marked.includes(&input.value().into(), 0));
                } else if let Some(text) = kept.get(&input.name()) {
                    // What stands beside it by now is later than what it was written against.
                    if input.name() == "revision" && input.value() != text {
                        form.set_attribute("data-moved", "").unwrap_or_default();
                    }
                    input.set_value(&text);
                }
            }
        }
    }
    remember(form);
    has_writing(form)
}

/// Calls back with the form that is kept and in which something happened.
fn on_kept_form(event: ev::Event, act: impl Fn(&HtmlFormElement)) {
    let form = around(&event, "form[data-save]");
    if let Some(form) = form.and_then(|form| form.dyn_into::<HtmlFormElement>().ok()) {
        act(&form);
    }
}

/// Copies the words that a button names: of an answer, what was said, and nothing of its tools.
fn copy(event: &ev::MouseEvent, board: Noticeboard) {
    let from = around(event, "[data-copy]").and_then(|button| button.get_attribute("data-copy"));
    let words = from.and_then(|from| document().get_element_by_id(&from));
    let Some(words) = words else { return };
    let mut said = listed(words.query_selector_all(".prose:not(.thoughts *)"));
    if said.is_empty() {
        said.push(words);
    }
    let text = |piece: &Element| piece.unchecked_ref::<HtmlElement>().inner_text();
    let said = said.iter().map(text).collect::<Vec<_>>().join("\n\n");
    let clipboard = window().navigator().clipboard();
    // A page that came over a network without encryption is given none.
    let written = (!clipboard.is_undefined()).then(|| clipboard.write_text(&said));
    spawn_local(async move {
        let copied = match written {
            Some(written) => written.await.is_ok(),
            None => false,
        };
        board.tell(if copied { "Copied." } else { NOT_COPIED });
    });
}

/// Remembers what is written in forms that are saved, and copies what is asked for.
fn hear_the_page(board: Noticeboard) {
    let typed = window_event_listener(ev::input, |event| on_kept_form(event, remember));
    // The fields have their first text again once the event is over.
    let reset = window_event_listener(ev::reset, |event| {
        on_kept_form(event, |form| {
            let form = form.clone();
            request_animation_frame(move || remember(&form));
        });
    });
    let copied = window_event_listener(ev::click, move |event| copy(&event, board));
    on_cleanup(move || {
        typed.remove();
        reset.remove();
        copied.remove();
    });
}

/// Sends forms that are marked `data-quiet` without leaving the page, and says what came of it.
pub fn send_quiet_forms(board: Noticeboard) {
    hear_the_page(board);
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
        // What is written on a draft is not said by the form that decides on many.
        for mark in listed(document().query_selector_all("input[form=batch]")) {
            let row = mark.closest(".inbox-row").ok().flatten();
            let name = if row.is_some_and(|row| has_writing(&row)) { "left[]" } else { "ids[]" };
            mark.set_attribute("name", name).unwrap_or_default();
        }
        form.set_attribute("aria-busy", "true").unwrap_or_default();
        spawn_local(async move {
            let text = text_of_form(&form).unwrap_or_default();
            let sent = send_form(&form, pressed).await;
            form.remove_attribute("aria-busy").unwrap_or_default();
            match sent {
                Ok(Answered { result, to }) => {
                    // An outcome, or what else a server function answers.
                    let result = js_sys::JSON::parse(&result).unwrap_or_default();
                    let said = |name: &str| js_sys::Reflect::get(&result, &name.into()).ok();
                    let word = |name: &str| said(name).and_then(|said| said.as_string());
                    let told = word("told").or_else(|| form.get_attribute("data-told"));
                    let revision = said("revision").and_then(|said| said.as_f64());
                    let kept = word("state").as_deref() == Some("conflict");
                    let undo = word("changeId").filter(|_| !form.has_attribute("data-final"));
                    // What could not be saved is shown on a page of its own, which says so.
                    if let Some(told) = told.filter(|told| !kept && !told.is_empty()) {
                        board.tell_with_undo(told, undo);
                    }
                    // What was written in it has arrived.
                    match revision.filter(|_| form.has_attribute("data-save") && !kept) {
                        Some(revision) => settle(&form, &text, revision as Revision),
                        // What was typed since then stays.
                        None if text_of_form(&form).is_ok_and(|now| now == text) => form.reset(),
                        None => {}
                    }
                    remember(&form);
                    if form.has_attribute("data-reuse") {
                        show_reused();
                        // What was typed since then is written against what was saved.
                        if let Some(revision) = result.as_f64() {
                            bring_up(&form, revision as Revision);
                        }
                    }
                    // Once a draft is decided on, nothing else that was written on it counts.
                    if let Ok(Some(card)) = form.closest("[data-draft]") {
                        forget_writing(&card);
                    }
                    close_all(POPOVERS);
                    *board.undone.write() += 1;
                    if let Some(colours) = colours {
                        theme.set(colours);
                    }
                    if let Some(talk) = form.get_attribute("data-talk") {
                        board.talked.update(|(count, same)| {
                            *count += 1;
                            *same = talk == "same";
                        });
                    }
                    // Where one is already, nothing would be loaded.
                    let page = location_pathname().unwrap_or_default();
                    let here = page.clone() + &location().search().unwrap_or_default();
                    match to {
                        Some(to) if to != here => {
                            // On the same page, what is read stays where it is.
                            let scroll = to.split(['?', '#']).next() != Some(&page);
                            navigate(&to, NavigateOptions { scroll, ..Default::default() });
                        }
                        Some(_) => refresh_served(),
                        None => look_again(),
                    }
                }
                Err(error) => {
                    // Told of it, whoever sends it again means it.
                    if let ApiError::Conflict(conflict) = &error
                        && form.has_attribute("data-reuse")
                    {
                        bring_up(&form, conflict.revision);
                    }
                    board.tell(error.to_string());
                    // It stands otherwise than the card says. What was sent is kept with it.
                    if let ApiError::Conflict(_) | ApiError::Decided { .. } = error
                        && let Ok(Some(card)) = form.closest("[data-draft]")
                    {
                        forget_writing(&card);
                        let draft = card.get_attribute("data-draft").unwrap_or_default();
                        put_draft(&draft, Box::new(|| ()));
                        refresh_served();
                    }
                }
            }
        });
    });
    on_cleanup(move || listener.remove());
}
