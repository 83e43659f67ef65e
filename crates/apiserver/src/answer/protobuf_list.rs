use std::convert::Infallible;

use axum::body::Body;
use bytes::Bytes;
use coracle_registry::Stored;
use coracle_schema::{KindSchema, protobuf};
use serde_json::{Map, Value};

use crate::answer::render::Rendering;
use crate::answer::turns::Turns;

/// The size of a chunk. A list whose objects are smaller is written at once.
const CHUNK: usize = 64 * 1024;

/// A list in protobuf. Chunks are written while the client reads, so that a stalled client holds only its objects and
/// one chunk.
///
/// The length of a message precedes the message, so the lengths of all items must be known first. Messages of objects
/// are cached; those of a list that is too large for the cache, and metadata, are encoded again when they are sent.
pub(crate) async fn body(
    rendering: Rendering,
    head: &Map<String, Value>,
    schema: &KindSchema,
    items: Vec<Stored>,
) -> Body {
    let size: usize = items.iter().map(Stored::len).sum();
    let is_kept = rendering.keeps_messages(size);
    let mut chunks = Chunks { rendering, is_kept, pending: Vec::new(), items: items.into_iter(), is_done: false };
    if size <= CHUNK {
        let written = chunks.by_ref().collect::<Vec<_>>().concat();
        let items = written.len() - protobuf::LIST_TAIL.len();
        let mut whole = protobuf::list_head(head, schema, items);
        whole.extend_from_slice(&written);
        return whole.into();
    }
    let (mut length, mut turns) = (0, Turns::default());
    for item in chunks.items.as_slice() {
        length += protobuf::list_item_length(chunks.rendering.message_length(item, is_kept));
        turns.count(item.len()).await;
    }
    chunks.pending = protobuf::list_head(head, schema, length);
    Body::from_stream(futures_util::stream::iter(chunks.map(Ok::<_, Infallible>)))
}

struct Chunks {
    rendering: Rendering,
    /// Whether the messages are cached.
    is_kept: bool,
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
            protobuf::push_list_item(&self.rendering.message(&item, self.is_kept), &mut chunk);
        }
        Some(chunk.into())
    }
}
