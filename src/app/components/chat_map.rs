//! The map of a chat: every message as a dot, every branch as a line. A dot leads to its message.

use std::collections::HashMap;

use leptos::{prelude::*, server_fn::ServerFn};

use super::{chat_settings::Drawer, problem::PageProblem};
use crate::{
    app::server_fns::chats::{MOST_NODES, PruneMessage, map_chat},
    domain::{
        id::{ConversationId, MessageId},
        message::Role,
        tree::TreeNode,
    },
};

const STEP: usize = 22;

/// The map.
#[component]
pub fn ChatMap(
    /// Of which chat.
    chat: ConversationId,
    /// Where the path that is shown ends.
    leaf: Option<MessageId>,
) -> impl IntoView {
    let home = format!("/chats/{chat}");
    view! {
        <Drawer title="Map" home>
            <Suspense>
                {
                    let chat = chat.clone();
                    Suspend::new(async move {
                        match map_chat(chat.clone()).await {
                            Ok(nodes) => drawn(&chat, &nodes, leaf.as_ref()).into_any(),
                            Err(error) => view! { <PageProblem error/> }.into_any(),
                        }
                    })
                }
            </Suspense>
        </Drawer>
    }
}

/// Where a message stands: how deep, and on which branch from the left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spot {
    depth: usize,
    lane: usize,
}

/// Places messages so that first children stand below their parents and further ones to the right.
/// Parents come before their children.
fn spots(nodes: &[TreeNode]) -> Vec<Spot> {
    let at: HashMap<&MessageId, usize> =
        nodes.iter().enumerate().map(|(at, node)| (&node.id, at)).collect();
    let mut spots = vec![Spot::default(); nodes.len()];
    let mut continued = vec![false; nodes.len()];
    let (mut lanes, mut roots) = (0, 0);
    for (number, node) in nodes.iter().enumerate() {
        let parent = node.parent_id.as_ref().and_then(|parent| at.get(parent)).copied();
        let goes_on = parent.is_some_and(|parent| !std::mem::replace(&mut continued[parent], true));
        let depth = parent.map_or(0, |parent| spots[parent].depth + 1);
        let lane = match parent {
            Some(parent) if goes_on => spots[parent].lane,
            None if roots == 0 => 0,
            _ => {
                lanes += 1;
                lanes
            }
        };
        roots += usize::from(parent.is_none());
        spots[number] = Spot { depth, lane };
    }
    spots
}

fn drawn(chat: &ConversationId, nodes: &[TreeNode], leaf: Option<&MessageId>) -> AnyView {
    if nodes.is_empty() {
        return view! { <p class="faint">"Nothing was said yet."</p> }.into_any();
    }
    let spots = spots(nodes);
    let at: HashMap<&MessageId, usize> =
        nodes.iter().enumerate().map(|(at, node)| (&node.id, at)).collect();
    let mut on_path = vec![false; nodes.len()];
    let mut here = leaf.and_then(|leaf| at.get(leaf)).copied();
    while let Some(number) = here {
        on_path[number] = true;
        here = nodes[number].parent_id.as_ref().and_then(|parent| at.get(parent)).copied();
    }
    let x = |spot: Spot| STEP / 2 + spot.lane * STEP;
    let y = |spot: Spot| STEP / 2 + spot.depth * STEP;
    let width = STEP * (1 + spots.iter().map(|spot| spot.lane).max().unwrap_or_default());
    let height = STEP * (1 + spots.iter().map(|spot| spot.depth).max().unwrap_or_default());
    let lines = nodes.iter().enumerate().filter_map(|(number, node)| {
        let parent = *at.get(node.parent_id.as_ref()?)?;
        let (from, to) = (spots[parent], spots[number]);
        let path = format!("M{} {}V{}L{} {}", x(from), y(from), y(to) - STEP / 2, x(to), y(to));
        Some(view! { <path d=path class:here=on_path[number]/> })
    });
    let dots = nodes.iter().enumerate().map(|(number, node)| {
        let spot = spots[number];
        let who = match node.role {
            Role::User => "You",
            Role::Assistant => "Persona",
        };
        let named = if node.label.is_empty() { String::new() } else { format!("{}: ", node.label) };
        let title = format!("{named}{who}: {}", node.excerpt);
        let label = title.clone();
        let href = format!("/chats/{chat}?leaf={}", node.id);
        view! {
            <a href=href aria-label=label>
                <circle
                    cx=x(spot)
                    cy=y(spot)
                    r=if node.bookmarked || !node.label.is_empty() { 7 } else { 5 }
                    class:you=node.role == Role::User
                    class:here=on_path[number]
                    class:pruned=node.pruned
                    class:marked=node.bookmarked
                ><title>{title}</title></circle>
            </a>
        }
    });
    let more = nodes.len() >= MOST_NODES as usize;
    view! {
        {more.then(|| view! { <p class="small faint">{format!("Only the first {MOST_NODES} messages are drawn.")}</p> })}
        <div class="map">
            <svg width=width height=height viewBox=format!("0 0 {width} {height}") role="group" aria-label="All branches">
                {lines.collect_view()}
                {dots.collect_view()}
            </svg>
        </div>
        {moments(chat, nodes)}
    }
    .into_any()
}

/// The moments that a person marked, and the branches that are pruned.
fn moments(chat: &ConversationId, nodes: &[TreeNode]) -> impl IntoView {
    let marked = nodes.iter().filter(|node| node.bookmarked || !node.label.is_empty());
    let marked: Vec<_> = marked
        .map(|node| {
            let href = format!("/chats/{chat}?leaf={}", node.id);
            let label =
                if node.label.is_empty() { node.excerpt.clone() } else { node.label.clone() };
            view! { <li><a href=href>{label}</a></li> }.into_any()
        })
        .collect();
    let pruned: Vec<_> = nodes
        .iter()
        .filter(|node| node.pruned)
        .map(|node| {
            view! {
                <li class="row apart">
                    <span class="one-line">{node.excerpt.clone()}</span>
                    <form method="post" action=PruneMessage::url() data-quiet data-told="It is back.">
                        <input type="hidden" name="id" value=node.id.to_string()/>
                        <input type="hidden" name="back" value="true"/>
                        <button class="button quiet small">"Bring back"</button>
                    </form>
                </li>
            }
            .into_any()
        })
        .collect();
    let list = |title: &'static str, items: Vec<AnyView>| {
        (!items.is_empty()).then(|| view! { <h3>{title}</h3> <ul class="moments">{items}</ul> })
    };
    view! { {list("Moments", marked)} {list("Pruned", pruned)} }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;

    fn node(id: &str, parent: Option<&str>) -> TreeNode {
        TreeNode {
            id: id.into(),
            parent_id: parent.map(Into::into),
            role: Role::User,
            excerpt: String::new(),
            label: String::new(),
            bookmarked: false,
            pruned: false,
            created_at: Timestamp(0),
        }
    }

    #[test]
    fn a_first_child_stands_below_and_a_second_one_beside() {
        let nodes =
            [node("a", None), node("b", Some("a")), node("c", Some("a")), node("d", Some("b"))];

        let spots: Vec<_> = spots(&nodes).iter().map(|spot| (spot.depth, spot.lane)).collect();

        assert_eq!(spots, [(0, 0), (1, 0), (1, 1), (2, 0)]);
    }

    #[test]
    fn a_message_whose_parent_is_not_there_begins_a_branch_of_its_own() {
        let spots = spots(&[node("a", None), node("b", Some("gone"))]);

        assert_eq!(spots[1], Spot { depth: 0, lane: 1 });
    }
}
