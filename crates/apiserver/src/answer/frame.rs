use coracle_meta::WatchEventType;
use coracle_schema::protobuf;

use crate::answer::negotiate::Format;

/// How many bytes a line of JSON has around its object.
pub(crate) const AROUND: usize = r#"{"type":"MODIFIED","object":}"#.len() + 1;

/// Appends one watch event: a line of JSON, or a length and a protobuf message.
///
/// `object` writes the event's object in the same format (protobuf with its envelope).
pub(crate) fn push_event(format: Format, event: WatchEventType, object: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    match format {
        Format::Protobuf => {
            let mut bytes = Vec::new();
            object(&mut bytes);
            out.extend(protobuf::encode_watch_event(event, &bytes));
        }
        Format::Json | Format::Yaml => {
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(event.as_str().as_bytes());
            out.extend_from_slice(b"\",\"object\":");
            object(out);
            out.extend_from_slice(b"}\n");
        }
    }
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
