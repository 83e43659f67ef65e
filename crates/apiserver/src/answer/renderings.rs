use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle_registry::{Kind, Message, Stored};
use coracle_schema::protobuf;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The number of bytes that all kept messages may have together.
const LEAST_ROOM: usize = 16 << 20;
/// The same after a client has listed more.
const MOST_ROOM: usize = 128 << 20;
/// How long a message is kept that no reader uses, and how long a large list has its room.
const LONGEST: Duration = Duration::from_secs(60);
/// The memory of a message in addition to its bytes.
const OVERHEAD: usize = 128;

/// A cache of objects as protobuf messages, encoded once for all reads, lists and watches. Objects find their messages
/// by themselves ([`Stored::message`]); this decides how long the messages are kept.
///
/// It is empty until a client requests protobuf. A message stays while it is used. The cache has room for the largest
/// list of the last minute, up to a limit; a larger list does not use it, because it would evict all messages.
#[derive(Debug, Default)]
pub(crate) struct Renderings {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The messages, and since when each was not used. The one that was not used for the longest time is the first.
    messages: VecDeque<(Instant, Arc<Message>)>,
    bytes: usize,
    /// The size of the largest list, and when it was requested last.
    largest: Option<(usize, Instant)>,
}

impl Renderings {
    /// An object as a message, without an envelope.
    pub(crate) fn message(&self, kind: &Kind, object: &Stored) -> Bytes {
        if let Some(message) = object.message() {
            return message.bytes().clone();
        }
        // A copy of the exact size.
        let message = Message::new(Bytes::copy_from_slice(&message(kind, object)));
        object.share_message(&message);
        self.kept.lock().keep(Arc::clone(&message), Instant::now());
        message.bytes().clone()
    }

    /// Makes room for the messages of a list, whose JSON has this number of bytes; false if it is too large.
    pub(crate) fn make_room(&self, bytes: usize) -> bool {
        bytes <= LEAST_ROOM || (bytes <= MOST_ROOM && self.kept.lock().make_room(bytes, Instant::now()))
    }
}

impl Kept {
    fn make_room(&mut self, bytes: usize, now: Instant) -> bool {
        if self.room(now) <= bytes {
            self.largest = Some((bytes, now));
        }
        true
    }

    fn room(&self, now: Instant) -> usize {
        let largest = self.largest.filter(|(_, since)| now.duration_since(*since) <= LONGEST);
        largest.map_or(LEAST_ROOM, |(bytes, _)| bytes.max(LEAST_ROOM))
    }

    fn keep(&mut self, message: Arc<Message>, now: Instant) {
        self.bytes += size(&message);
        self.messages.push_back((now, message));
        let room = self.room(now);
        let is_over = |bytes: usize, since: Instant| bytes > room || now.duration_since(since) > LONGEST;
        while let Some((_, oldest)) = self.messages.pop_front_if(|(since, _)| is_over(self.bytes, *since)) {
            if oldest.take_use() {
                self.messages.push_back((now, oldest));
            } else {
                self.bytes -= size(&oldest);
            }
        }
    }
}

fn size(message: &Message) -> usize {
    message.bytes().len() + OVERHEAD
}

/// Encodes an object as a message from its JSON.
pub(crate) fn message(kind: &Kind, object: &Stored) -> Vec<u8> {
    protobuf::transcode(&object.to_json(), kind.schema()).expect("a stored object is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    use coracle_meta::Object;
    use serde_json::json;

    fn object() -> Stored {
        let object = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}});
        Stored::from_object(&Arc::new(Object::from_value(object).unwrap()), 1)
    }

    fn keep(kept: &mut Kept, bytes: usize, now: Instant) -> Stored {
        let (object, message) = (object(), Message::new(Bytes::from(vec![0; bytes])));
        object.share_message(&message);
        kept.keep(message, now);
        object
    }

    #[tokio::test(start_paused = true)]
    async fn messages_stay_below_their_budget_and_unused_ones_go_first() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        let objects: Vec<Stored> = (0..30)
            .map(|_| {
                let object = keep(&mut kept, LEAST_ROOM / 10, now);
                assert!(kept.bytes <= LEAST_ROOM);
                object
            })
            .collect();
        assert!(objects[20].message().is_none() && objects[29].message().is_some());
        assert!(objects[21].message().is_some());
        let new = keep(&mut kept, LEAST_ROOM / 10, now);
        assert!(new.message().is_some() && objects[21].message().is_some() && objects[22].message().is_none());
        assert_eq!(kept.messages.len(), 9);
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_dropped_after_its_time_unless_it_is_used() {
        let (mut kept, start) = (Kept::default(), Instant::now());
        let used = keep(&mut kept, 10, start);
        for number in 0..100_u32 {
            keep(&mut kept, 10, start + LONGEST * number / 4);
            assert!(used.message().is_some());
            assert!(kept.messages.len() <= 6, "{} after {number}", kept.messages.len());
        }
        let objects = kept.messages.iter().map(|(_, message)| size(message)).sum::<usize>();
        assert_eq!(kept.bytes, objects);
    }

    #[tokio::test(start_paused = true)]
    async fn the_room_follows_the_largest_list_for_a_while_and_has_a_limit() {
        let (renderings, start) = (Renderings::default(), Instant::now());
        let room = |later: Duration| renderings.kept.lock().room(start + later);
        assert!(renderings.make_room(1) && room(Duration::ZERO) == LEAST_ROOM);
        assert!(renderings.make_room(3 * LEAST_ROOM) && renderings.make_room(2 * LEAST_ROOM));
        assert!(!renderings.make_room(MOST_ROOM + 1));
        assert_eq!((room(LONGEST), room(LONGEST * 2)), (3 * LEAST_ROOM, LEAST_ROOM));
    }
}
