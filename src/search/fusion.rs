//! Two orders made one: each document counts by the places it has in them (reciprocal rank fusion).

use std::{collections::HashMap, hash::Hash};

/// How little the very first places count more than the next.
const K: f64 = 60.0;

/// The keys of both orders, the best first, with their scores. What has the same place in each comes in the
/// order of the orders.
pub fn fuse<Key: Clone + Eq + Hash>(orders: [&[Key]; 2]) -> Vec<(Key, f64)> {
    let mut fused = Vec::<(Key, f64)>::new();
    let mut known = HashMap::<&Key, usize>::new();
    for order in orders {
        for (place, key) in (1_u32..).zip(order) {
            let at = *known.entry(key).or_insert(fused.len());
            if at == fused.len() {
                fused.push((key.clone(), 0.0));
            }
            fused[at].1 += 1.0 / (K + f64::from(place));
        }
    }
    // A sort that leaves equals as they are.
    fused.sort_by(|left, right| right.1.total_cmp(&left.1));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_orders_have_comes_before_what_one_has() {
        let fused = fuse([&["a", "b", "c"], &["d", "c", "b"]]);

        let keys: Vec<&str> = fused.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["b", "c", "a", "d"]);
        assert_eq!(fused[2].1, 1.0 / 61.0);
        assert_eq!(fuse::<&str>([&[], &[]]), []);
    }

    #[test]
    fn of_two_with_the_same_place_the_one_of_the_first_order_comes_first() {
        let fused = fuse([&["z", "y"], &["a", "b"]]);

        let keys: Vec<&str> = fused.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["z", "a", "y", "b"]);
    }
}
