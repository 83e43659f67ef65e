use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use coracle_registry::{Kind, Stored};
use coracle_schema::protobuf;
use parking_lot::Mutex;

/// Below how many bytes renderings are kept, together with what they were made from.
const BUDGET: usize = 16 << 20;

/// Objects as protobuf messages, made once for all who watch or list them: the latest ones, below a number of bytes.
#[derive(Debug, Default)]
pub(crate) struct Renderings {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By where the object's JSON is and its revision. The object is kept as long as its message, so that no other can be
    /// at that place meanwhile.
    messages: BTreeMap<(usize, i64), Bytes>,
    oldest: VecDeque<Stored>,
    bytes: usize,
}

impl Renderings {
    /// An object as a message, without an envelope.
    pub(crate) fn message(&self, kind: &Kind, object: &Stored) -> Bytes {
        let key = key(object);
        let known = self.inner.lock().messages.get(&key).cloned();
        known.unwrap_or_else(|| {
            let message = Bytes::from(message(kind, object));
            self.inner.lock().keep(key, object, &message);
            message
        })
    }

    /// Whether so many bytes of objects fit without pushing out much of what others use.
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        bytes <= BUDGET / 4
    }
}

impl Inner {
    fn keep(&mut self, key: (usize, i64), object: &Stored, message: &Bytes) {
        if self.messages.insert(key, message.clone()).is_some() {
            return;
        }
        self.oldest.push_back(object.clone());
        self.bytes += object.len() + message.len();
        while self.bytes > BUDGET
            && let Some(oldest) = self.oldest.pop_front()
        {
            let gone = self.messages.remove(&self::key(&oldest));
            self.bytes -= oldest.len() + gone.map_or(0, |message| message.len());
        }
    }
}

fn key(object: &Stored) -> (usize, i64) {
    (object.value().as_ptr().addr(), object.revision())
}

/// An object as a message, made from its JSON.
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
            inner.keep(key(object), object, &message);
            assert!(inner.bytes <= BUDGET);
        }
        assert!(!inner.messages.contains_key(&key(&objects[20])));
        assert!(inner.messages.contains_key(&key(&objects[29])));
        assert_eq!(inner.messages.len(), inner.oldest.len());
    }
}
