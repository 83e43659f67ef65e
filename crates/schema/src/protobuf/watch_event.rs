use coracle_meta::{GroupVersionKind, WatchEventType};

use super::metadata::{MessageMetadata, field};
use super::wire::{field_length, put_bytes, put_length};
use super::{Envelope, MAGIC, put_sealed, sealed, sealed_length, type_meta};

/// The length of the length of a watch event.
const PREFIX: usize = 4;

/// A watch event in a message, read without the kind of its object.
#[derive(Clone, Copy, Debug)]
pub struct WatchMessage<'a> {
    event_type: &'a str,
    object: &'a [u8],
}

impl<'a> WatchMessage<'a> {
    /// The event of a frame: the length, and the message.
    pub fn of(frame: &'a [u8]) -> Option<Self> {
        let message = frame.get(PREFIX..)?;
        let event_type = std::str::from_utf8(field(message, 1)?).ok()?;
        Some(Self { event_type, object: field(field(message, 2)?, 1)? })
    }

    /// `ADDED`, `BOOKMARK` and so on.
    pub fn event_type(self) -> &'a str {
        self.event_type
    }

    /// The metadata of the object.
    pub fn metadata(self) -> Option<MessageMetadata<'a>> {
        MessageMetadata::of_object(self.object)
    }

    /// The frame of a bookmark for objects of the same kind, with this resource version and nothing else.
    pub fn bookmark_at(self, resource_version: &str) -> Option<Vec<u8>> {
        let envelope = Envelope::read(self.object.strip_prefix(MAGIC)?).ok()?;
        let (mut metadata, mut raw) = (Vec::new(), Vec::new());
        put_bytes(&mut metadata, 6, resource_version.as_bytes());
        put_bytes(&mut raw, 1, &metadata);
        let object = sealed(&type_meta(&envelope.api_version, &envelope.kind), &raw);
        Some(encode_watch_event(WatchEventType::Bookmark, &object))
    }
}

/// The length of the first watch event, with its length; `None` if it has not arrived completely.
pub fn watch_event_length(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_be_bytes(*bytes.first_chunk::<PREFIX>()?);
    let length = usize::try_from(length).ok()?.checked_add(PREFIX)?;
    (bytes.len() >= length).then_some(length)
}

/// A frame of a watch: four bytes of length, then a bare `WatchEvent` around an object that [`encode`](super::encode)
/// wrote.
pub fn encode_watch_event(event: WatchEventType, object: &[u8]) -> Vec<u8> {
    let mut raw = Vec::with_capacity(object.len() + 8);
    put_bytes(&mut raw, 1, object);
    let mut message = Vec::with_capacity(raw.len() + 24);
    put_bytes(&mut message, 1, event.as_str().as_bytes());
    put_bytes(&mut message, 2, &raw);
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut frame = length.to_be_bytes().to_vec();
    frame.append(&mut message);
    frame
}

/// Appends the frame of an event with an object's message, which has no envelope. The same as [`encode_watch_event`] of
/// the sealed message, with one copy.
pub fn push_watch_event(event: WatchEventType, kind: &GroupVersionKind, message: &[u8], out: &mut Vec<u8>) {
    let type_meta = type_meta(&kind.api_version(), &kind.kind);
    let sealed = sealed_length(&type_meta, message);
    let raw = field_length(sealed);
    let event_type = event.as_str().as_bytes();
    let length = field_length(event_type.len()) + field_length(raw);
    out.reserve(PREFIX + length);
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    put_bytes(out, 1, event_type);
    put_length(out, 2, raw);
    put_length(out, 1, sealed);
    put_sealed(out, &type_meta, message);
}

#[cfg(test)]
mod tests {
    use coracle_meta::INITIAL_EVENTS_END;
    use proptest::prelude::*;

    use super::super::seal;
    use super::*;

    fn event(event_type: WatchEventType, version: &str, annotation: Option<&str>) -> Vec<u8> {
        let (mut metadata, mut object) = (Vec::new(), Vec::new());
        put_bytes(&mut metadata, 1, b"web");
        put_bytes(&mut metadata, 6, version.as_bytes());
        if let Some(key) = annotation {
            let mut entry = Vec::new();
            put_bytes(&mut entry, 1, key.as_bytes());
            put_bytes(&mut entry, 2, b"true");
            put_bytes(&mut metadata, 12, &entry);
        }
        put_bytes(&mut object, 1, &metadata);
        encode_watch_event(event_type, &sealed(&type_meta("v1", "Secret"), &object))
    }

    fn version(frame: &[u8]) -> Option<&str> {
        WatchMessage::of(frame)?.metadata()?.resource_version()
    }

    #[test]
    fn events_are_cut_at_their_lengths_and_have_types_and_revisions() {
        let (first, second) = (event(WatchEventType::Added, "17", None), event(WatchEventType::Deleted, "300", None));
        let begun = [first.as_slice(), &second[..10]].concat();
        assert_eq!(watch_event_length(&begun), Some(first.len()));
        assert_eq!(watch_event_length(&begun[first.len()..]), None);
        assert_eq!(watch_event_length(&second), Some(second.len()));
        assert_eq!((version(&first), version(&second)), (Some("17"), Some("300")));
        let event_type = |frame| WatchMessage::of(frame).unwrap().event_type().to_owned();
        assert_eq!((event_type(&first), event_type(&second)), ("ADDED".to_owned(), "DELETED".to_owned()));
    }

    #[test]
    fn a_bookmark_is_made_again_with_another_revision_and_its_kind() {
        let initial = event(WatchEventType::Bookmark, "17", Some(INITIAL_EVENTS_END));
        let read = WatchMessage::of(&initial).unwrap();
        assert!(read.metadata().unwrap().has_annotation(INITIAL_EVENTS_END));
        assert!(!read.metadata().unwrap().has_annotation("other"));
        let again = read.bookmark_at("12").unwrap();
        assert_eq!(watch_event_length(&again), Some(again.len()));
        assert_eq!((version(&again), WatchMessage::of(&again).unwrap().event_type()), (Some("12"), "BOOKMARK"));
        let object = WatchMessage::of(&again).unwrap().object;
        let envelope = Envelope::read(object.strip_prefix(MAGIC).unwrap()).unwrap();
        assert_eq!((envelope.api_version.as_str(), envelope.kind.as_str()), ("v1", "Secret"));
        let metadata = WatchMessage::of(&again).unwrap().metadata().unwrap();
        assert_eq!((metadata.name(), metadata.has_annotation(INITIAL_EVENTS_END)), (None, false));
    }

    proptest! {
        #[test]
        fn an_event_is_appended_as_if_its_parts_were_encoded_one_in_another(length in prop::sample::select(vec![0_usize, 1, 90, 127, 128, 16_000, 16_384, 2_097_152])) {
            let (kind, message) = (GroupVersionKind::new("apps", "v1", "Deployment"), vec![7; length]);
            let mut out = vec![1, 2];
            push_watch_event(WatchEventType::Modified, &kind, &message, &mut out);
            let nested = encode_watch_event(WatchEventType::Modified, &seal(&kind, &message));
            prop_assert!(out == [&[1, 2], nested.as_slice()].concat());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = watch_event_length(&bytes);
            let read = WatchMessage::of(&bytes);
            let _ = read.map(|found| (found.event_type(), found.metadata(), found.bookmark_at("1")));
        }
    }
}
