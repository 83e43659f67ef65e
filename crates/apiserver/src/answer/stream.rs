use std::convert::Infallible;
use std::io::Write;

use axum::body::Body;
use bytes::Bytes;
use coracle_meta::Status;
use coracle_registry::{AuditNotes, Stored, StoredList};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Body as _;
use serde_json::{Map, Value};

use crate::answer::list_text::{Layout, ListText};
use crate::answer::negotiate::{Format, Transform};
use crate::answer::protobuf;
use crate::answer::protobuf_list;
use crate::answer::render::Rendering;
use crate::answer::respond;
use crate::answer::turns;
use crate::answer::unread::Streamed;

/// The size of a chunk.
const CHUNK: usize = 64 * 1024;

/// The end of a list.
const TAIL: &[u8] = b"]}\n";

/// The size in bytes from which a body is compressed if the client accepts it. In Kubernetes:
/// `defaultGzipThresholdBytes`.
const COMPRESS_FROM: usize = 128 * 1024;

/// A list as a response. In JSON, rendered slices are copied in chunks while the client reads; a stalled client holds
/// only its slices and one chunk. In YAML and indented JSON, each item is decoded and written when it is due.
pub(crate) async fn list(
    rendering: Rendering,
    list: StoredList,
    headers: &HeaderMap,
    audit: &AuditNotes,
) -> Result<Response<Body>, Status> {
    let size = list.items.iter().map(Stored::len).sum();
    let mut response = written(rendering, list, headers, audit).await?;
    if response.body().size_hint().exact().is_none() {
        response.extensions_mut().insert(Streamed::List(size));
    }
    Ok(response)
}

async fn written(
    rendering: Rendering,
    list: StoredList,
    headers: &HeaderMap,
    audit: &AuditNotes,
) -> Result<Response<Body>, Status> {
    let rendering = rendering.of_list(&list.items);
    let how = rendering.how();
    let (mut head, member) = rendering.list_head(&list)?;
    audit.response(|| whole(&rendering, head.clone(), member, &list.items));
    // In Kubernetes: a nil slice, to which nothing was appended.
    if matches!(how.transform, Transform::PartialObjectMetadataList(_)) && list.items.is_empty() {
        head.insert(member.to_owned(), Value::Null);
        return Ok(respond::value(StatusCode::OK, &Value::Object(head), how));
    }
    if how.format == Format::Protobuf {
        let schema = protobuf::schema(&head).ok_or_else(|| Status::internal("the list has no protobuf form"))?;
        let body = protobuf_list::body(rendering, &head, &schema, list.items).await;
        return Ok(respond::bytes(StatusCode::OK, how.format, body));
    }
    let size: usize = list.items.iter().map(Stored::len).sum();
    if !rendering.is_plain_json() {
        // A small list is written as one value.
        if size <= CHUNK {
            return Ok(respond::value(StatusCode::OK, &whole(&rendering, head, member, &list.items), how));
        }
        let layout = if how.format == Format::Yaml { Layout::Yaml } else { Layout::Pretty };
        let chunks = ListText::new(layout, rendering, head, member, list.items);
        return Ok(respond::bytes(StatusCode::OK, how.format, body_in_turns(chunks)));
    }
    let compress = size > COMPRESS_FROM && accepts_gzip(headers);
    let is_table = matches!(how.transform, Transform::Table(_));
    let chunks = Chunks::new(rendering, head, member, list.items);
    Ok(in_json(chunks, size, compress, is_table))
}

/// A list of plain JSON: at once if its objects are small, otherwise in chunks.
fn in_json(chunks: Chunks, size: usize, compress: bool, is_table: bool) -> Response<Body> {
    let mut response = if size <= CHUNK {
        respond::bytes(StatusCode::OK, Format::Json, chunks.collect::<Vec<_>>().concat())
    } else if compress {
        respond::bytes(StatusCode::OK, Format::Json, body_in_turns(Gzip::new(chunks)))
    } else if is_table {
        respond::bytes(StatusCode::OK, Format::Json, body_in_turns(chunks))
    } else {
        respond::bytes(StatusCode::OK, Format::Json, body(chunks))
    };
    if compress {
        let headers = response.headers_mut();
        headers.insert(http::header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(http::header::VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    response
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(http::header::ACCEPT_ENCODING).iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| {
        value.split(',').any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            parts.next() == Some("gzip") && !parts.any(|part| matches!(part, "q=0" | "q=0.0"))
        })
    })
}

fn body(chunks: impl Iterator<Item = Vec<u8>> + Send + 'static) -> Body {
    Body::from_stream(futures_util::stream::iter(chunks.map(|chunk| Ok::<_, Infallible>(Bytes::from(chunk)))))
}

/// Yields to other tasks before each chunk, because rendering a chunk takes longer than copying it.
fn body_in_turns(chunks: impl Iterator<Item = Vec<u8>> + Send + 'static) -> Body {
    let chunks = futures_util::stream::iter(chunks).then(|chunk| async {
        tokio::task::yield_now().await;
        Ok::<_, Infallible>(Bytes::from(chunk))
    });
    Body::from_stream(chunks)
}

/// The whole list as one value, for the audit log and for small lists in formats that do not copy rendered JSON.
fn whole(rendering: &Rendering, mut head: Map<String, Value>, member: &str, items: &[Stored]) -> Value {
    let items = items.iter().map(|item| {
        let mut bytes = Vec::new();
        rendering.push_item(item, &mut bytes);
        coracle_meta::json::from_slice(&bytes).unwrap_or(Value::Null)
    });
    head.insert(member.to_owned(), items.collect());
    Value::Object(head)
}

/// The bytes of a JSON list, in chunks.
struct Chunks {
    rendering: Rendering,
    /// Rendered bytes that have not been returned yet.
    pending: Vec<u8>,
    items: std::vec::IntoIter<Stored>,
    is_first: bool,
    is_done: bool,
}

impl Chunks {
    fn new(rendering: Rendering, head: Map<String, Value>, member: &str, items: Vec<Stored>) -> Self {
        let mut pending = serde_json::to_vec(&Value::Object(head)).unwrap_or_default();
        pending.pop();
        pending.extend_from_slice(format!(",\"{member}\":[").as_bytes());
        Self { rendering, pending, items: items.into_iter(), is_first: true, is_done: false }
    }
}

impl Iterator for Chunks {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.is_done {
            return None;
        }
        let mut chunk = std::mem::take(&mut self.pending);
        let (count, bytes) = self.next_items();
        if self.rendering.copies_objects() {
            chunk.reserve_exact(bytes + TAIL.len());
        }
        for item in self.items.by_ref().take(count) {
            if !std::mem::take(&mut self.is_first) {
                chunk.push(b',');
            }
            self.rendering.push_item(&item, &mut chunk);
        }
        if self.items.as_slice().is_empty() {
            chunk.extend_from_slice(TAIL);
            self.is_done = true;
        }
        Some(chunk)
    }
}

impl Chunks {
    /// How many items the next chunk has, and how many bytes their objects have at most. A row of a table is small, but
    /// its object, which must be decoded, may be large.
    fn next_items(&self) -> (usize, usize) {
        let most = if self.rendering.shows_rows() { turns::BYTES } else { CHUNK };
        let (mut count, mut bytes) = (0, 0);
        for item in self.items.as_slice() {
            let length = item.len() + 1;
            if count > 0 && bytes + length > most {
                break;
            }
            (count, bytes) = (count + 1, bytes + length);
        }
        (count, bytes)
    }
}

/// Compressed chunks.
struct Gzip<I> {
    chunks: I,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<I> Gzip<I> {
    fn new(chunks: I) -> Self {
        Self { chunks, encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())) }
    }
}

impl<I: Iterator<Item = Vec<u8>>> Iterator for Gzip<I> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let encoder = self.encoder.as_mut()?;
            let Some(chunk) = self.chunks.next() else {
                return self.encoder.take()?.finish().ok();
            };
            // Writing to memory does not fail.
            let _ = encoder.write_all(&chunk);
            if !encoder.get_ref().is_empty() {
                return Some(std::mem::take(encoder.get_mut()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn compressed_chunks_are_one_gzip_stream() {
        let chunks = vec![b"hello ".to_vec(), vec![b'x'; 200_000], b"end".to_vec()];
        let packed: Vec<u8> = Gzip::new(chunks.clone().into_iter()).flatten().collect();
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, chunks.concat());
    }
}
