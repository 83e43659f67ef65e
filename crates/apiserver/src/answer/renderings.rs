use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use coracle_registry::{Kind, Stored};
use coracle_schema::protobuf;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The maximum size of the cache in bytes, including the objects.
const BUDGET: usize = 16 << 20;
/// How long a message is kept. Each keeps its object in memory, also after the object was changed or deleted.
const LONGEST: Duration = Duration::from_secs(30);

/// A cache of objects as protobuf messages, encoded once for all watches and lists: the most recent ones, up to a
/// number of bytes and for a short time.
#[derive(Debug, Default)]
pub(crate) struct Renderings {
    inner: Mutex<Inner>,
}

/// The address of the object's JSON, and its revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MessageKey {
    address: usize,
    revision: i64,
}

#[derive(Debug, Default)]
struct Inner {
    /// The object is kept as long as its message, so no other object can have this address in the meantime.
    messages: BTreeMap<MessageKey, Bytes>,
    oldest: VecDeque<(Instant, Stored)>,
    bytes: usize,
}

impl Renderings {
    /// An object as a message, without an envelope.
    pub(crate) fn message(&self, kind: &Kind, object: &Stored) -> Bytes {
        let key = key(object);
        let known = self.inner.lock().messages.get(&key).cloned();
        known.unwrap_or_else(|| {
            let message = Bytes::from(message(kind, object));
            self.inner.lock().keep(key, object, &message, Instant::now());
            message
        })
    }

    /// Whether this number of bytes fits without evicting many messages that others use.
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        bytes <= BUDGET / 4
    }
}

impl Inner {
    fn keep(&mut self, key: MessageKey, object: &Stored, message: &Bytes, now: Instant) {
        if self.messages.insert(key, message.clone()).is_some() {
            return;
        }
        self.oldest.push_back((now, object.clone()));
        self.bytes += object.len() + message.len();
        let is_over = |bytes: usize, since: Instant| bytes > BUDGET || now.duration_since(since) > LONGEST;
        while let Some((_, oldest)) = self.oldest.pop_front_if(|(since, _)| is_over(self.bytes, *since)) {
            let gone = self.messages.remove(&self::key(&oldest));
            self.bytes -= oldest.len() + gone.map_or(0, |message| message.len());
        }
    }
}

fn key(object: &Stored) -> MessageKey {
    MessageKey { address: object.value().as_ptr().addr(), revision: object.revision() }
}

/// Encodes an object as a message from its JSON.
pub(crate) fn message(kind: &Kind, object: &Stored) -> Vec<u8> {
    protobuf::transcode(&object.to_json(), kind.schema()).expect("a stored object is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use coracle_meta::Object;
    use serde_json::json;

    fn object(number: usize) -> Stored {
        let object = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": format!("{number}")}});
        Stored::from_object(&Arc::new(Object::from_value(object).unwrap()), 1)
    }

    #[test]
    fn renderings_stay_below_their_budget_and_the_oldest_go_first() {
        let mut inner = Inner::default();
        let message = Bytes::from(vec![0; BUDGET / 10]);
        let objects: Vec<Stored> = (0..30).map(object).collect();
        for object in &objects {
            inner.keep(key(object), object, &message, Instant::now());
            assert!(inner.bytes <= BUDGET);
        }
        assert!(!inner.messages.contains_key(&key(&objects[20])));
        assert!(inner.messages.contains_key(&key(&objects[29])));
        assert_eq!(inner.messages.len(), inner.oldest.len());
    }

    #[test]
    fn a_rendering_is_dropped_after_its_time() {
        let mut inner = Inner::default();
        let (message, start) = (Bytes::from(vec![0; 10]), Instant::now());
        for number in 0..100_u32 {
            let object = object(usize::try_from(number).unwrap());
            inner.keep(key(&object), &object, &message, start + LONGEST * number / 4);
            assert!(inner.messages.len() <= 5, "{} after {number}", inner.messages.len());
            assert_eq!(inner.messages.len(), inner.oldest.len());
        }
    }
}
