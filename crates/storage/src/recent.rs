use std::collections::VecDeque;
use std::sync::Arc;

use coracle_meta::Object;

/// The maximum size of the cached parsed objects, as bytes of JSON. As trees they are ten times as large and should
/// fit into a processor's cache: dropping a tree outside of that cache is as slow as parsing it.
const MAX_BYTES: usize = 64 << 10;

/// The parsed objects of the last writes, and some that are read often, so that the next reader need not parse them.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    objects: VecDeque<(Arc<Object>, usize)>,
    bytes: usize,
}

impl Recent {
    /// Adds an object that was `bytes` of JSON, and drops the oldest.
    pub(crate) fn push(&mut self, object: Arc<Object>, bytes: usize) {
        self.objects.push_back((object, bytes));
        self.bytes += bytes;
        while self.bytes > MAX_BYTES
            && let Some((_, bytes)) = self.objects.pop_front()
        {
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_of_recent_objects_is_limited_in_bytes() {
        let object = Arc::new(Object::default());
        let mut recent = Recent::default();
        for _ in 0..10 {
            recent.push(Arc::clone(&object), MAX_BYTES / 4);
        }
        assert_eq!(Arc::strong_count(&object), 5);
        recent.push(Arc::clone(&object), MAX_BYTES * 2);
        assert_eq!(Arc::strong_count(&object), 1);
    }
}
