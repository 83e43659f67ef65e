//! Kubernetes' protobuf: the envelope, and messages to and from JSON trees by the table's tags.
//!
//! ```text
//! "k8s\0" Unknown { TypeMeta, raw } --decode--> Raw --typed pass--> Object
//! Object --encode--> "k8s\0" Unknown { TypeMeta, raw }
//! JSON text --transcode--> message --seal, list--> "k8s\0" Unknown { TypeMeta, raw }
//! ```
//! Custom kinds have no protobuf. Decoding uses at most a constant times the length of the input.

mod cursor;
mod decode;
mod encode;
mod list;
mod metadata;
mod transcode;
mod watch_event;
mod wire;

pub use cursor::InvalidJson;
pub use list::{LIST_TAIL, list_head, list_item_length, push_list_item};
pub use metadata::{MessageMetadata, required_resource_version};
pub use watch_event::{WatchMessage, encode_watch_event, push_watch_event, watch_event_length};

use coracle_meta::GroupVersionKind;
use serde_json::{Map, Value};

use crate::kind_schema::KindSchema;
use crate::text::raw::Raw;
use wire::{Reader, WireError, field_length, put_bytes};

/// The first bytes of every message to and from the API.
const MAGIC: &[u8] = b"k8s\0";

/// `runtime.Unknown`: a message with its type.
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut envelope = Self { api_version: String::new(), kind: String::new(), raw: &[] };
        let mut reader = Reader::new(bytes);
        while let Some((tag, wire)) = reader.next()? {
            match tag {
                1 => envelope.read_type_meta(wire.bytes(tag)?)?,
                2 => envelope.raw = wire.bytes(tag)?,
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type_meta(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let mut type_meta = Reader::new(bytes);
        while let Some((tag, wire)) = type_meta.next()? {
            match tag {
                1 => self.api_version = wire.text(tag)?.to_owned(),
                2 => self.kind = wire.text(tag)?.to_owned(),
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets `apiVersion` and `kind` of an object, which are not in messages.
    fn name(&self, object: &mut Raw) {
        if let Raw::Object(fields) = object {
            fields.push(("apiVersion".to_owned(), Raw::String(self.api_version.clone())));
            fields.push(("kind".to_owned(), Raw::String(self.kind.clone())));
        }
    }
}

/// Decodes a body; an envelope without a kind has the expected kind.
pub(crate) fn decode_raw(body: &[u8], expected: &GroupVersionKind, schema: &KindSchema) -> Result<Raw, String> {
    if body.is_empty() {
        return Err("empty data".to_owned());
    }
    let envelope = body
        .strip_prefix(MAGIC)
        .ok_or("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")?;
    if envelope.is_empty() {
        return Err("empty body".to_owned());
    }
    let mut envelope = Envelope::read(envelope).map_err(|error| error.to_string())?;
    if envelope.kind.is_empty() {
        envelope.kind = expected.kind.clone();
    }
    if envelope.api_version.is_empty() {
        envelope.api_version = expected.api_version();
    }
    // The fields of another kind would be wrong under these names; the caller reports the other kind.
    let mut raw = if envelope.kind == expected.kind {
        decode::message(envelope.raw, schema.root()).map_err(|error| error.to_string())?
    } else {
        Raw::Object(Vec::new())
    };
    envelope.name(&mut raw);
    Ok(raw)
}

/// The version and the kind in the envelope of a message; `None` if this is not a message.
pub(crate) fn stored_type(value: &[u8]) -> Option<Result<(String, String), String>> {
    let envelope = Envelope::read(value.strip_prefix(MAGIC)?).map_err(|error| error.to_string());
    Some(envelope.map(|envelope| (envelope.api_version, envelope.kind)))
}

/// Decodes a message in its envelope, in any version; `None` if this is not a message.
pub(crate) fn stored_raw(value: &[u8], schema: &KindSchema) -> Option<Result<Raw, String>> {
    let envelope = value.strip_prefix(MAGIC)?;
    let read = || {
        let envelope = Envelope::read(envelope)?;
        let mut raw = decode::message(envelope.raw, schema.root())?;
        envelope.name(&mut raw);
        Ok(raw)
    };
    Some(read().map_err(|error: WireError| error.to_string()))
}

/// Encodes an object (or a list of them) of a built-in kind with its envelope.
pub fn encode(tree: &Map<String, Value>, schema: &KindSchema) -> Vec<u8> {
    let type_meta = type_meta_of(tree);
    let mut raw = Vec::new();
    encode::object(tree, schema.root(), &mut raw);
    sealed(&type_meta, &raw)
}

/// Converts an object's JSON, as this server writes it, to a message without an envelope, without an intermediate tree.
///
/// # Errors
/// If the JSON does not end, or has other mistakes that conversion meets.
pub fn transcode(json: &[u8], schema: &KindSchema) -> Result<Vec<u8>, InvalidJson> {
    let mut out = Vec::with_capacity(json.len());
    transcode::object(json, schema.root(), &mut out)?;
    Ok(out)
}

/// A message of a kind with its envelope.
pub fn seal(kind: &GroupVersionKind, message: &[u8]) -> Vec<u8> {
    sealed(&type_meta(&kind.api_version(), &kind.kind), message)
}

fn type_meta_of(tree: &Map<String, Value>) -> Vec<u8> {
    let text = |name: &str| tree.get(name).and_then(Value::as_str).unwrap_or_default();
    type_meta(text("apiVersion"), text("kind"))
}

fn type_meta(api_version: &str, kind: &str) -> Vec<u8> {
    let mut type_meta = Vec::new();
    put_bytes(&mut type_meta, 1, api_version.as_bytes());
    put_bytes(&mut type_meta, 2, kind.as_bytes());
    type_meta
}

fn sealed(type_meta: &[u8], raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(sealed_length(type_meta, raw));
    put_sealed(&mut out, type_meta, raw);
    out
}

fn put_sealed(out: &mut Vec<u8>, type_meta: &[u8], raw: &[u8]) {
    out.extend_from_slice(MAGIC);
    put_bytes(out, 1, type_meta);
    put_bytes(out, 2, raw);
    put_bytes(out, 3, b"");
    put_bytes(out, 4, b"");
}

fn sealed_length(type_meta: &[u8], raw: &[u8]) -> usize {
    MAGIC.len() + field_length(type_meta.len()) + field_length(raw.len()) + 2 * field_length(0)
}

#[cfg(test)]
mod tests;
