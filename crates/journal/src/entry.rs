use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Stage;

/// The number of an entry in its log; later entries have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntryId(pub u64);

/// An event: one line of an events file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The entry's number.
    #[serde(rename = "i")]
    pub id: EntryId,
    /// The time, since the log began, on the cluster's own clock.
    #[serde(rename = "t", with = "nanos")]
    pub at: Duration,
    /// The actor: `apiserver`, `store`, `controller-manager/replicaset`, `kubelet/node-1`.
    #[serde(rename = "a")]
    pub actor: String,
    /// The stage of the path from a write to the next write.
    #[serde(rename = "s")]
    pub stage: Stage,
    /// The subject: `pods/default/web-1` for an object, `default/web` for a key of a queue; may be empty.
    #[serde(rename = "k", default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// The earlier entries that caused this one.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<EntryId>,
    /// The revision of the store that the entry is about.
    #[serde(rename = "rv", default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// The fields of the stage; see [`Stage`].
    #[serde(rename = "d", default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
}

/// An entry without its number and its time, as the recording component creates it.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    pub(crate) subject: String,
    pub(crate) causes: Vec<EntryId>,
    pub(crate) revision: Option<i64>,
    /// Each field once.
    pub(crate) data: Vec<(&'static str, FieldValue)>,
}

/// The value of a field.
#[derive(Clone, Debug)]
pub(crate) enum FieldValue {
    Value(Value),
    /// Serialized JSON: a map or a list, for which no tree is built.
    Json(String),
}

impl Detail {
    /// A detail about `subject`.
    pub fn about(subject: impl Into<String>) -> Self {
        Self { subject: subject.into(), ..Self::default() }
    }

    /// Sets the revision of the store.
    #[must_use]
    pub fn at(mut self, revision: i64) -> Self {
        self.revision = Some(revision);
        self
    }

    /// Adds earlier entries as causes.
    #[must_use]
    pub fn caused_by(mut self, causes: impl IntoIterator<Item = EntryId>) -> Self {
        self.causes.extend(causes);
        self
    }

    /// Adds a field.
    #[must_use]
    pub fn with(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.with_word(name, FieldValue::Value(value.into()))
    }

    /// Adds a field with a map or a list, which is serialized immediately.
    #[must_use]
    pub fn with_json(self, name: &'static str, value: &impl Serialize) -> Self {
        self.with_raw_json(name, serde_json::to_string(value).expect("an entry of the log can be written"))
    }

    /// Adds a field with a value that is JSON already.
    #[must_use]
    pub fn with_raw_json(self, name: &'static str, json: String) -> Self {
        debug_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok(), "{name} is no JSON: {json}");
        self.with_word(name, FieldValue::Json(json))
    }

    /// Sorts the causes and removes duplicates, and sorts the fields like the names of a JSON map.
    pub(crate) fn in_order(mut self) -> Self {
        self.causes.sort_unstable();
        self.causes.dedup();
        self.data.sort_unstable_by_key(|(name, _)| *name);
        self
    }

    fn with_word(mut self, name: &'static str, said: FieldValue) -> Self {
        self.data.retain(|(known, _)| *known != name);
        self.data.push((name, said));
        self
    }
}

mod nanos {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(at: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}
