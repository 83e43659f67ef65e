use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::GroupVersionResource;
use coracle_storage::Stored;

use crate::Lists;

/// What a [`Derived`](crate::Derived) value takes from each object of a resource. An object that has not changed is not
/// read again.
pub struct PerObject<P> {
    parts: Arc<[(Stored, Arc<P>)]>,
}

impl<P> PerObject<P> {
    /// The parts of the objects of a resource now; `None` if the previous value was computed from the same objects.
    pub fn changed(&self, lists: &Lists, resource: &GroupVersionResource, read: impl Fn(&Stored) -> P) -> Option<Self> {
        let known: BTreeMap<i64, &(Stored, Arc<P>)> = self.parts.iter().map(|part| (part.0.revision(), part)).collect();
        let part = |stored: &Stored| {
            // Another server may write several objects at one revision.
            let is_same = |known: &&&(Stored, Arc<P>)| known.0.value() == stored.value();
            let read = || Arc::new(read(stored));
            let known = known.get(&stored.revision()).filter(is_same);
            (stored.clone(), known.map_or_else(read, |known| Arc::clone(&known.1)))
        };
        Some(Self { parts: lists.changed_values(resource)?.iter().map(part).collect() })
    }

    /// The parts, in the order of the objects.
    pub fn iter(&self) -> impl Iterator<Item = &P> {
        self.parts.iter().map(|(_, part)| &**part)
    }
}

impl<P> Clone for PerObject<P> {
    fn clone(&self) -> Self {
        Self { parts: Arc::clone(&self.parts) }
    }
}

impl<P> Default for PerObject<P> {
    fn default() -> Self {
        Self { parts: Arc::new([]) }
    }
}

impl<P> std::fmt::Debug for PerObject<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PerObject").field("parts", &self.parts.len()).finish()
    }
}
