use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use coracle_store::Revision;

use crate::Resource;
use crate::entry::{Entry, Objects};

/// The decoded objects of a storage, for another storage whose store has the same values. Both stores are in this
/// process and share the memory of their values. Keeps these values in memory.
#[derive(Clone, Default)]
pub struct DecodedObjects {
    by_directory: Arc<BTreeMap<String, DecodedResource>>,
}

/// The decoded objects of one resource.
#[derive(Clone, Default)]
pub(crate) struct DecodedResource {
    /// The fields that the entries have for selectors.
    selectable: Vec<String>,
    objects: Objects,
}

impl std::fmt::Debug for DecodedObjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DecodedObjects").field("resources", &self.by_directory.len()).finish()
    }
}

impl DecodedObjects {
    pub(crate) fn new(resources: impl Iterator<Item = (String, DecodedResource)>) -> Self {
        Self { by_directory: Arc::new(resources.collect()) }
    }

    /// The resources by their directory.
    pub(crate) fn resources(&self) -> BTreeMap<String, DecodedResource> {
        BTreeMap::clone(&self.by_directory)
    }
}

impl DecodedResource {
    pub(crate) fn new(resource: &Resource, objects: Objects) -> Self {
        Self { selectable: resource.selectable.clone(), objects }
    }

    /// The objects, if they have the fields for selectors that `resource` has.
    pub(crate) fn objects_for(self, resource: &Resource) -> Objects {
        if self.selectable == resource.selectable { self.objects } else { Objects::new() }
    }
}

/// The entry of a key, if it was decoded from this value in this memory, and not only from an equal one.
pub(crate) fn decoded_before(decoded: &Objects, key: &str, value: &Bytes, revision: Revision) -> Option<Entry> {
    let entry = decoded.get(key)?;
    let own = entry.stored.value();
    let is_same = own.as_ptr() == value.as_ptr() && own.len() == value.len();
    (is_same && entry.stored.revision() == revision).then(|| entry.clone())
}
