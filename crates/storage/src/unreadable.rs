use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::Status;

use crate::entry::split_key;
use crate::{NotStorable, Resource, Selection, errors};

/// The values of a resource that cannot be decoded, by their key below the resource's prefix, with the reasons.
///
/// A list without them would be wrong, so it fails, as in Kubernetes.
#[derive(Debug, Default)]
pub(crate) struct Unreadable {
    why: BTreeMap<Arc<str>, NotStorable>,
}

impl Unreadable {
    pub(crate) fn insert(&mut self, key: Arc<str>, why: NotStorable) {
        self.why.insert(key, why);
    }

    /// Whether it was one of them.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        self.why.remove(key).is_some()
    }

    /// Their keys in the store.
    pub(crate) fn keys(&self, resource: &Resource) -> Vec<String> {
        self.why.keys().map(|key| format!("{}{key}", resource.prefix())).collect()
    }

    /// Their keys in the store, with the reasons.
    pub(crate) fn all(&self, resource: &Resource) -> Vec<(String, NotStorable)> {
        self.why.iter().map(|(key, why)| (format!("{}{key}", resource.prefix()), why.clone())).collect()
    }

    /// 500 if this key is one of them.
    pub(crate) fn check_key(&self, resource: &Resource, key: &str) -> Result<(), Status> {
        match self.why.get(key) {
            Some(why) => Err(errors::unreadable(format!("{}{key}", resource.prefix()).as_bytes(), why)),
            None => Ok(()),
        }
    }

    /// 500 if one of them could be in the requested namespace and have the requested name: its key, and the number of
    /// others.
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
