use std::collections::BTreeMap;
use std::time::Duration;

use coracle_ambient::TimeShift;
use parking_lot::Mutex;
use tokio::time::Instant;

/// A cache of responses with an expiration.
///
/// Invariant: it has at most `most` entries; the entry that expires first is evicted first.
pub struct Remembered<K, V> {
    most: usize,
    entries: Mutex<BTreeMap<K, Entry<V>>>,
}

struct Entry<V> {
    ends: Instant,
    value: V,
}

impl<K: Ord + Clone, V: Clone> Remembered<K, V> {
    /// An empty cache with at most `most` entries.
    pub fn new(most: usize) -> Self {
        Self { most, entries: Mutex::default() }
    }

    /// The cached value, unless it has expired.
    pub fn get(&self, key: &K) -> Option<V> {
        let mut entries = self.entries.lock();
        let entry = entries.get(key)?;
        if Instant::now() < entry.ends {
            return Some(entry.value.clone());
        }
        entries.remove(key);
        None
    }

    /// Caches a value for `time`.
    pub fn put(&self, key: K, value: V, time: Duration) {
        if time.is_zero() {
            return;
        }
        let (now, mut entries) = (Instant::now(), self.entries.lock());
        if entries.len() >= self.most {
            entries.retain(|_, entry| now < entry.ends);
        }
        if entries.len() >= self.most && !entries.contains_key(&key) {
            let first = entries.iter().min_by_key(|(_, entry)| entry.ends).map(|(key, _)| key.clone());
            first.and_then(|first| entries.remove(&first));
        }
        entries.insert(key, Entry { ends: now.later(time), value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_cached_response_expires_after_its_time() {
        let answers = Remembered::new(8);
        answers.put("a", 1, 2 * SECOND);
        answers.put("b", 2, Duration::ZERO);
        assert_eq!((answers.get(&"a"), answers.get(&"b")), (Some(1), None));
        tokio::time::sleep(SECOND).await;
        assert_eq!(answers.get(&"a"), Some(1));
        tokio::time::sleep(SECOND).await;
        assert_eq!(answers.get(&"a"), None);
        assert!(answers.entries.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_cache_evicts_the_entry_that_expires_first() {
        let answers = Remembered::new(2);
        answers.put("long", 1, 9 * SECOND);
        answers.put("short", 2, SECOND);
        answers.put("long", 3, 9 * SECOND);
        answers.put("other", 4, 5 * SECOND);
        assert_eq!((answers.get(&"long"), answers.get(&"short"), answers.get(&"other")), (Some(3), None, Some(4)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cache_never_exceeds_its_limit_and_contains_the_last_entry() {
        let answers = Remembered::new(1024);
        for key in 0..5000 {
            answers.put(key, "b", 10 * SECOND);
            assert!(answers.entries.lock().len() <= 1024);
        }
        assert_eq!(answers.get(&4999), Some("b"));
    }
}
