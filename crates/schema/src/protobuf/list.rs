//! Lists of already encoded items: a head, the items one by one, a tail.

use serde_json::{Map, Value};

use super::wire::{field_length, put_bytes, put_length};
use super::{MAGIC, encode, type_meta_of};
use crate::kind_schema::KindSchema;

/// The field number of the items of every list.
const ITEMS: u32 = 2;

/// The end of a list: `contentEncoding` and `contentType` of its envelope, both empty.
pub const LIST_TAIL: &[u8] = &[3 << 3 | 2, 0, 4 << 3 | 2, 0];

/// The beginning of a list: its envelope and all fields except its items, which follow and have `items` bytes in total
/// (the sum of [`list_item_length`]).
pub fn list_head(head: &Map<String, Value>, schema: &KindSchema, items: usize) -> Vec<u8> {
    let mut raw = Vec::new();
    encode::object(head, schema.root(), &mut raw);
    let mut out = MAGIC.to_vec();
    put_bytes(&mut out, 1, &type_meta_of(head));
    put_length(&mut out, 2, raw.len() + items);
    out.extend_from_slice(&raw);
    out
}

/// The number of bytes of an item in a list, for a message of this length.
pub fn list_item_length(message: usize) -> usize {
    field_length(message)
}

/// Appends one item.
pub fn push_list_item(message: &[u8], out: &mut Vec<u8>) {
    put_bytes(out, ITEMS, message);
}
