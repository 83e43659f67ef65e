use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use coracle_meta::{GroupVersionKind, ObjectMeta, OwnerReference};

/// The finalizer of an owner that waits until its dependents are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner that waits until its dependents are let go.
pub(crate) const ORPHAN: &str = "orphan";

/// How many owners are remembered to be absent.
const ABSENT_REMEMBERED: usize = 500;

/// Which object: where it is, and that it is this one and no other of the name.
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
    fn of(kind: &GroupVersionKind, meta: &ObjectMeta) -> Self {
        Self {
            uid: meta.uid.as_deref().unwrap_or_default().into(),
            api_version: kind.api_version().into(),
            kind: kind.kind.as_str().into(),
            namespace: meta.namespace.as_deref().unwrap_or_default().into(),
            name: meta.name.as_deref().unwrap_or_default().into(),
        }
    }

    /// What a reference says of its owner, if that is in this namespace.
    pub(crate) fn referred(reference: &OwnerReference, namespace: &str) -> Self {
        Self {
            uid: reference.uid.as_str().into(),
            api_version: reference.api_version.as_str().into(),
            kind: reference.kind.as_str().into(),
            namespace: namespace.into(),
            name: reference.name.as_str().into(),
        }
    }

    /// Whether a reference means this object, wherever it is. In Kubernetes: `ownerReferenceMatchesCoordinates`.
    fn is_meant_by(&self, reference: &OwnerReference) -> bool {
        *self.uid == *reference.uid
            && *self.name == *reference.name
            && *self.kind == *reference.kind
            && *self.api_version == *reference.api_version
    }
}

/// Who depends on whom: every object by its uid, and owners that were only heard of.
///
/// An owner that a dependent names before it was seen is *virtual*: somebody has to look whether it exists.
/// What is said of the graph leads to [`Task`]s; nothing here asks the API.
/// Invariant: for each owner reference of a node there is a node of that uid that lists it as a dependent.
///
/// In Kubernetes: `GraphBuilder`.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: BTreeMap<Arc<str>, Node>,
    absent: Absent,
}

#[derive(Clone, Debug)]
struct Node {
    identity: Identity,
    owners: Vec<OwnerReference>,
    dependents: BTreeSet<Arc<str>>,
    /// Waits for its dependents to be deleted.
    deleting_dependents: bool,
    being_deleted: bool,
    is_virtual: bool,
}

/// What has to be looked into.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Task {
    /// Whether this object is to be deleted.
    Delete(Identity),
    /// The same, but not at once: it was looked at under another name just now.
    DeleteLater(Identity),
    /// Its dependents are to be let go.
    Orphan(Identity),
    /// It names an owner in another namespace, which cannot be.
    Report(Identity, OwnerReference),
}

/// A node as it is at the moment, for those who act on it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) identity: Identity,
    pub(crate) owners: Vec<OwnerReference>,
    pub(crate) deleting_dependents: bool,
    pub(crate) being_deleted: bool,
    pub(crate) is_virtual: bool,
    pub(crate) dependents: Vec<Dependent>,
}

/// A dependent of a [`View`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dependent {
    pub(crate) identity: Identity,
    pub(crate) deleting_dependents: bool,
    /// Whether the owner's deletion in the foreground waits for it.
    pub(crate) blocks: bool,
}

impl Graph {
    /// The node of a uid.
    pub(crate) fn view(&self, uid: &str) -> Option<View> {
        let node = self.nodes.get(uid)?;
        let dependents = node.dependents.iter().filter_map(|uid| self.nodes.get(uid));
        let dependents = dependents.map(|dependent| Dependent {
            identity: dependent.identity.clone(),
            deleting_dependents: dependent.deleting_dependents,
            blocks: dependent
                .owners
                .iter()
                .any(|owner| *owner.uid == *node.identity.uid && owner.block_owner_deletion == Some(true)),
        });
        Some(View {
            identity: node.identity.clone(),
            owners: node.owners.clone(),
            deleting_dependents: node.deleting_dependents,
            being_deleted: node.being_deleted,
            is_virtual: node.is_virtual,
            dependents: dependents.collect(),
        })
    }

    /// Whether an owner is known not to exist.
    pub(crate) fn is_absent(&self, owner: &Identity) -> bool {
        self.absent.has(owner)
    }

    /// Remembers that an owner does not exist.
    pub(crate) fn remember_absent(&mut self, owner: Identity) {
        self.absent.add(owner);
    }

    /// An object was seen, as it is and as it was seen before.
    pub(crate) fn observe(
        &mut self,
        kind: &GroupVersionKind,
        old: Option<&ObjectMeta>,
        meta: &ObjectMeta,
    ) -> Vec<Task> {
        let mut tasks = Vec::new();
        let identity = Identity::of(kind, meta);
        let uid = identity.uid.clone();
        if self.nodes.contains_key(&uid) {
            self.replace_virtual(&identity, &mut tasks);
            self.update_owners(&uid, &meta.owner_references, &mut tasks);
            if meta.is_terminating() {
                self.node(&uid).being_deleted = true;
            }
        } else {
            self.nodes.insert(
                uid.clone(),
                Node {
                    identity,
                    owners: meta.owner_references.clone(),
                    dependents: BTreeSet::new(),
                    deleting_dependents: waits_with(meta, FOREGROUND),
                    being_deleted: meta.is_terminating(),
                    is_virtual: false,
                },
            );
            self.add_to_owners(&uid, &meta.owner_references, &mut tasks);
        }
        self.begin_waiting(&uid, old, meta, &mut tasks);
        tasks
    }

    /// An object was seen to be gone.
    pub(crate) fn observe_deletion(&mut self, kind: &GroupVersionKind, meta: &ObjectMeta) -> Vec<Task> {
        let mut tasks = Vec::new();
        let identity = Identity::of(kind, meta);
        if self.nodes.contains_key(&identity.uid) {
            self.replace_virtual(&identity, &mut tasks);
            self.remove(&identity, &mut tasks);
        }
        tasks
    }

    /// Somebody looked for an object and it was not there, though nobody saw it go.
    ///
    /// The same uid may be named with other names, kinds or namespaces: only those who mean what was looked for learn
    /// that it is absent, and another of the names is looked for next.
    /// In Kubernetes: a virtual delete event.
    pub(crate) fn observe_absence(&mut self, absent: &Identity) -> Vec<Task> {
        let mut tasks = Vec::new();
        let Some(node) = self.nodes.get(&absent.uid) else { return tasks };
        let (matching, others) = self.partition(&node.dependents, absent);
        if node.is_virtual && !others.is_empty() {
            let same = node.identity == *absent;
            self.tell_absent(absent, &matching, &mut tasks);
            if same && let Some(alternative) = self.alternative(&others, absent) {
                self.node(&absent.uid).identity = alternative.clone();
                tasks.push(Task::DeleteLater(alternative));
            }
        } else if !node.is_virtual && node.identity != *absent {
            self.tell_absent(absent, &matching, &mut tasks);
        } else {
            self.remove(absent, &mut tasks);
        }
        tasks
    }

    fn node(&mut self, uid: &Arc<str>) -> &mut Node {
        self.nodes.get_mut(uid).expect("the caller found the node")
    }

    fn tell_absent(&mut self, absent: &Identity, dependents: &[Identity], tasks: &mut Vec<Task>) {
        if !dependents.is_empty() {
            self.absent.add(absent.clone());
            tasks.extend(dependents.iter().cloned().map(Task::Delete));
        }
    }

    /// A node that was only heard of has been seen: who named it wrongly has to be looked at again.
    fn replace_virtual(&mut self, seen: &Identity, tasks: &mut Vec<Task>) {
        let node = self.node(&seen.uid);
        if !node.is_virtual {
            return;
        }
        node.is_virtual = false;
        if node.identity == *seen {
            return;
        }
        node.identity = seen.clone();
        let dependents = node.dependents.clone();
        let (_, others) = self.partition(&dependents, seen);
        for other in others {
            if !seen.namespace.is_empty() && other.namespace != seen.namespace {
                self.report(&other.uid, &seen.uid, tasks);
            }
            tasks.push(Task::Delete(other));
        }
    }

    fn update_owners(&mut self, uid: &Arc<str>, owners: &[OwnerReference], tasks: &mut Vec<Task>) {
        let old = std::mem::replace(&mut self.node(uid).owners, owners.to_vec());
        let find = |owners: &[OwnerReference], uid: &str| owners.iter().find(|owner| owner.uid == uid).cloned();
        for before in &old {
            let blocked = before.block_owner_deletion == Some(true);
            let now = find(owners, &before.uid);
            let blocks = now.as_ref().is_some_and(|owner| owner.block_owner_deletion == Some(true));
            if blocked
                && !blocks
                && let Some(owner) = self.nodes.get(before.uid.as_str())
            {
                tasks.push(Task::Delete(owner.identity.clone()));
            }
            if now.is_none() {
                self.remove_from_owner(uid, &before.uid);
            }
        }
        let added: Vec<_> = owners.iter().filter(|owner| find(&old, &owner.uid).is_none()).cloned().collect();
        self.add_to_owners(uid, &added, tasks);
    }

    /// Enters a dependent with its owners; those that nobody has seen become virtual nodes.
    fn add_to_owners(&mut self, uid: &Arc<str>, owners: &[OwnerReference], tasks: &mut Vec<Task>) {
        let dependent = self.node(uid).identity.clone();
        let mut suspicious = false;
        for reference in owners {
            let Some(owner) = self.nodes.get_mut(reference.uid.as_str()) else {
                let identity = Identity::referred(reference, &dependent.namespace);
                tasks.push(Task::Delete(identity.clone()));
                self.nodes.insert(
                    identity.uid.clone(),
                    Node {
                        identity,
                        owners: Vec::new(),
                        dependents: BTreeSet::from([uid.clone()]),
                        deleting_dependents: false,
                        being_deleted: false,
                        is_virtual: true,
                    },
                );
                continue;
            };
            owner.dependents.insert(uid.clone());
            if suspicious {
                continue;
            }
            let elsewhere = owner.identity.namespace != dependent.namespace;
            if elsewhere && !owner.identity.namespace.is_empty() {
                suspicious = true;
                if !owner.is_virtual {
                    tasks.push(Task::Report(dependent.clone(), reference.clone()));
                }
            } else if !owner.identity.is_meant_by(reference) || (elsewhere && owner.is_virtual) {
                suspicious = true;
            }
        }
        if suspicious {
            tasks.push(Task::Delete(dependent));
        }
    }

    fn report(&self, dependent: &Arc<str>, owner: &Arc<str>, tasks: &mut Vec<Task>) {
        let Some(node) = self.nodes.get(dependent) else { return };
        if let Some(reference) = node.owners.iter().find(|reference| *reference.uid == **owner) {
            tasks.push(Task::Report(node.identity.clone(), reference.clone()));
        }
    }

    fn remove_from_owner(&mut self, uid: &Arc<str>, owner: &str) {
        if let Some(owner) = self.nodes.get_mut(owner) {
            owner.dependents.remove(uid);
        }
    }

    fn remove(&mut self, identity: &Identity, tasks: &mut Vec<Task>) {
        let Some(node) = self.nodes.remove(&identity.uid) else { return };
        for owner in &node.owners {
            self.remove_from_owner(&identity.uid, &owner.uid);
        }
        let dependents: Vec<_> = node.dependents.iter().filter_map(|uid| self.nodes.get(uid)).collect();
        let dependents: Vec<_> = dependents.into_iter().map(|dependent| dependent.identity.clone()).collect();
        self.tell_absent(identity, &dependents, tasks);
        for owner in &node.owners {
            if let Some(owner) = self.nodes.get(owner.uid.as_str()).filter(|owner| owner.deleting_dependents) {
                tasks.push(Task::Delete(owner.identity.clone()));
            }
        }
    }

    /// An owner that begins to wait for its dependents brings them up. In Kubernetes: `processTransitions`.
    fn begin_waiting(&mut self, uid: &Arc<str>, old: Option<&ObjectMeta>, meta: &ObjectMeta, tasks: &mut Vec<Task>) {
        let begins = |finalizer| waits_with(meta, finalizer) && !old.is_some_and(|old| waits_with(old, finalizer));
        if begins(ORPHAN) {
            tasks.push(Task::Orphan(self.node(uid).identity.clone()));
        } else if begins(FOREGROUND) {
            let node = self.node(uid);
            node.deleting_dependents = true;
            let (identity, dependents) = (node.identity.clone(), node.dependents.clone());
            let dependents = dependents.iter().filter_map(|uid| self.nodes.get(uid));
            tasks.extend(dependents.map(|dependent| Task::Delete(dependent.identity.clone())));
            tasks.push(Task::Delete(identity));
        }
    }

    /// The dependents that mean this owner, and those that name its uid with other words. In Kubernetes:
    /// `partitionDependents`.
    fn partition(&self, dependents: &BTreeSet<Arc<str>>, owner: &Identity) -> (Vec<Identity>, Vec<Identity>) {
        let (mut matching, mut others) = (Vec::new(), Vec::new());
        for node in dependents.iter().filter_map(|uid| self.nodes.get(uid)) {
            let elsewhere = !owner.namespace.is_empty() && owner.namespace != node.identity.namespace;
            let references = || node.owners.iter().filter(|reference| *reference.uid == *owner.uid);
            if !elsewhere && references().any(|reference| owner.is_meant_by(reference)) {
                matching.push(node.identity.clone());
            }
            if elsewhere || references().any(|reference| !owner.is_meant_by(reference)) {
                others.push(node.identity.clone());
            }
        }
        (matching, others)
    }

    /// Another name under which dependents look for this uid: the next one in order, or else the first. In Kubernetes:
    /// `getAlternateOwnerIdentity`.
    fn alternative(&self, dependents: &[Identity], absent: &Identity) -> Option<Identity> {
        let mut names: Vec<Identity> = Vec::new();
        for dependent in dependents {
            let Some(node) = self.nodes.get(&dependent.uid) else { continue };
            for reference in node.owners.iter().filter(|reference| *reference.uid == *absent.uid) {
                let mut name = Identity::referred(reference, &dependent.namespace);
                let same_kind = name.api_version == absent.api_version && name.kind == absent.kind;
                if absent.namespace.is_empty() && same_kind {
                    name.namespace = "".into();
                }
                if name != *absent {
                    names.push(name);
                }
            }
        }
        let order = |name: &Identity| {
            let Identity { uid, api_version, kind, namespace, name } = name.clone();
            (kind, api_version, namespace, name, uid)
        };
        names.sort_by_key(order);
        names.iter().find(|name| order(name) > order(absent)).or(names.first()).cloned()
    }
}

/// Whether an object is being deleted and waits with this finalizer.
fn waits_with(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.is_terminating() && meta.finalizers.iter().any(|own| own == finalizer)
}

/// Owners that are known not to exist, the latest ones.
#[derive(Debug, Default)]
struct Absent {
    owners: BTreeSet<Identity>,
    order: VecDeque<Identity>,
}

impl Absent {
    fn has(&self, owner: &Identity) -> bool {
        self.owners.contains(owner)
    }

    fn add(&mut self, owner: Identity) {
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

#[cfg(test)]
mod tests;
