use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use coracle_store::Revision;

use crate::entry::{Entry, Objects};

/// The decoded objects of a storage, for another storage that reads the same values: the store of the other one is a
/// copy in this process, and shares the memory of its values. What it reads need not be decoded again.
#[derive(Clone, Default)]
pub struct CachedObjects {
    by_directory: Arc<BTreeMap<String, Objects>>,
}

impl std::fmt::Debug for CachedObjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CachedObjects").field("resources", &self.by_directory.len()).finish()
    }
}

impl CachedObjects {
    pub(crate) fn new(objects: impl Iterator<Item = (String, Objects)>) -> Self {
        Self { by_directory: Arc::new(objects.collect()) }
    }

    /// The objects of one resource.
    pub(crate) fn of(&self, directory: &str) -> Objects {
        self.by_directory.get(directory).cloned().unwrap_or_default()
    }
}

/// The entry of a key, if it was decoded from this value, and not only from an equal one.
pub(crate) fn decoded_before(known: &Objects, key: &str, value: &Bytes, revision: Revision) -> Option<Entry> {
    let entry = known.get(key)?;
    let decoded = entry.stored.value();
    let is_same = decoded.as_ptr() == value.as_ptr() && decoded.len() == value.len();
    (is_same && entry.stored.revision() == revision).then(|| entry.clone())
}
