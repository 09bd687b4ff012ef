//! Turns what is shown into what it shall be and leaves alone what is the same: what somebody
//! opened, marked or has the cursor in stays as it is.
//!
//! Elements with an identifier are known by it among their siblings; the others by their place.

use leptos::prelude::document;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlInputElement, HtmlOptionElement, HtmlTextAreaElement, Node};

use super::{
    forms::{fields, forget_writing, has_writing, listed, remember},
    keep_cursor,
};
use crate::domain::merge::merge;

/// What a person or the page sets by itself, and the server knows nothing of.
const OURS: [&str; 2] = ["open", "aria-busy"];

/// Puts content into an element.
pub fn put_content(place: &Element, html: &str) {
    if let Some(wanted) = parse(html) {
        align_children(place, &wanted);
    }
}

/// Puts an element in the place of one that has the same name and identifier.
pub fn put_element(element: &Element, html: &str) {
    let wanted = parse(html).and_then(|parsed| parsed.first_element_child());
    match wanted {
        Some(wanted) if is_same(element, &wanted) => align(element, &wanted),
        _ => element.set_outer_html(html),
    }
}

/// What a text says, in an element of its own.
pub fn parse(html: &str) -> Option<Element> {
    let parsed = document().create_element("div").ok()?;
    parsed.set_inner_html(html);
    Some(parsed)
}

/// The attribute: a form's property of that name is its field of that name.
fn id_of(node: &Node) -> String {
    node.dyn_ref::<Element>().and_then(|element| element.get_attribute("id")).unwrap_or_default()
}

fn is_same(node: &Node, wanted: &Node) -> bool {
    node.node_name() == wanted.node_name() && id_of(node) == id_of(wanted)
}

fn children(of: &Node) -> impl Iterator<Item = Node> {
    std::iter::successors(of.first_child(), Node::next_sibling)
}

/// Whether it is being written: its pieces come one by one, and the page knows more than the server
/// said.
fn is_live(node: &Node, wanted: &Node) -> bool {
    let live = |node: &Node| {
        node.dyn_ref::<Element>().is_some_and(|element| element.has_attribute("data-live"))
    };
    live(node) && live(wanted)
}

/// The part of a list that becomes another one: from where, and before what.
type Stretch = (Option<Node>, Option<Node>);

/// Of a list that grows at its ends, what was loaded above and below stays as long as it leads to the same.
/// It is marked as stale: what is wanted says nothing of it.
fn stretch(place: &Node, wanted: &Node) -> Stretch {
    let whole = (place.first_child(), None);
    let grows = place.dyn_ref::<Element>().filter(|list| list.has_attribute("data-grows"));
    let (Some(list), Some(wanted)) = (grows, wanted.dyn_ref::<Element>()) else { return whole };
    let known = |turn: Option<Element>| {
        let turn = turn?;
        children(list).find(|node| is_same(node, &turn))?.dyn_into::<Element>().ok()
    };
    let is_row = |row: &Element, name: &str| row.class_name().starts_with(name);
    let (mut first, mut until) = whole;
    // The link to what is further on goes with what is there.
    if let Some(row) = wanted.first_element_child().filter(|row| is_row(row, "earlier"))
        && let Some(turn) = known(row.next_element_sibling())
        && let Some(above) = turn.previous_element_sibling().filter(|row| !is_row(row, "earlier"))
    {
        row.remove();
        mark_stale(above, Element::previous_element_sibling);
        first = Some(turn.into());
    }
    if let Some(row) = wanted.last_element_child().filter(|row| is_row(row, "later"))
        && let Some(turn) = known(row.previous_element_sibling())
        && let Some(below) = turn.next_element_sibling().filter(|row| !is_row(row, "later"))
    {
        row.remove();
        mark_stale(below.clone(), Element::next_element_sibling);
        until = Some(below.into());
    }
    (first, until)
}

fn mark_stale(from: Element, further: fn(&Element) -> Option<Element>) {
    for turn in std::iter::successors(Some(from), further) {
        turn.set_attribute("data-stale", "").unwrap_or_default();
    }
}

/// Whether somebody is writing there: a form is sent as it was shown, or not changed at all, and a draft is
/// decided on as it was read.
fn is_written(node: &Node) -> bool {
    node.dyn_ref::<Element>().is_some_and(has_writing)
}

/// Whether it stays though it is not wanted any more, because somebody is writing there. It is marked then.
fn stays(node: &Node) -> bool {
    let written = is_written(node);
    if let Some(element) = node.dyn_ref::<Element>().filter(|_| written) {
        element.set_attribute("data-gone", "").unwrap_or_default();
    }
    written
}

/// Brings a form along that is written against another revision than the one that is there now, or else marks it.
fn bring_along(node: &Node, wanted: &Node) {
    let revision = |node: &Node| {
        let field = node.dyn_ref::<Element>()?.query_selector("input[name=revision]");
        field.ok().flatten().map(|field| value(&field))
    };
    let (Some(form), Some(goal)) = (node.dyn_ref::<Element>(), wanted.dyn_ref::<Element>()) else {
        return;
    };
    if revision(node) == revision(wanted) {
        return;
    }
    let Some(texts) = joined(form, goal) else {
        form.set_attribute("data-moved", "").unwrap_or_default();
        return;
    };
    keep_cursor(|| {
        align(node, wanted);
        texts.iter().for_each(|(field, text)| field.set_value(text));
    });
    form.set_attribute("data-merged", "").unwrap_or_default();
    remember(form.unchecked_ref());
}

/// What is written in the form of a thing, with what is wanted there. Nothing when both wrote the same, or when it
/// was written against something else than what the form came with.
fn joined(form: &Element, wanted: &Element) -> Option<Vec<(HtmlTextAreaElement, String)>> {
    let chosen = |of: &Element, which: &str| Some(value(&of.query_selector(which).ok()??));
    let chose = chosen(form, ":checked:not([checked])").is_some()
        && chosen(form, "[checked]") != chosen(wanted, "[checked]");
    let is_apart = !form.matches("#entry:not([data-moved])").unwrap_or_default();
    let (all, goals) = (fields(form), fields(wanted));
    if chose || is_apart || all.len() != goals.len() {
        return None;
    }
    let mut texts = Vec::new();
    for (field, goal) in all.into_iter().zip(goals) {
        let is_line = field.tag_name() == "INPUT";
        // A line has all of an area that is asked for here.
        let field: HtmlTextAreaElement = field.unchecked_into();
        let (base, mine) = (field.default_value().ok()?, field.value());
        let theirs = goal.unchecked_into::<HtmlTextAreaElement>().default_value().ok()?;
        if mine == base {
            continue;
        }
        if is_line && theirs != base && theirs != mine {
            return None;
        }
        texts.push((field, merge(&base, &mine, &theirs).ok()?));
    }
    Some(texts)
}

/// Whether it is a draft on which somebody has decided: what is written on it does not count any more.
pub fn is_decided(card: &Element) -> bool {
    let decided = "[data-draft]:not([data-state=pending], [data-state=conflict])";
    card.matches(decided).unwrap_or_default()
}

fn align_children(place: &Node, wanted: &Node) {
    let (first, until) = stretch(place, wanted);
    let until = until.as_ref();
    let within = move |from: Option<Node>| {
        let is_in = move |node: &Node| Some(node) != until;
        std::iter::successors(from.filter(is_in), move |node| node.next_sibling().filter(is_in))
    };
    // What goes goes first, so that what stays need not move.
    let known: Vec<String> = children(wanted).map(|child| id_of(&child)).collect();
    let present = within(first.clone()).collect::<Vec<_>>();
    let mut at = first;
    for child in present {
        let id = id_of(&child);
        if !id.is_empty() && !known.contains(&id) && !stays(&child) {
            if at.as_ref() == Some(&child) {
                at = child.next_sibling();
            }
            place.remove_child(&child).ok();
        }
    }
    for child in children(wanted).collect::<Vec<_>>() {
        match within(at.clone()).find(|node| is_same(node, &child)) {
            Some(node) => {
                if Some(&node) == at.as_ref() {
                    at = node.next_sibling();
                } else {
                    place.insert_before(&node, at.as_ref()).ok();
                }
                let whole = node.dyn_ref::<Element>().is_some_and(|element| {
                    element.matches("form, [data-draft]").unwrap_or_default()
                });
                if let (Some(card), Some(goal)) = (node.dyn_ref(), child.dyn_ref())
                    && is_decided(goal)
                {
                    forget_writing(card);
                }
                let in_use = whole && is_written(&node);
                if in_use {
                    bring_along(&node, &child);
                }
                if !in_use && !is_live(&node, &child) {
                    align(&node, &child);
                }
            }
            None => {
                place.insert_before(&child, at.as_ref()).ok();
            }
        }
    }
    for rest in within(at).collect::<Vec<_>>() {
        if !stays(&rest) {
            place.remove_child(&rest).ok();
        }
    }
}

/// Turns a node into another one of the same name.
pub fn align(node: &Node, wanted: &Node) {
    if node.is_equal_node(Some(wanted)) {
        return;
    }
    let (Some(element), Some(goal)) = (node.dyn_ref::<Element>(), wanted.dyn_ref::<Element>())
    else {
        node.set_node_value(wanted.node_value().as_deref());
        return;
    };
    let field = Field::of(element);
    align_attributes(element, goal);
    align_children(element, goal);
    if let Some(field) = field {
        field.settle(element);
    }
}

fn align_attributes(element: &Element, wanted: &Element) {
    let names = |of: &Element| {
        let names =
            of.get_attribute_names().into_iter().filter_map(|name: JsValue| name.as_string());
        names.filter(|name| !OURS.contains(&name.as_str())).collect::<Vec<_>>()
    };
    for name in names(element).iter().filter(|name| !wanted.has_attribute(name)) {
        element.remove_attribute(name).unwrap_or_default();
    }
    for name in names(wanted) {
        let value = wanted.get_attribute(&name);
        if value != element.get_attribute(&name) {
            element.set_attribute(&name, &value.unwrap_or_default()).unwrap_or_default();
        }
    }
}

fn value(field: &Element) -> String {
    field.get_attribute("value").unwrap_or_default()
}

/// A field that nobody has changed: it shows what it is given. Browsers show what was once typed
/// there for ever. What was chosen in a list stays chosen while it is there, wherever it moves.
enum Field {
    Area {
        cursor: u32,
        top: i32,
    },
    Input,
    /// What the person chose in it, unless it is what it came with.
    Choice {
        chosen: Option<String>,
    },
}

impl Field {
    fn of(element: &Element) -> Option<Self> {
        if let Some(area) = element.dyn_ref::<HtmlTextAreaElement>() {
            let cursor = area.selection_start().ok().flatten().unwrap_or_default();
            let untouched = area.default_value().is_ok_and(|first| first == area.value());
            untouched.then(|| Self::Area { cursor, top: area.scroll_top() })
        } else if let Some(input) = element.dyn_ref::<HtmlInputElement>() {
            let untouched = input.value() == input.default_value()
                && input.checked() == input.default_checked();
            untouched.then_some(Self::Input)
        } else {
            let chosen = "option:checked:not([selected])";
            (element.tag_name() == "SELECT").then(|| Self::Choice {
                chosen: element.query_selector(chosen).ok().flatten().map(|one| value(&one)),
            })
        }
    }

    fn settle(self, element: &Element) {
        match self {
            Self::Area { cursor, top } => {
                let area: &HtmlTextAreaElement = element.unchecked_ref();
                let text = area.default_value().unwrap_or_default();
                if text != area.value() {
                    area.set_value(&text);
                    area.set_selection_range(cursor, cursor).unwrap_or_default();
                    area.set_scroll_top(top);
                }
            }
            Self::Input => {
                let input: &HtmlInputElement = element.unchecked_ref();
                if input.value() != input.default_value() {
                    input.set_value(&input.default_value());
                }
                input.set_checked(input.default_checked());
            }
            Self::Choice { chosen } => {
                for option in listed(element.query_selector_all("option")) {
                    let option: &HtmlOptionElement = option.unchecked_ref();
                    option.set_selected(match &chosen {
                        Some(chosen) => value(option) == *chosen,
                        None => option.default_selected(),
                    });
                }
            }
        }
    }
}
