//! How many of something there are at once, by whose they are.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

/// How many there are, by whose. Cheap to clone.
#[derive(Debug)]
pub struct Counts<K>(Arc<Mutex<HashMap<K, usize>>>);

impl<K> Clone for Counts<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Counted<K: Hash + Eq>(Counts<K>, K);

impl<K: Hash + Eq + Clone> Counts<K> {
    /// One more; nothing when there are so many already.
    pub fn count(&self, whose: K, most: usize) -> Option<Counted<K>> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(whose.clone()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Counted(self.clone(), whose))
    }
}

impl<K: Hash + Eq> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_of_one_and_no_more() {
        let (counts, most) = (Counts::default(), 3);
        let mut held: Vec<_> = (0..most).map(|_| counts.count("ann", most).unwrap()).collect();

        assert!(counts.count("ann", most).is_none());
        assert!(counts.count("bob", most).is_some());
        held.pop();
        held.push(counts.count("ann", most).unwrap());
        drop(held);
        assert!(counts.0.lock().unwrap().is_empty());
    }
}
