use super::MAGIC;
use super::wire::Reader;

/// The metadata of an object in a message, read without its kind.
#[derive(Clone, Copy, Debug)]
pub struct MessageMetadata<'a>(&'a [u8]);

impl<'a> MessageMetadata<'a> {
    /// The metadata of a message with its envelope; `None` if it has none.
    pub fn of_object(message: &'a [u8]) -> Option<Self> {
        let raw = field(message.strip_prefix(MAGIC)?, 2)?;
        field(raw, 1).map(Self)
    }

    /// The name; `None` if it is empty.
    pub fn name(self) -> Option<&'a str> {
        self.text(1)
    }

    /// The `generateName`; `None` if it is empty.
    pub fn generate_name(self) -> Option<&'a str> {
        self.text(2)
    }

    /// The resource version; `None` if it is empty.
    pub fn resource_version(self) -> Option<&'a str> {
        self.text(6)
    }

    /// Whether there is an annotation with this key.
    pub fn has_annotation(self, key: &str) -> bool {
        let mut reader = Reader::new(self.0);
        while let Ok(Some((tag, wire))) = reader.next() {
            if tag == 12 && wire.bytes(tag).is_ok_and(|entry| field(entry, 1) == Some(key.as_bytes())) {
                return true;
            }
        }
        false
    }

    fn text(self, tag: u32) -> Option<&'a str> {
        std::str::from_utf8(field(self.0, tag)?).ok().filter(|text| !text.is_empty())
    }
}

/// The resource version that a message of `DeleteOptions` with its envelope requires; `None` if it requires none.
pub fn required_resource_version(delete_options: &[u8]) -> Option<&str> {
    let preconditions = field(field(delete_options.strip_prefix(MAGIC)?, 2)?, 2)?;
    std::str::from_utf8(field(preconditions, 2)?).ok().filter(|text| !text.is_empty())
}

/// The first field of a message with this tag, if it is bytes.
pub(super) fn field(message: &[u8], tag: u32) -> Option<&[u8]> {
    let mut reader = Reader::new(message);
    while let Some((found, wire)) = reader.next().ok()? {
        if found == tag {
            return wire.bytes(tag).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::wire::put_bytes;
    use super::*;

    #[test]
    fn an_object_has_a_name_or_the_beginning_of_one() {
        let object = |fields: &[(u32, &str)]| {
            let (mut metadata, mut object, mut raw) = (Vec::new(), Vec::new(), MAGIC.to_vec());
            fields.iter().for_each(|(tag, value)| put_bytes(&mut metadata, *tag, value.as_bytes()));
            put_bytes(&mut object, 1, &metadata);
            put_bytes(&mut raw, 2, &object);
            raw
        };
        let name = |object: &[u8]| {
            let metadata = MessageMetadata::of_object(object)?;
            metadata.name().or_else(|| metadata.generate_name()).map(str::to_owned)
        };
        assert_eq!(name(&object(&[(1, "web-1"), (2, "web-")])).as_deref(), Some("web-1"));
        assert_eq!(name(&object(&[(1, ""), (2, "web-"), (3, "shop")])).as_deref(), Some("web-"));
        assert_eq!(name(&object(&[(3, "shop")])), None);
        assert_eq!(name(b"{\"metadata\": {}}"), None);
    }

    #[test]
    fn the_options_of_a_deletion_may_require_a_resource_version() {
        let options = |fields: &[(u32, &str)]| {
            let (mut preconditions, mut options, mut raw) = (Vec::new(), Vec::new(), MAGIC.to_vec());
            fields.iter().for_each(|(tag, value)| put_bytes(&mut preconditions, *tag, value.as_bytes()));
            put_bytes(&mut options, 2, &preconditions);
            put_bytes(&mut raw, 2, &options);
            raw
        };
        assert_eq!(required_resource_version(&options(&[(1, "a-uid"), (2, "17")])), Some("17"));
        assert_eq!(required_resource_version(&options(&[(1, "a-uid")])), None);
        assert_eq!(required_resource_version(b"{\"preconditions\": {}}"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = required_resource_version(&bytes);
            let metadata = MessageMetadata::of_object(&bytes);
            let _ = metadata.map(|found| (found.name(), found.generate_name(), found.resource_version()));
            let _ = metadata.map(|found| found.has_annotation("a"));
        }
    }
}
