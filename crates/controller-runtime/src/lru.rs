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
        let last = self.values.get(key).map(|(last, _)| *last);
        let shared = match last.and_then(|last| self.order.remove(&last)) {
            Some(shared) => shared,
            None => {
                if self.values.len() >= self.capacity
                    && let Some((_, oldest)) = self.order.pop_first()
                {
                    self.values.remove(&oldest);
                }
                Arc::from(key)
            }
        };
        self.order.insert(used, Arc::clone(&shared));
        let (last, value) = self.values.entry(shared).or_insert_with(|| (used, make()));
        *last = used;
        value
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
