//! What those share who come for the same thing: the first makes it, and it goes with the last.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use crate::domain::id::SpaceId;

/// What is shared, by the Space and the thing that it is for.
pub(super) struct Places<K, V>(Mutex<HashMap<(SpaceId, K), Weak<V>>>);

impl<K, V> Default for Places<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V> Places<K, V> {
    /// What is shared for this thing, made if nobody has it.
    pub fn of(&self, space: &SpaceId, thing: &K, make: impl FnOnce() -> V) -> Arc<V> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|_, place| place.strong_count() > 0);
        let key = (space.clone(), thing.clone());
        if let Some(place) = places.get(&key).and_then(Weak::upgrade) {
            return place;
        }
        let place = Arc::new(make());
        places.insert(key, Arc::downgrade(&place));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_there_as_long_as_somebody_has_it() {
        let places = Places::default();
        let (here, there) = (SpaceId::new("here"), SpaceId::new("there"));
        let first = places.of(&here, &"one", || 1);

        assert_eq!(*places.of(&here, &"one", || 2), 1);
        assert_eq!(*places.of(&there, &"one", || 3), 3, "another Space has its own");
        drop(first);
        assert_eq!(*places.of(&here, &"one", || 4), 4);
    }
}
