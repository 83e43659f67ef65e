//! Watch events in protobuf: a length of four bytes, and a message `WatchEvent`. Only the parts that the wire needs.

use bytes::{BufMut, Bytes, BytesMut};
use coracle_meta::{Status, parse_resource_version};

/// The length of the length.
const PREFIX: usize = 4;
/// What begins an object in protobuf. In Kubernetes: `protoEncodingPrefix`.
const MAGIC: &[u8] = b"k8s\0";

/// Takes the first event from the bytes of a watch, with its length; `None` if it has not arrived completely.
pub(super) fn take_event(bytes: &mut BytesMut) -> Option<Bytes> {
    let length: [u8; PREFIX] = bytes.get(..PREFIX)?.try_into().ok()?;
    let length = usize::try_from(u32::from_be_bytes(length)).ok()?.checked_add(PREFIX)?;
    (bytes.len() >= length).then(|| bytes.split_to(length).freeze())
}

/// The revision of the object of an event.
pub(super) fn revision(event: &[u8]) -> Option<i64> {
    let raw = field(field(event.get(PREFIX..)?, 2)?, 1)?.strip_prefix(MAGIC)?;
    let metadata = field(field(raw, 2)?, 1)?;
    parse_resource_version(std::str::from_utf8(field(metadata, 6)?).ok()?)
}

/// The name of an object, or its `generateName`.
pub(super) fn name(object: &[u8]) -> Option<&str> {
    let metadata = field(field(object.strip_prefix(MAGIC)?, 2)?, 1)?;
    let text = |number| std::str::from_utf8(field(metadata, number)?).ok().filter(|text| !text.is_empty());
    text(1).or_else(|| text(2))
}

/// The event that reports an error.
pub(super) fn error(status: &Status) -> Bytes {
    let mut message = Vec::new();
    put(2, status.status.as_bytes(), &mut message);
    put(3, status.message.as_bytes(), &mut message);
    put(4, status.reason.as_bytes(), &mut message);
    put_tag(6, 0, &mut message);
    put_number(u64::from(status.code), &mut message);
    let mut type_meta = Vec::new();
    put(1, b"v1", &mut type_meta);
    put(2, b"Status", &mut type_meta);
    let mut raw = MAGIC.to_vec();
    put(1, &type_meta, &mut raw);
    put(2, &message, &mut raw);
    let (mut extension, mut event) = (Vec::new(), Vec::new());
    put(1, &raw, &mut extension);
    put(1, b"ERROR", &mut event);
    put(2, &extension, &mut event);
    let mut framed = BytesMut::with_capacity(PREFIX + event.len());
    framed.put_u32(u32::try_from(event.len()).unwrap_or(u32::MAX));
    framed.put_slice(&event);
    framed.freeze()
}

/// The first field of a message with this number, if it has a length.
fn field(mut message: &[u8], number: u64) -> Option<&[u8]> {
    while !message.is_empty() {
        let tag = take_number(&mut message)?;
        match tag & 7 {
            0 => drop(take_number(&mut message)?),
            1 => message = message.get(8..)?,
            2 => {
                let length = usize::try_from(take_number(&mut message)?).ok()?;
                let value = message.get(..length)?;
                if tag >> 3 == number {
                    return Some(value);
                }
                message = &message[length..];
            }
            5 => message = message.get(4..)?,
            _ => return None,
        }
    }
    None
}

/// A number in seven bits of each byte, the lowest first.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_tag(number: u64, wire: u64, out: &mut Vec<u8>) {
    put_number(number << 3 | wire, out);
}

fn put(number: u64, value: &[u8], out: &mut Vec<u8>) {
    put_tag(number, 2, out);
    put_number(value.len() as u64, out);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(version: &str) -> Vec<u8> {
        let mut metadata = Vec::new();
        put(1, b"web", &mut metadata);
        put(6, version.as_bytes(), &mut metadata);
        let (mut object, mut raw) = (Vec::new(), MAGIC.to_vec());
        put(1, &metadata, &mut object);
        put(1, b"type", &mut raw);
        put(2, &object, &mut raw);
        let (mut extension, mut event) = (Vec::new(), Vec::new());
        put(1, &raw, &mut extension);
        put(1, b"ADDED", &mut event);
        put(2, &extension, &mut event);
        let mut framed = u32::try_from(event.len()).unwrap().to_be_bytes().to_vec();
        framed.extend(event);
        framed
    }

    #[test]
    fn events_are_cut_at_their_lengths_and_have_revisions() {
        let (first, second) = (event("17"), event("300"));
        let mut bytes = BytesMut::from(&[first.as_slice(), &second[..10]].concat()[..]);
        assert_eq!(take_event(&mut bytes).unwrap(), first);
        assert_eq!(take_event(&mut bytes), None);
        bytes.extend_from_slice(&second[10..]);
        assert_eq!(take_event(&mut bytes).unwrap(), second);
        assert_eq!((revision(&first), revision(&second), bytes.len()), (Some(17), Some(300), 0));
    }

    #[test]
    fn an_object_has_a_name_or_the_beginning_of_one() {
        let object = |fields: &[(u64, &str)]| {
            let (mut metadata, mut object, mut raw) = (Vec::new(), Vec::new(), MAGIC.to_vec());
            fields.iter().for_each(|(number, value)| put(*number, value.as_bytes(), &mut metadata));
            put(1, &metadata, &mut object);
            put(2, &object, &mut raw);
            raw
        };
        assert_eq!(name(&object(&[(1, "web-1"), (2, "web-")])), Some("web-1"));
        assert_eq!(name(&object(&[(1, ""), (2, "web-"), (3, "shop")])), Some("web-"));
        assert_eq!(name(&object(&[(3, "shop")])), None);
        assert_eq!(name(b"{\"metadata\": {}}"), None);
    }

    #[test]
    fn an_error_is_the_message_of_a_status() {
        let expired = error(&Status::expired("too old resource version"));
        let raw = field(field(&expired[PREFIX..], 2).unwrap(), 1).unwrap().strip_prefix(MAGIC).unwrap();
        assert_eq!(field(&expired[PREFIX..], 1), Some(&b"ERROR"[..]));
        assert_eq!(field(field(raw, 1).unwrap(), 2), Some(&b"Status"[..]));
        let status = field(raw, 2).unwrap();
        assert_eq!(field(status, 3), Some(&b"too old resource version"[..]));
        assert_eq!(field(status, 4), Some(&b"Expired"[..]));
        // The field 6 is a number: 410.
        assert!(status.ends_with(b"\x30\x9a\x03"), "{status:?}");
        assert_eq!(revision(&expired), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = (revision(&bytes), name(&bytes));
            let _ = take_event(&mut BytesMut::from(&bytes[..]));
        }
    }
}
