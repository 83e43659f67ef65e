use std::collections::VecDeque;
use std::sync::Arc;

use coracle_meta::Object;

/// How many bytes of JSON the parsed objects at hand were; as trees they are ten times that, and should fit a processor's
/// cache: what has left it is dropped as slowly as it is parsed.
const MAX_BYTES: usize = 64 << 10;

/// The parsed objects of the last writes, and some that are read often, so that who asks for one next does not parse it again.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    objects: VecDeque<(Arc<Object>, usize)>,
    bytes: usize,
}

impl Recent {
    /// Adds an object that was `bytes` of JSON, and lets go of the oldest.
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
    fn the_objects_at_hand_are_bounded_by_their_bytes() {
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
