//! Watch events and objects in protobuf, as far as the wire reads and writes them.

use bytes::{Bytes, BytesMut};
use coracle_cluster::status_value;
use coracle_meta::{GroupVersionKind, INITIAL_EVENTS_END, Status, WatchEventType, parse_resource_version};
use coracle_schema::Table;
use coracle_schema::protobuf::{
    MessageMetadata, WatchMessage, encode, encode_watch_event, required_resource_version, watch_event_length,
};

use super::watermark::Mark;

/// Takes the first event from the bytes of a watch, with its length; `None` if it has not arrived completely.
pub(super) fn take_event(bytes: &mut BytesMut) -> Option<Bytes> {
    let length = watch_event_length(bytes)?;
    Some(bytes.split_to(length).freeze())
}

/// What an event is, and the revision of its object or of a bookmark.
pub(super) fn mark(event: &[u8]) -> (Mark, Option<i64>) {
    let Some((event, metadata)) = WatchMessage::of(event).and_then(|event| Some((event, event.metadata()?))) else {
        return (Mark::Unknown, None);
    };
    let mark = Mark::of(event.event_type(), || metadata.has_annotation(INITIAL_EVENTS_END));
    (mark, metadata.resource_version().and_then(parse_resource_version))
}

/// A bookmark with another revision.
pub(super) fn bookmark_at(bookmark: &[u8], revision: i64) -> Option<Bytes> {
    WatchMessage::of(bookmark)?.bookmark_at(&revision.to_string()).map(Bytes::from)
}

/// The name of an object, or its `generateName`.
pub(super) fn name(object: &[u8]) -> Option<&str> {
    let metadata = MessageMetadata::of_object(object)?;
    metadata.name().or_else(|| metadata.generate_name())
}

/// Whether a write is carried out only at one resource version: that of the object, or the one that `DeleteOptions`
/// require.
pub(super) fn is_conditional(verb: &str, body: &[u8]) -> bool {
    match verb {
        "delete" => required_resource_version(body).is_some(),
        _ => MessageMetadata::of_object(body).is_some_and(|metadata| metadata.resource_version().is_some()),
    }
}

/// The event that reports an error.
pub(super) fn error(status: &Status) -> Bytes {
    let schema = Table::newest().kind(&GroupVersionKind::new("", "v1", "Status")).expect("the table has Status");
    let tree = status_value(status);
    let object = encode(tree.as_object().expect("a Status is an object"), &schema);
    encode_watch_event(WatchEventType::Error, &object).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_message_of_a_status() {
        let expired = error(&Status::expired("too old resource version"));
        let has = |part: &[u8]| expired.windows(part.len()).any(|window| window == part);
        assert!(expired[4..].starts_with(b"\x0a\x05ERROR"), "{expired:?}");
        assert!(has(b"\x12\x06Status"), "the kind: {expired:?}");
        assert!(has(b"\x1a\x18too old resource version"), "field 3: {expired:?}");
        assert!(has(b"\x22\x07Expired"), "field 4: {expired:?}");
        // The field 6 is a number: 410.
        assert!(has(b"\x30\x9a\x03"), "{expired:?}");
        assert_eq!(mark(&expired), (Mark::Unknown, None));
    }
}
