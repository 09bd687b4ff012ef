//! Two orders made one: each document counts by the places it has in them (reciprocal rank fusion).

use std::{collections::HashMap, hash::Hash};

/// How little the very first places count more than the next.
const K: f64 = 60.0;

/// The keys of both orders, the best first, with their scores.
pub fn fuse<Key: Clone + Eq + Hash + Ord>(orders: [&[Key]; 2]) -> Vec<(Key, f64)> {
    let mut scores = HashMap::<Key, f64>::new();
    for order in orders {
        for (place, key) in (1_u32..).zip(order) {
            *scores.entry(key.clone()).or_default() += 1.0 / (K + f64::from(place));
        }
    }
    let mut fused: Vec<(Key, f64)> = scores.into_iter().collect();
    fused.sort_by(|left, right| right.1.total_cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
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
}
