use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use coracle_meta::{GroupVersionKind, ObjectMeta, OwnerReference};

/// How many absent owners are remembered.
const ABSENT_REMEMBERED: usize = 500;

/// An object's identity: where it is, and its uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) uid: Arc<str>,
    pub(crate) api_version: Arc<str>,
    pub(crate) kind: Arc<str>,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name, .. } = self;
        if namespace.is_empty() { write!(f, "{kind}/{name}") } else { write!(f, "{kind}/{namespace}/{name}") }
    }
}

impl Identity {
    /// The identity of an object of this kind.
    pub(super) fn of(kind: &GroupVersionKind, meta: &ObjectMeta) -> Self {
        Self {
            uid: meta.uid.as_deref().unwrap_or_default().into(),
            api_version: kind.api_version().into(),
            kind: kind.kind.as_str().into(),
            namespace: meta.namespace.as_deref().unwrap_or_default().into(),
            name: meta.name.as_deref().unwrap_or_default().into(),
        }
    }

    /// The identity that a reference names, if the owner is in this namespace.
    pub(super) fn referred(reference: &OwnerReference, namespace: &str) -> Self {
        Self {
            uid: reference.uid.as_str().into(),
            api_version: reference.api_version.as_str().into(),
            kind: reference.kind.as_str().into(),
            namespace: namespace.into(),
            name: reference.name.as_str().into(),
        }
    }
}

/// Strings that many objects share, each kept once.
#[derive(Debug, Default)]
pub(super) struct Words {
    known: BTreeSet<Arc<str>>,
}

impl Words {
    /// The same string, shared with all its other users.
    fn share(&mut self, word: &mut Arc<str>) {
        match self.known.get(&**word) {
            Some(known) => word.clone_from(known),
            None => drop(self.known.insert(word.clone())),
        }
    }

    /// The same identity, with shared strings except for the name.
    pub(super) fn shared(&mut self, mut identity: Identity) -> Identity {
        self.share(&mut identity.api_version);
        self.share(&mut identity.kind);
        self.share(&mut identity.namespace);
        identity
    }
}

/// The most recent owners that do not exist.
#[derive(Debug, Default)]
pub(super) struct Absent {
    owners: BTreeSet<Identity>,
    order: VecDeque<Identity>,
}

impl Absent {
    pub(super) fn has(&self, owner: &Identity) -> bool {
        self.owners.contains(owner)
    }

    pub(super) fn add(&mut self, owner: Identity) {
        if self.owners.insert(owner.clone()) {
            self.order.push_back(owner);
        }
        if self.order.len() > ABSENT_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.owners.remove(&oldest);
        }
    }
}
