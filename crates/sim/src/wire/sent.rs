use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::{GroupResource, ObjectKey, parse_resource_version};
use parking_lot::Mutex;
use serde::Deserialize;

use super::asked::Asked;

/// What each instance of each requester was last sent of each object: by events, reads, and the answers to its own
/// writes. A list removes nothing.
#[derive(Debug, Default)]
pub(super) struct SentObjects(Mutex<BTreeMap<Reader, BTreeMap<Place, LastSent>>>);

/// The name of a requester, and the number of its instance.
type Reader = (Arc<str>, u64);
type Place = (GroupResource, ObjectKey);

/// What was last sent of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastSent {
    /// The uid.
    pub uid: String,
    /// The revision; of a deleted object, of its deletion, if it was sent.
    pub revision: i64,
    /// Whether it was sent that the object is deleted.
    pub is_deleted: bool,
}

/// The metadata of an object in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SentMeta {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
}

/// An object, a list or a Status in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SentAnswer {
    kind: String,
    metadata: SentMeta,
    items: Vec<SentItem>,
}

#[derive(Debug, Deserialize)]
struct SentItem {
    metadata: SentMeta,
}

/// A line of a watch in JSON.
#[derive(Debug, Deserialize)]
pub(super) struct SentLine {
    #[serde(rename = "type")]
    event_type: String,
    object: SentItem,
}

impl SentObjects {
    /// What an instance was last sent of an object.
    pub(super) fn last(
        &self,
        name: &str,
        instance: u64,
        resource: &GroupResource,
        key: &ObjectKey,
    ) -> Option<LastSent> {
        let readers = self.0.lock();
        let reader = readers.get(&(Arc::from(name), instance))?;
        reader.get(&(resource.clone(), key.clone())).cloned()
    }

    /// What an instance was last sent of each object.
    pub(super) fn all(&self, name: &str, instance: u64) -> BTreeMap<Place, LastSent> {
        self.0.lock().get(&(Arc::from(name), instance)).cloned().unwrap_or_default()
    }

    /// Notes an object that was sent.
    pub(super) fn note(&self, asked: &Asked, key: ObjectKey, sent: LastSent) {
        let Some(at) = &asked.at else { return };
        let place = (GroupResource::new(&at.resource.group, &at.resource.resource), key);
        let reader = (Arc::clone(&asked.requester.name), asked.requester.instance.number());
        self.0.lock().entry(reader).or_default().insert(place, sent);
    }

    fn note_meta(&self, asked: &Asked, meta: SentMeta, is_deleted: bool) {
        let Some(revision) = parse_resource_version(&meta.resource_version) else { return };
        let key = ObjectKey { namespace: meta.namespace, name: meta.name };
        self.note(asked, key, LastSent { uid: meta.uid, revision, is_deleted });
    }

    /// Notes a line of a watch in JSON.
    pub(super) fn note_line(&self, asked: &Asked, line: &[u8]) {
        let Ok(SentLine { event_type, object }) = serde_json::from_slice(line) else { return };
        if matches!(event_type.as_str(), "ADDED" | "MODIFIED" | "DELETED") {
            self.note_meta(asked, object.metadata, event_type == "DELETED");
        }
    }

    /// Notes a complete answer in JSON: an object, a list, or the Status of a deletion.
    pub(super) fn note_answer(&self, asked: &Asked, answer: &[u8]) {
        let Some(at) = &asked.at else { return };
        let Ok(SentAnswer { kind, metadata, items }) = serde_json::from_slice(answer) else { return };
        match (asked.verb.as_str(), kind.as_str()) {
            // In Kubernetes: the answer to a deletion that took effect at once.
            ("delete", "Status") => self.note_deleted(asked, ObjectKey::new(&at.namespace, &at.name)),
            (_, "Status") => {}
            ("list", _) => items.into_iter().for_each(|item| self.note_meta(asked, item.metadata, false)),
            _ => self.note_meta(asked, metadata, false),
        }
    }

    fn note_deleted(&self, asked: &Asked, key: ObjectKey) {
        let Some(at) = &asked.at else { return };
        let resource = GroupResource::new(&at.resource.group, &at.resource.resource);
        let requester = &asked.requester;
        let before = self.last(&requester.name, requester.instance.number(), &resource, &key);
        if let Some(before) = before {
            self.note(asked, key, LastSent { is_deleted: true, ..before });
        }
    }
}
