use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::Status;

use crate::entry::split_key;
use crate::{NotStorable, Resource, Selection, errors};

/// The values of a resource that are no objects that can be read, by their key below the resource's prefix, and why.
///
/// A list would be wrong without them, so it is refused, as in Kubernetes.
#[derive(Debug, Default)]
pub(crate) struct Unreadable {
    why: BTreeMap<Arc<str>, NotStorable>,
}

impl Unreadable {
    pub(crate) fn insert(&mut self, key: Arc<str>, why: NotStorable) {
        self.why.insert(key, why);
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.why.remove(key);
    }

    /// 500 if one of them would be in the namespace, and of the name, that is asked for: its key, and how many more.
    pub(crate) fn check(&self, resource: &Resource, selection: &Selection) -> Result<(), Status> {
        let mut all = self.why.iter().filter(|(key, _)| {
            let (namespace, name) = split_key(resource, key);
            (selection.namespace.is_empty() || selection.namespace == namespace)
                && (selection.name.is_empty() || selection.name == name)
        });
        let Some((key, why)) = all.next() else { return Ok(()) };
        let mut status = errors::unreadable(format!("{}{key}", resource.prefix()).as_bytes(), why);
        match all.count() {
            0 => {}
            more => status.message.push_str(&format!(" (and {more} more)")),
        }
        Err(status)
    }
}
