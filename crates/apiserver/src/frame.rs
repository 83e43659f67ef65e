use coracle_meta::WatchEventType;

use crate::negotiate::Format;

/// Appends one watch event: a line of JSON, or a length and a message.
///
/// `object` is the event's object in the same format (of protobuf, with its envelope).
pub(crate) fn push_event(format: Format, event: WatchEventType, object: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    match format {
        Format::Protobuf => push_protobuf(event, object, out),
        Format::Json | Format::Yaml => {
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(event.as_str().as_bytes());
            out.extend_from_slice(b"\",\"object\":");
            object(out);
            out.extend_from_slice(b"}\n");
        }
    }
}

/// A bare `metav1.WatchEvent` behind its length in four bytes, the highest first. In Kubernetes: the
/// length-delimited framer, around messages without the `k8s` prefix.
fn push_protobuf(event: WatchEventType, object: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let mut raw = Vec::new();
    object(&mut raw);
    let mut extension = Vec::with_capacity(raw.len() + 6);
    push_bytes_field(1, &raw, &mut extension);
    let mut message = Vec::with_capacity(extension.len() + 20);
    push_bytes_field(1, event.as_str().as_bytes(), &mut message);
    push_bytes_field(2, &extension, &mut message);
    out.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(&message);
}

/// A field of protobuf's wire type 2: its tag, the length, the bytes.
pub(crate) fn push_bytes_field(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    push_varint(u64::from(tag << 3 | 2), out);
    push_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A number in protobuf's base 128.
pub(crate) fn push_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_event_is_a_line() {
        let mut out = Vec::new();
        push_event(Format::Json, WatchEventType::Added, |out| out.extend_from_slice(b"{}"), &mut out);
        assert_eq!(out, b"{\"type\":\"ADDED\",\"object\":{}}\n");
    }

    #[test]
    fn a_protobuf_event_stands_behind_its_length() {
        let mut out = Vec::new();
        push_event(Format::Protobuf, WatchEventType::Added, |out| out.extend_from_slice(b"xyz"), &mut out);
        assert_eq!(out, b"\x00\x00\x00\x0e\x0a\x05ADDED\x12\x05\x0a\x03xyz");
    }
}
