use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use coracle_registry::{Kind, Stored};
use coracle_schema::{KindSchema, protobuf};
use serde_json::{Map, Value};

use crate::answer::renderings::{self, Renderings};
use crate::answer::turns::Turns;

/// From how many bytes of objects on the items are written as the client takes them, so that a stalled client holds no
/// list as large as the cluster.
const STREAM_FROM: usize = 8 << 20;
/// How much is written at a time.
const CHUNK: usize = 64 * 1024;

/// A list of objects in protobuf, each made from its JSON.
///
/// A message stands behind its length, so the lengths of all items have to be known first. They are remembered with the
/// objects; of a list that is not kept whole, the items are made when they are due.
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
        match shared {
            true => protobuf::push_list_item(&renderings.message(kind, item), &mut written),
            false => protobuf::push_list_item(&renderings::message(kind, item), &mut written),
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
    /// What is written and not yet handed out.
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
