use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use coracle_handover::{Decoded, Handed};
use coracle_meta::any_object::downcast;
use coracle_meta::{AnyObject, Object, ObjectType, PartialObject, Verbatim, json};
use coracle_store::Revision;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::message::{Message, MessageSlot};
use crate::readable::is_readable;

/// One object at one revision: its JSON as slices that share the store's buffer, and the parsed object on demand.
///
/// The stored value carries no resource version, so the JSON of the API is `head middle "resourceVersion":"N", tail`:
///
/// ```text
/// {"kind":"Pod","apiVersion":"v1",  "metadata":{   "resourceVersion":"42",   "name":"web",…},"spec":{…}}
/// |------------- head -----------|--- middle --|                           |----------- tail ------------|
/// ```
/// In a list of a built-in kind the items have no kind: `{ middle version tail`. After a line feed, which JSON of
/// this server contains nowhere else, a value may contain an object's [`Verbatim`] as an additional member, which
/// other servers ignore. Cloning is cheap. The parsed object is shared, and lives as long as it is in use.
#[derive(Clone, Debug)]
pub struct Stored {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    value: Bytes,
    layout: Layout,
    /// 0 for an object without a resource version: the response of a dry run of a create.
    revision: Revision,
    /// The length of the object as a protobuf message; 0 while it is unknown.
    message_length: AtomicU32,
    message: MessageSlot,
    parsed: Mutex<Weak<Object>>,
    /// Whether the object is checked, see [`Object::is_checked`]. It is again when it is parsed again.
    is_checked: bool,
    /// The decoded forms for readers in this process.
    decoded: Decoded,
}

impl Inner {
    fn new(value: Bytes, layout: Layout, revision: Revision) -> Self {
        Self {
            value,
            layout,
            revision,
            message_length: AtomicU32::new(0),
            message: MessageSlot::default(),
            parsed: Mutex::default(),
            is_checked: false,
            decoded: Decoded::default(),
        }
    }
}

/// The value in the store cannot be decoded as an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored value cannot be read: {0}")]
pub struct NotStorable(pub String);

impl Stored {
    /// Takes a value in the layout of [`render`]; `None` if it has another layout.
    pub(crate) fn from_own_value(value: &Bytes, revision: Revision) -> Option<Self> {
        let layout = find_layout(value)?;
        if !is_readable(value) {
            return None;
        }
        if layout.has_verbatim {
            drop(json::from_slice::<WithVerbatim>(value).ok()?);
        }
        Some(Self::new(value.clone(), layout, revision))
    }

    /// Takes a value of the store in the layout of [`render`]; any other JSON object is converted to it. For values
    /// that other servers wrote in other formats, use a [`Resource`](crate::Resource).
    pub fn from_value(value: Bytes, revision: Revision) -> Result<Self, NotStorable> {
        if let Some(stored) = Self::from_own_value(&value, revision) {
            return Ok(stored);
        }
        let tree: Value = json::from_slice(&value).map_err(|error| NotStorable(error.to_string()))?;
        let object = Object::from_value(tree).map_err(|error| NotStorable(error.to_string()))?;
        Ok(Self::from_object(&Arc::new(object), revision))
    }

    /// The JSON of an object in the store, with its resource version; `None` if the value is not an object. For
    /// display: a value in the layout of [`render`] is not checked to be valid JSON.
    pub fn json_of(value: Bytes, revision: Revision) -> Option<Vec<u8>> {
        let stored = match find_layout(&value) {
            Some(layout) => Self::new(value, layout, revision),
            None => Self::from_value(value, revision).ok()?,
        };
        Some(stored.to_json())
    }

    /// Lays out an object that was not read from the store. Its own resource version is ignored.
    pub fn from_object(object: &Arc<Object>, revision: Revision) -> Self {
        let value = render(object);
        let layout = find_layout(&value).expect("a rendered object has the layout");
        let version = if revision == 0 { String::new() } else { revision.to_string() };
        let parsed = if object.resource_version() == version { Arc::downgrade(object) } else { Weak::new() };
        let parsed = Mutex::new(parsed);
        let is_checked = object.is_checked();
        Self { inner: Arc::new(Inner { parsed, is_checked, ..Inner::new(value, layout, revision) }) }
    }

    fn new(value: Bytes, layout: Layout, revision: Revision) -> Self {
        Self { inner: Arc::new(Inner::new(value, layout, revision)) }
    }

    /// The revision of the write; for a deleted object, of the deletion. 0 if it was never written.
    pub fn revision(&self) -> Revision {
        self.inner.revision
    }

    /// The value in the store, without a resource version.
    pub fn value(&self) -> &Bytes {
        &self.inner.value
    }

    /// The same content at another revision: the last state of a deleted object.
    #[must_use]
    pub fn at(&self, revision: Revision) -> Self {
        let Inner { value, layout, is_checked, .. } = &*self.inner;
        let inner = Inner { is_checked: *is_checked, ..Inner::new(value.clone(), *layout, revision) };
        Self { inner: Arc::new(inner) }
    }

    /// Whether both are the same instance, and not only equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Sets the parsed object, with its resource version; returns the shared one.
    pub(crate) fn share(&self, object: Arc<Object>) -> Arc<Object> {
        debug_assert_eq!(object.resource_version(), self.inner.revision.to_string());
        let mut parsed = self.inner.parsed.lock();
        if let Some(object) = parsed.upgrade() {
            return object;
        }
        *parsed = Arc::downgrade(&object);
        object
    }

    /// Frees the memory of parsed and decoded forms that are not in use.
    pub(crate) fn release_unused(&self) {
        let mut parsed = self.inner.parsed.lock();
        if parsed.strong_count() == 0 {
            *parsed = Weak::new();
        }
        drop(parsed);
        self.inner.message.release_unused();
        self.inner.decoded.release_unused();
    }

    /// The parsed object, if it is in use.
    pub(crate) fn parsed(&self) -> Option<Arc<Object>> {
        self.inner.parsed.lock().upgrade()
    }

    /// The parsed object, with its resource version.
    pub fn object(&self) -> Arc<Object> {
        let mut parsed = self.inner.parsed.lock();
        if let Some(object) = parsed.upgrade() {
            return object;
        }
        let Inner { value, layout, is_checked, .. } = &*self.inner;
        let mut tree: Map<String, Value> = json::from_slice(value).expect("the value was found to be readable");
        let verbatim = if layout.has_verbatim { tree.remove(VERBATIM) } else { None };
        let mut object = Object::from_tree(tree).expect("metadata was found to be an object");
        if let Some(verbatim) = verbatim {
            object = object.with_verbatim(serde_json::from_value(verbatim).expect("texts were found there"));
        }
        if self.inner.revision != 0 {
            object.set_resource_version(self.inner.revision.to_string());
        }
        let object = Arc::new(if *is_checked { object.checked() } else { object });
        *parsed = Arc::downgrade(&object);
        object
    }

    /// The kind and the `apiVersion`, which need no parsed object; `None` if one of them has escapes.
    pub fn kind_and_version(&self) -> Option<(&str, &str)> {
        let head = str::from_utf8(self.inner.layout.head(&self.inner.value)).ok()?;
        let texts = head.strip_prefix("{\"kind\":\"")?.strip_suffix("\",")?;
        texts.split_once("\",\"apiVersion\":\"").filter(|_| !texts.contains('\\'))
    }

    /// Whether this is a `Status`: the response of some verbs instead of an object.
    pub fn is_status(&self) -> bool {
        self.inner.value.starts_with(b"{\"kind\":\"Status\",")
    }

    /// Only its metadata, without `managedFields`.
    ///
    /// # Errors
    /// If a metadata field has a value of a wrong type.
    pub fn metadata(&self) -> Result<Arc<PartialObject>, serde_json::Error> {
        self.decode(ObjectType::of::<PartialObject>().without_managed_fields()).map(downcast)
    }

    /// The maximum length of the complete JSON in bytes.
    pub fn len(&self) -> usize {
        self.inner.layout.members_end as usize + 43
    }

    /// The length of the object in another format; `measure` is called once, and the result is cached.
    pub fn message_length(&self, measure: impl FnOnce() -> usize) -> usize {
        match self.inner.message_length.load(Ordering::Relaxed) {
            0 => {
                let length = measure();
                self.inner.message_length.store(u32::try_from(length).unwrap_or(0), Ordering::Relaxed);
                length
            }
            length => length as usize,
        }
    }

    /// The object in another encoding, if a cache keeps it.
    pub fn message(&self) -> Option<Arc<Message>> {
        self.inner.message.get()
    }

    /// Sets the object's other encoding, for all readers of this instance while the caller keeps it.
    pub fn share_message(&self, message: &Arc<Message>) {
        let length = u32::try_from(message.bytes().len()).unwrap_or(0);
        self.inner.message_length.store(length, Ordering::Relaxed);
        self.inner.message.set(message);
    }

    /// Whether it is empty: never, since an object has at least its braces.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Appends the complete object.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.inner.layout.head(&self.inner.value));
        self.write_rest(out);
    }

    /// Appends the object as an item of a list: without its kind and version.
    pub fn write_json_item(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        self.write_rest(out);
    }

    fn write_rest(&self, out: &mut Vec<u8>) {
        let Inner { value, layout, .. } = &*self.inner;
        out.extend_from_slice(layout.middle(value));
        self.write_version(out);
        out.extend_from_slice(layout.tail(value));
        out.push(b'}');
    }

    /// The first member of the metadata.
    fn write_version(&self, out: &mut Vec<u8>) {
        let Inner { value, layout, revision, .. } = &*self.inner;
        if *revision != 0 {
            out.extend_from_slice(b"\"resourceVersion\":\"");
            out.extend_from_slice(revision.to_string().as_bytes());
            out.extend_from_slice(if value[layout.middle_end as usize] == b'}' { b"\"" } else { b"\"," });
        }
    }

    /// Appends its metadata as a JSON object.
    pub fn write_metadata(&self, out: &mut Vec<u8>) {
        let Inner { value, layout: Layout { middle_end, members_end, .. }, .. } = &*self.inner;
        let members = &value[*middle_end as usize - 1..*members_end as usize];
        let mut values = serde_json::Deserializer::from_slice(members).into_iter::<serde::de::IgnoredAny>();
        // The value is valid JSON, so its metadata ends.
        let end = values.next().map_or(members.len(), |_| values.byte_offset());
        out.push(b'{');
        self.write_version(out);
        out.extend_from_slice(&members[1..end]);
    }

    /// The complete object as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len());
        self.write_json(&mut out);
        out
    }
}

/// All readers of an object in this process share one `Arc` for each revision.
impl Handed for Stored {
    fn revision(&self) -> i64 {
        Self::revision(self)
    }

    fn decode(&self, form: ObjectType) -> Result<Arc<dyn AnyObject>, serde_json::Error> {
        self.inner.decoded.get_or_read(form, || form.read(&self.to_json(), None))
    }
}

/// The ends of the parts of a value.
#[derive(Clone, Copy, Debug)]
struct Layout {
    head_end: u32,
    middle_end: u32,
    /// Before the closing brace of the object, and before its verbatim texts.
    members_end: u32,
    has_verbatim: bool,
}

impl Layout {
    /// The kind and the version.
    fn head(self, value: &[u8]) -> &[u8] {
        &value[..self.head_end as usize]
    }

    /// From the kind and the version to the beginning of the metadata.
    fn middle(self, value: &[u8]) -> &[u8] {
        &value[self.head_end as usize..self.middle_end as usize]
    }

    /// The metadata from its first member on, and all that follows, without the closing brace of the object.
    fn tail(self, value: &[u8]) -> &[u8] {
        &value[self.middle_end as usize..self.members_end as usize]
    }
}

/// A value with verbatim texts, as far as it is parsed.
#[derive(Deserialize)]
struct WithVerbatim {
    #[serde(rename = "coracle.dev/verbatim")]
    _verbatim: Verbatim,
}

/// The additional member of a value, which is not part of the object.
const VERBATIM: &str = "coracle.dev/verbatim";
const METADATA: &[u8] = b"\"metadata\":{";

/// The prefix of the values of objects with this kind and version.
pub(crate) fn render_head(kind: &str, api_version: &str) -> Vec<u8> {
    let mut out = b"{\"kind\":".to_vec();
    write_value(&Value::from(kind), &mut out);
    out.extend_from_slice(b",\"apiVersion\":");
    write_value(&Value::from(api_version), &mut out);
    out.push(b',');
    out
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("a JSON value can be written to memory");
}

/// The bytes to store: kind, version and metadata first, then the rest, without the resource version.
pub fn render(object: &Object) -> Bytes {
    let mut out = render_head(object.kind(), object.api_version());
    out.extend_from_slice(METADATA);
    let empty = Map::new();
    let metadata = object.field("metadata").and_then(Value::as_object).unwrap_or(&empty);
    write_members(metadata.iter().filter(|(name, _)| *name != "resourceVersion"), false, &mut out);
    out.push(b'}');
    let rest = object.tree().iter().filter(|(name, _)| !matches!(name.as_str(), "kind" | "apiVersion" | "metadata"));
    write_members(rest, true, &mut out);
    if !object.verbatim().is_empty() {
        out.extend_from_slice(format!("\n,\"{VERBATIM}\":").as_bytes());
        serde_json::to_writer(&mut out, object.verbatim()).expect("texts can be written to memory");
    }
    out.push(b'}');
    // A copy of the exact size: an allocator that shrinks in place would keep the larger buffer.
    Bytes::copy_from_slice(&out)
}

fn write_members<'a>(
    members: impl Iterator<Item = (&'a String, &'a Value)>,
    comma_before_first: bool,
    out: &mut Vec<u8>,
) {
    for (index, (name, value)) in members.enumerate() {
        if comma_before_first || index > 0 {
            out.push(b',');
        }
        write_value(&Value::from(name.as_str()), out);
        out.push(b':');
        write_value(value, out);
    }
}

/// The ends of the parts in a value in the layout of [`render`]; `None` for any other bytes.
fn find_layout(value: &[u8]) -> Option<Layout> {
    let rest = value.strip_prefix(b"{\"kind\":")?;
    let kind = text_length(rest)?;
    let rest = rest[kind..].strip_prefix(b",\"apiVersion\":")?;
    let api_version = text_length(rest)?;
    let rest = rest[api_version..].strip_prefix(b",")?;
    let head_end = value.len() - rest.len();
    let inside = rest.strip_prefix(METADATA)?;
    let middle_end = value.len() - inside.len();
    // Kubernetes ends stored JSON with a line feed.
    let members = value.strip_suffix(b"\n").unwrap_or(value).strip_suffix(b"}")?;
    let feed = memchr::memchr(b'\n', members);
    let members_end = feed.unwrap_or(members.len());
    if middle_end >= members_end {
        return None;
    }
    let [head_end, middle_end, members_end] = [head_end, middle_end, members_end].map(u32::try_from);
    let has_verbatim = feed.is_some();
    Some(Layout {
        head_end: head_end.ok()?,
        middle_end: middle_end.ok()?,
        members_end: members_end.ok()?,
        has_verbatim,
    })
}

/// The length of the JSON string at the start of `bytes`.
fn text_length(bytes: &[u8]) -> Option<usize> {
    let inside = bytes.strip_prefix(b"\"")?;
    let mut escaped = false;
    for (index, byte) in inside.iter().enumerate() {
        match (escaped, byte) {
            (true, _) => escaped = false,
            (false, b'\\') => escaped = true,
            (false, b'"') => return Some(index + 2),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object() -> Arc<Object> {
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
            "metadata": {"name": "x", "resourceVersion": "7"}});
        Arc::new(Object::from_value(value).unwrap())
    }

    #[test]
    fn metadata_is_a_slice_with_the_resource_version_before_it() {
        let metadata = |value: Value, revision| {
            let object = Arc::new(Object::from_value(value).unwrap());
            let mut out = Vec::new();
            Stored::from_value(render(&object), revision).unwrap().write_metadata(&mut out);
            String::from_utf8(out).unwrap()
        };
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "}"},
            "metadata": {"name": "x", "annotations": {"a": "\"}"}}});
        assert_eq!(metadata(value, 42), r#"{"resourceVersion":"42","annotations":{"a":"\"}"},"name":"x"}"#);
        let bare = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
        assert_eq!(metadata(bare.clone(), 0), "{}");
        assert_eq!(metadata(bare, 7), r#"{"resourceVersion":"7"}"#);
    }

    #[test]
    fn kind_and_version_are_read_from_the_head_if_they_are_plain() {
        let of = |kind: &str, version: &str| {
            let object = Object::from_value(json!({"apiVersion": version, "kind": kind, "metadata": {}})).unwrap();
            let stored = Stored::from_object(&Arc::new(object), 1);
            stored.kind_and_version().map(|(kind, version)| (kind.to_owned(), version.to_owned()))
        };
        assert_eq!(of("ConfigMap", "v1"), Some(("ConfigMap".to_owned(), "v1".to_owned())));
        assert_eq!(of("", "a/v1"), Some((String::new(), "a/v1".to_owned())));
        assert_eq!((of("a\"b", "v1"), of("a", "v\\1")), (None, None));
    }

    #[test]
    fn the_stored_value_has_no_resource_version_and_every_rendering_has_its_own() {
        let value = render(&object());
        assert!(!String::from_utf8_lossy(&value).contains("resourceVersion"));
        let stored = Stored::from_value(value, 42).unwrap();
        let text = String::from_utf8(stored.to_json()).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"42","name":"x"},"data":{"a":"b"}}"#
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), stored.object().to_value());
        let mut item = Vec::new();
        stored.write_json_item(&mut item);
        assert_eq!(item, br#"{"metadata":{"resourceVersion":"42","name":"x"},"data":{"a":"b"}}"#);
    }

    #[test]
    fn an_object_that_was_never_written_has_no_resource_version() {
        let text = Stored::from_object(&object(), 0).to_json();
        assert!(!String::from_utf8_lossy(&text).contains("resourceVersion"));
    }

    #[test]
    fn a_value_in_another_order_is_reordered_and_any_other_is_refused() {
        let foreign = Bytes::from_static(br#"{"metadata":{},"kind":"K","apiVersion":"v1"}"#);
        let text = Stored::from_value(foreign, 5).unwrap().to_json();
        assert_eq!(text, br#"{"kind":"K","apiVersion":"v1","metadata":{"resourceVersion":"5"}}"#);
        assert!(Stored::from_value(Bytes::from_static(b"k8s\0"), 5).is_err());
        assert!(Stored::from_value(Bytes::from_static(b"[]"), 5).is_err());
        let cut = Bytes::from_static(br#"{"kind":"K","apiVersion":"v1","metadata":{"name":"#);
        assert!(Stored::from_value(cut, 5).is_err());
    }

    #[test]
    fn how_a_foreign_object_was_written_is_stored_and_never_served() {
        let mut verbatim = Verbatim::default();
        verbatim.note("/data", r#"{"a": "b"}"#);
        let object = Object::clone(&object()).with_verbatim(verbatim.clone());
        let stored = Stored::from_value(render(&object), 42).unwrap();
        assert_eq!(stored.object().verbatim(), &verbatim);
        assert_eq!(stored.to_json(), Stored::from_value(render(&self::object()), 42).unwrap().to_json());
        let torn = render(&object).slice(..render(&object).len() - 2);
        assert!(Stored::from_value(torn, 42).is_err());
        let of_everybody: Value = serde_json::from_slice(&render(&object)).unwrap();
        assert_eq!(of_everybody["coracle.dev/verbatim"], json!({"/data": r#"{"a": "b"}"#}));
    }

    #[test]
    fn an_object_that_a_write_has_checked_is_checked_when_it_is_parsed_again() {
        let checked = Arc::new(Object::clone(&object()).checked());
        let stored = Stored::from_object(&checked, 0).at(42);
        assert!(stored.object().is_checked());
        assert_eq!(stored.object().resource_version(), "42");
        assert!(!Stored::from_object(&object(), 0).at(42).object().is_checked());
        assert!(!Stored::from_value(stored.value().clone(), 42).unwrap().object().is_checked());
    }

    #[test]
    fn the_parsed_object_is_shared_while_it_is_referenced() {
        let stored = Stored::from_value(render(&object()), 42).unwrap();
        let first = stored.object();
        assert!(Arc::ptr_eq(&first, &stored.clone().object()));
    }
}
