use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use coracle_registry::{Kind, Stored};
use coracle_schema::{KindSchema, protobuf};
use serde_json::{Map, Value};

use crate::answer::renderings::{self, Renderings};
use crate::answer::turns::Turns;

/// The size of a list in bytes from which items are encoded while the client reads, so that a stalled client does not
/// keep the whole list in memory.
const STREAM_FROM: usize = 8 << 20;
/// The size of a chunk.
const CHUNK: usize = 64 * 1024;

/// A list of objects in protobuf, each encoded from its JSON.
///
/// The length of a message precedes the message, so the lengths of all items must be known first. They are stored with
/// the objects. The items of a list that is not kept in memory are encoded when they are sent.
pub(crate) async fn body(
    kind: &Arc<Kind>,
    renderings: &Renderings,
    head: &Map<String, Value>,
    schema: &KindSchema,
    items: Vec<Stored>,
) -> Body {
    let size: usize = items.iter().map(Stored::len).sum();
    if size > STREAM_FROM {
        return streamed(kind, head, schema, items).await;
    }
    let shared = renderings.has_room_for(size);
    let mut written = Vec::with_capacity(size);
    let mut turns = Turns::default();
    for item in &items {
        if shared {
            protobuf::push_list_item(&renderings.message(kind, item), &mut written)
        } else {
            protobuf::push_list_item(&renderings::message(kind, item), &mut written)
        }
        turns.count(item.len()).await;
    }
    let mut whole = protobuf::list_head(head, schema, written.len() as u64);
    whole.append(&mut written);
    whole.extend_from_slice(protobuf::LIST_TAIL);
    whole.into()
}

async fn streamed(kind: &Arc<Kind>, head: &Map<String, Value>, schema: &KindSchema, items: Vec<Stored>) -> Body {
    let (mut length, mut turns) = (0, Turns::default());
    for item in &items {
        let message = item.message_length(|| renderings::message(kind, item).len());
        length += protobuf::list_item_length(message);
        turns.count(item.len()).await;
    }
    let head = protobuf::list_head(head, schema, length);
    let chunks = Chunks { kind: Arc::clone(kind), pending: head, items: items.into_iter(), is_done: false };
    Body::from_stream(futures_util::stream::iter(chunks.map(Ok::<_, Infallible>)))
}

struct Chunks {
    kind: Arc<Kind>,
    /// Written bytes that have not been returned yet.
    pending: Vec<u8>,
    items: std::vec::IntoIter<Stored>,
    is_done: bool,
}

impl Iterator for Chunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.is_done {
            return None;
        }
        let mut chunk = std::mem::take(&mut self.pending);
        while chunk.len() < CHUNK {
            let Some(item) = self.items.next() else {
                chunk.extend_from_slice(protobuf::LIST_TAIL);
                self.is_done = true;
                break;
            };
            protobuf::push_list_item(&renderings::message(&self.kind, &item), &mut chunk);
        }
        Some(chunk.into())
    }
}
