use std::collections::BTreeMap;
use std::sync::Arc;

/// A map that drops the least recently used entries.
#[derive(Debug)]
pub(crate) struct Lru<V> {
    capacity: usize,
    next: u64,
    values: BTreeMap<Arc<str>, (u64, V)>,
    order: BTreeMap<u64, Arc<str>>,
}

impl<V> Lru<V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, next: 0, values: BTreeMap::new(), order: BTreeMap::new() }
    }

    /// The value of a key, created if it is missing; counts as a use.
    pub(crate) fn entry(&mut self, key: &str, make: impl FnOnce() -> V) -> &mut V {
        let used = self.next;
        self.next += 1;
        let (shared, value) = match self.values.remove_entry(key) {
            Some((shared, (last, value))) => {
                self.order.remove(&last);
                (shared, value)
            }
            None => {
                if self.values.len() >= self.capacity
                    && let Some((_, oldest)) = self.order.pop_first()
                {
                    self.values.remove(&oldest);
                }
                (Arc::from(key), make())
            }
        };
        self.order.insert(used, Arc::clone(&shared));
        &mut self.values.entry(shared).or_insert((used, value)).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted_first() {
        let mut lru = Lru::new(2);
        *lru.entry("a", || 0) = 1;
        *lru.entry("b", || 0) = 2;
        assert_eq!(*lru.entry("a", || 0), 1);
        *lru.entry("c", || 0) = 3;
        assert_eq!(*lru.entry("a", || 0), 1);
        assert_eq!(*lru.entry("b", || 0), 0);
    }
}
