//! The drawing: which messages get a dot of their own, and where the dots stand. Beside the dots stands what is
//! said on the path that is shown.

use std::collections::{HashMap, HashSet};

use leptos::prelude::*;

use super::{MapAsk, Names, who};
use crate::domain::{
    id::MessageId,
    message::Role,
    tree::{FoundInTree, MapWindow, TreeNode},
};

/// How far dots stand from each other.
const STEP: usize = 24;
/// So many messages in a row without anything to tell are drawn as one stretch.
const FOLDED: usize = 6;
/// How much of a message stands beside its dot, and how wide that is.
const SAID_CHARS: usize = 60;
const SAID_WIDTH: usize = 440;

/// Something that is drawn: a message, or a stretch of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    /// The message; of a stretch, the first.
    node: usize,
    /// How many messages it stands for.
    count: usize,
    /// What it hangs on.
    parent: Option<usize>,
}

/// Where something stands: how deep, and on which branch from the left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spot {
    depth: usize,
    lane: usize,
}

/// The places of the parents among the messages, where they are there.
fn parents(nodes: &[TreeNode]) -> Vec<Option<usize>> {
    let at: HashMap<&MessageId, usize> =
        nodes.iter().enumerate().map(|(at, node)| (&node.id, at)).collect();
    nodes.iter().map(|node| at.get(node.parent_id.as_ref()?).copied()).collect()
}

/// What is drawn. Parents come before their children. `kept` messages are never folded, nor are forks,
/// ends, and what a person marked or hid.
fn items(nodes: &[TreeNode], kept: &HashSet<&MessageId>, whole: bool) -> Vec<Item> {
    let parents = parents(nodes);
    let mut children = vec![0_usize; nodes.len()];
    for parent in parents.iter().flatten() {
        children[*parent] += 1;
    }
    let plain: Vec<bool> = nodes
        .iter()
        .enumerate()
        .map(|(at, node)| {
            let in_a_row = children[at] == 1 && parents[at].is_some_and(|up| children[up] == 1);
            let told = node.bookmarked || node.pruned || !node.label.is_empty();
            !whole && in_a_row && !told && !kept.contains(&node.id)
        })
        .collect();
    // How many plain messages stand in a row, noted at the first of them.
    let mut first: Vec<usize> = (0..nodes.len()).collect();
    let mut lengths = vec![0_usize; nodes.len()];
    for at in 0..nodes.len() {
        if let Some(up) = parents[at].filter(|up| plain[at] && plain[*up]) {
            first[at] = first[up];
        }
        lengths[first[at]] += 1;
    }
    let mut items: Vec<Item> = Vec::new();
    let mut item_of = vec![0_usize; nodes.len()];
    for at in 0..nodes.len() {
        let stretch = plain[at] && lengths[first[at]] >= FOLDED;
        if stretch && first[at] != at {
            item_of[at] = item_of[first[at]];
            continue;
        }
        let count = if stretch { lengths[at] } else { 1 };
        item_of[at] = items.len();
        items.push(Item { node: at, count, parent: parents[at].map(|up| item_of[up]) });
    }
    items
}

/// Places things so that first children stand below their parents and further ones to the right.
fn spots(items: &[Item]) -> Vec<Spot> {
    let mut spots = vec![Spot::default(); items.len()];
    let mut continued = vec![false; items.len()];
    let (mut lanes, mut roots) = (0, 0);
    for (number, item) in items.iter().enumerate() {
        let parent = item.parent;
        let goes_on = parent.is_some_and(|up| !std::mem::replace(&mut continued[up], true));
        let depth = parent.map_or(0, |up| spots[up].depth + 1);
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

/// What stands beside a dot: what the message is called, or how it begins.
fn said(node: &TreeNode) -> String {
    let words = if node.label.is_empty() { &node.excerpt } else { &node.label };
    match words.char_indices().nth(SAID_CHARS) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words.clone(),
    }
}

/// The drawing.
pub fn drawn(
    ask: &MapAsk,
    window: &MapWindow,
    found: &FoundInTree,
    names: &Names,
) -> impl IntoView + use<> {
    let nodes = &window.nodes;
    let on_path: HashSet<&MessageId> = window.on_path.iter().collect();
    let hits: HashSet<&MessageId> = found.nodes.iter().map(|node| &node.id).collect();
    let chosen = ask.at.as_ref();
    let here = chosen.or(ask.around.as_ref()).or(ask.leaf.as_ref());
    let own = [ask.leaf.as_ref(), chosen, ask.compare.as_ref()].into_iter().flatten();
    let kept: HashSet<&MessageId> = hits.iter().copied().chain(own).collect();
    let items = items(nodes, &kept, ask.whole);
    let spots = spots(&items);
    let (x, y) = (|spot: Spot| STEP / 2 + spot.lane * STEP, |spot: Spot| STEP + spot.depth * STEP);
    let extent = |of: fn(&Spot) -> usize| spots.iter().map(of).max().unwrap_or_default();
    // Words stand to the right of all branches.
    let aside = STEP * (1 + extent(|spot| spot.lane)) + STEP / 2;
    let (width, height) = (aside + SAID_WIDTH, STEP * (2 + extent(|spot| spot.depth)));
    let lines = items.iter().enumerate().map(|(number, item)| {
        let to = spots[number];
        let goes_on = on_path.contains(&nodes[item.node].id);
        match item.parent {
            Some(parent) => {
                let from = spots[parent];
                let path =
                    format!("M{} {}V{}L{} {}", x(from), y(from), y(to) - STEP / 2, x(to), y(to));
                view! { <path d=path class:here=goes_on/> }.into_any()
            }
            // What it follows stands on another part of the map.
            None if nodes[item.node].parent_id.is_some() => {
                let path = format!("M{} {}V{}", x(to), y(to) - STEP, y(to));
                view! { <path d=path class="from-afar" class:here=goes_on/> }.into_any()
            }
            None => ().into_any(),
        }
    });
    let dots = items.iter().enumerate().map(|(number, item)| {
        let (node, spot) = (&nodes[item.node], spots[number]);
        let (x, y) = (x(spot), y(spot));
        let (left, top) = (x - STEP / 2, y - STEP / 2);
        let on_path = on_path.contains(&node.id);
        if item.count > 1 {
            let label = format!("{} messages in a row", item.count);
            let told = label.clone();
            let href = MapAsk { whole: true, ..ask.clone() }.around(&node.id);
            // Its number stands in it: beside it there may be another branch.
            let (bar, number) = ((x - 11, y - 8), (x, y + 3));
            return view! {
                <a href=href aria-label=label>
                    <title>{told}</title>
                    <rect class="hit" x=left y=top width=STEP height=STEP/>
                    <rect class="stretch" class:here=on_path x=bar.0 y=bar.1 width="22" height="16" rx="8"/>
                    <text x=number.0 y=number.1>{item.count}</text>
                </a>
            }
            .into_any();
        }
        let named = if node.label.is_empty() { String::new() } else { format!("{}: ", node.label) };
        let label = format!("{named}{}: {}", who(node, names), node.excerpt);
        let title = label.clone();
        let is_chosen = chosen == Some(&node.id);
        // The dot beside it is the link that is read out.
        let words = on_path.then(|| view! {
            <a href=ask.choose(&node.id) aria-hidden="true" tabindex="-1">
                <text x=aside y=y + 4>{said(node)}</text>
            </a>
        });
        view! {
            <a href=ask.choose(&node.id) aria-label=label aria-current=is_chosen.then_some("true")
                id=(here == Some(&node.id)).then_some("map-here")>
                <title>{title}</title>
                <rect class="hit" x=left y=top width=STEP height=STEP/>
                <circle
                    cx=x
                    cy=y
                    r=if node.bookmarked || !node.label.is_empty() { 7 } else { 5 }
                    class:you=node.role == Role::User
                    class:here=on_path
                    class:pruned=node.pruned
                    class:marked=node.bookmarked
                    class:found=hits.contains(&node.id)
                    class:chosen=is_chosen
                ></circle>
            </a>
            {words}
        }
        .into_any()
    });
    view! {
        <div class="map" id="map" tabindex="0" role="group" aria-label="All branches. Arrows move, + and − change the size.">
            <svg width=width height=height viewBox=format!("0 0 {width} {height}")>
                {lines.collect_view()}
                {dots.collect_view()}
            </svg>
        </div>
    }
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

    fn places(nodes: &[TreeNode]) -> Vec<(usize, usize)> {
        let spots = spots(&items(nodes, &HashSet::new(), false));
        spots.into_iter().map(|spot| (spot.depth, spot.lane)).collect()
    }

    #[test]
    fn a_first_child_stands_below_and_a_second_one_beside() {
        let nodes =
            [node("a", None), node("b", Some("a")), node("c", Some("a")), node("d", Some("b"))];

        assert_eq!(places(&nodes), [(0, 0), (1, 0), (1, 1), (2, 0)]);
    }

    #[test]
    fn a_message_whose_parent_is_not_there_begins_a_branch_of_its_own() {
        assert_eq!(places(&[node("a", None), node("b", Some("gone"))])[1], (0, 1));
    }

    #[test]
    fn long_stretches_are_folded_and_what_matters_is_not() {
        let mut nodes = vec![node("0", None)];
        for at in 1..30_usize {
            nodes.push(node(&at.to_string(), Some(&(at - 1).to_string())));
        }
        nodes[10].bookmarked = true;
        let drawn = |kept: &[&str], whole: bool| -> Vec<(usize, usize)> {
            let kept: Vec<MessageId> = kept.iter().map(|id| MessageId::new(*id)).collect();
            let items = items(&nodes, &kept.iter().collect(), whole);
            items.into_iter().map(|item| (item.node, item.count)).collect()
        };

        assert_eq!(drawn(&[], false), [(0, 1), (1, 9), (10, 1), (11, 18), (29, 1)]);
        let found = drawn(&["14"], false);
        assert_eq!(found[3..7], [(11, 1), (12, 1), (13, 1), (14, 1)], "a short stretch is drawn");
        assert_eq!(found[7], (15, 14));
        assert_eq!(drawn(&[], true).len(), 30);
    }

    #[test]
    fn a_fork_within_a_stretch_is_drawn() {
        let mut nodes = vec![node("0", None)];
        for at in 1..20_usize {
            nodes.push(node(&at.to_string(), Some(&(at - 1).to_string())));
        }
        nodes.push(node("other", Some("9")));

        let items = items(&nodes, &HashSet::new(), false);

        let counts: Vec<_> = items.iter().map(|item| (item.node, item.count)).collect();
        assert_eq!(counts, [(0, 1), (1, 8), (9, 1), (10, 1), (11, 8), (19, 1), (20, 1)]);
        assert_eq!(items[6].parent, Some(2));
    }
}
