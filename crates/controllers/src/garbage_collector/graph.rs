use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use coracle_meta::{GroupVersionKind, ObjectMeta, OwnerReference};

use super::identity::{Absent, Identity, Words};
use super::node::{GraphNode, Owner};

/// The finalizer of an owner that waits until its dependents are deleted.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner that waits until its dependents are orphaned.
pub(crate) const ORPHAN: &str = "orphan";

/// The ownership graph: every object by its uid, and owners that only references name.
///
/// An owner that a dependent names before an informer has seen it is *virtual*: a worker must check whether it
/// exists. Changes of the graph lead to [`Task`]s; this type makes no API calls. Invariant: for each owner reference
/// of a node there is a node of that uid that lists it as a dependent.
///
/// There is a node for each object of a cluster, so strings that many of them share are kept once. In Kubernetes:
/// `GraphBuilder`.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: BTreeMap<Arc<str>, Box<GraphNode>>,
    words: Words,
    absent: Absent,
}

/// An object to examine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Task {
    /// Whether this object must be deleted.
    Delete(Identity),
    /// The same, but delayed: it was just looked up under another name.
    DeleteLater(Identity),
    /// Its dependents must be orphaned.
    Orphan(Identity),
    /// It names an owner in another namespace, which is invalid.
    Report(Identity, Identity),
}

/// A snapshot of a node, for the workers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeSnapshot {
    pub(crate) identity: Identity,
    pub(crate) deleting_dependents: bool,
    pub(crate) being_deleted: bool,
    pub(crate) is_virtual: bool,
}

impl Graph {
    /// The node of a uid.
    pub(crate) fn view(&self, uid: &str) -> Option<NodeSnapshot> {
        let node = self.nodes.get(uid)?;
        Some(NodeSnapshot {
            identity: node.identity.clone(),
            deleting_dependents: node.deleting_dependents,
            being_deleted: node.being_deleted,
            is_virtual: node.is_virtual,
        })
    }

    /// Whether the node of a uid is virtual.
    pub(crate) fn is_virtual(&self, uid: &str) -> bool {
        self.nodes.get(uid).is_some_and(|node| node.is_virtual)
    }

    fn dependents(&self, uid: &str) -> impl Iterator<Item = &GraphNode> {
        let dependents = self.nodes.get(uid).into_iter().flat_map(|node| &node.dependents);
        dependents.filter_map(|uid| self.nodes.get(uid).map(Box::as_ref))
    }

    /// Whether an object has dependents.
    pub(crate) fn has_dependents(&self, uid: &str) -> bool {
        self.dependents(uid).next().is_some()
    }

    /// Whether a dependent of an object waits for its own dependents.
    pub(crate) fn has_waiting_dependents(&self, uid: &str) -> bool {
        self.dependents(uid).any(|dependent| dependent.deleting_dependents)
    }

    /// Whether the foreground deletion of an owner is blocked.
    pub(crate) fn is_blocked(&self, uid: &str) -> bool {
        self.dependents(uid).any(|dependent| dependent.blocks(uid))
    }

    /// Some of the dependents that block an owner and do not wait themselves.
    pub(crate) fn blocking(&self, uid: &str, count: usize) -> Vec<Identity> {
        let blocking = self.dependents(uid).filter(|node| node.blocks(uid) && !node.deleting_dependents);
        blocking.take(count).map(|node| node.identity.clone()).collect()
    }

    /// Some of the dependents of an object, starting after a uid.
    pub(crate) fn dependents_after(&self, uid: &str, after: Option<&str>, count: usize) -> Vec<Identity> {
        let Some(node) = self.nodes.get(uid) else { return Vec::new() };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let dependents = node.dependents.range::<str, _>((from, Bound::Unbounded));
        let nodes = dependents.filter_map(|uid| self.nodes.get(uid));
        nodes.take(count).map(|node| node.identity.clone()).collect()
    }

    /// Whether an owner is known not to exist.
    pub(crate) fn is_absent(&self, owner: &Identity) -> bool {
        self.absent.has(owner)
    }

    /// Records that an owner does not exist.
    pub(crate) fn remember_absent(&mut self, owner: Identity) {
        self.absent.add(owner);
    }

    /// An informer delivered an object, in its new and its old version.
    pub(crate) fn observe(
        &mut self,
        kind: &GroupVersionKind,
        old: Option<&ObjectMeta>,
        meta: &ObjectMeta,
    ) -> Vec<Task> {
        let mut tasks = Vec::new();
        // Most changes do not affect ownership.
        if old.is_some_and(|old| is_same(old, meta)) {
            return tasks;
        }
        let identity = self.words.shared(Identity::of(kind, meta));
        let uid = identity.uid.clone();
        if self.nodes.contains_key(&uid) {
            self.replace_virtual(&identity, &mut tasks);
            self.update_owners(&uid, &meta.owner_references, &mut tasks);
            if meta.is_terminating() {
                self.node(&uid).being_deleted = true;
            }
        } else {
            let mut node = GraphNode::of(identity);
            node.deleting_dependents = waits_with(meta, FOREGROUND);
            node.being_deleted = meta.is_terminating();
            self.nodes.insert(uid.clone(), Box::new(node));
            self.node(&uid).owners = self.add_to_owners(&uid, &meta.owner_references, &mut tasks);
        }
        self.begin_waiting(&uid, old, meta, &mut tasks);
        tasks
    }

    /// An informer delivered a deletion.
    pub(crate) fn observe_deletion(&mut self, kind: &GroupVersionKind, meta: &ObjectMeta) -> Vec<Task> {
        let mut tasks = Vec::new();
        if self.nodes.contains_key(meta.uid.as_deref().unwrap_or_default()) {
            let identity = self.words.shared(Identity::of(kind, meta));
            self.replace_virtual(&identity, &mut tasks);
            self.remove(&identity, &mut tasks);
        }
        tasks
    }

    /// A live lookup did not find an object, and no informer reported its deletion.
    ///
    /// References may name the same uid with other names, kinds or namespaces. Only dependents that name exactly this
    /// owner are queued; then another of the names is looked up. In Kubernetes: a virtual delete event.
    pub(crate) fn observe_absence(&mut self, absent: &Identity) -> Vec<Task> {
        let mut tasks = Vec::new();
        let Some(node) = self.nodes.get(&absent.uid) else { return tasks };
        let same = node.identity == *absent;
        if !node.is_virtual {
            if same {
                self.remove(absent, &mut tasks);
            } else {
                self.tell_absent(absent, &mut tasks);
            }
        } else if self.dependents(&absent.uid).any(|dependent| dependent.means_another(absent)) {
            self.tell_absent(absent, &mut tasks);
            if same && let Some(alternative) = self.alternative(absent) {
                self.node(&absent.uid).identity = alternative.clone();
                tasks.push(Task::DeleteLater(alternative));
            }
        } else {
            self.remove(absent, &mut tasks);
        }
        tasks
    }

    fn node(&mut self, uid: &str) -> &mut GraphNode {
        self.nodes.get_mut(uid).expect("the caller found the node")
    }

    /// Queues the dependents that name exactly this owner.
    fn tell_absent(&mut self, absent: &Identity, tasks: &mut Vec<Task>) {
        let before = tasks.len();
        let concerned = self.dependents(&absent.uid).filter(|dependent| dependent.means(absent));
        tasks.extend(concerned.map(|dependent| Task::Delete(dependent.identity.clone())));
        if tasks.len() > before {
            self.absent.add(absent.clone());
        }
    }

    /// An informer has seen a virtual node: dependents that named it wrongly are queued again.
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
        for other in self.dependents(&seen.uid).filter(|dependent| dependent.means_another(seen)) {
            if !seen.namespace.is_empty() && other.identity.namespace != seen.namespace {
                tasks.extend(other.names(&seen.uid).next().map(|owner| report(&other.identity, owner)));
            }
            tasks.push(Task::Delete(other.identity.clone()));
        }
    }

    fn update_owners(&mut self, uid: &Arc<str>, references: &[OwnerReference], tasks: &mut Vec<Task>) {
        let old = std::mem::take(&mut self.node(uid).owners);
        for before in &old {
            let now = references.iter().find(|owner| owner.uid == *before.named.uid);
            if before.blocks
                && now.is_none_or(|owner| owner.block_owner_deletion != Some(true))
                && let Some(owner) = self.nodes.get(&before.named.uid)
            {
                tasks.push(Task::Delete(owner.identity.clone()));
            }
            if now.is_none() {
                self.remove_from_owner(uid, &before.named.uid);
            }
        }
        let is_new = |owner: &&OwnerReference| !old.iter().any(|before| *before.named.uid == *owner.uid);
        let added: Vec<_> = references.iter().filter(is_new).cloned().collect();
        self.add_to_owners(uid, &added, tasks);
        let owners = references.iter().map(|reference| match self.nodes.get_mut(reference.uid.as_str()) {
            Some(owner) => owner.named_by(reference),
            // It is gone, and this dependent is queued already.
            None => Owner::of(reference),
        });
        let owners = owners.collect();
        self.node(uid).owners = owners;
    }

    /// Enters a dependent with its owners; owners that no informer has seen become virtual nodes.
    fn add_to_owners(&mut self, uid: &Arc<str>, references: &[OwnerReference], tasks: &mut Vec<Task>) -> Box<[Owner]> {
        let dependent = self.node(uid).identity.clone();
        let (mut owners, mut suspicious) = (Vec::with_capacity(references.len()), false);
        for reference in references {
            let Some(owner) = self.nodes.get_mut(reference.uid.as_str()) else {
                let identity = self.words.shared(Identity::referred(reference, &dependent.namespace));
                tasks.push(Task::Delete(identity.clone()));
                let mut node = GraphNode::of(identity.clone());
                node.is_virtual = true;
                node.dependents.insert(uid.clone());
                owners.push(node.named_by(reference));
                self.nodes.insert(identity.uid, Box::new(node));
                continue;
            };
            owner.dependents.insert(uid.clone());
            let named = owner.named_by(reference);
            if !suspicious {
                let elsewhere = owner.identity.namespace != dependent.namespace;
                if elsewhere && !owner.identity.namespace.is_empty() {
                    suspicious = true;
                    if !owner.is_virtual {
                        tasks.push(report(&dependent, &named));
                    }
                } else if !named.is(&owner.identity) || (elsewhere && owner.is_virtual) {
                    suspicious = true;
                }
            }
            owners.push(named);
        }
        if suspicious {
            tasks.push(Task::Delete(dependent));
        }
        owners.into()
    }

    fn remove_from_owner(&mut self, uid: &str, owner: &str) {
        if let Some(owner) = self.nodes.get_mut(owner) {
            owner.dependents.remove(uid);
        }
    }

    fn remove(&mut self, identity: &Identity, tasks: &mut Vec<Task>) {
        let Some(node) = self.nodes.remove(&identity.uid) else { return };
        for owner in &node.owners {
            self.remove_from_owner(&identity.uid, &owner.named.uid);
        }
        let before = tasks.len();
        let dependents = node.dependents.iter().filter_map(|uid| self.nodes.get(uid));
        tasks.extend(dependents.map(|dependent| Task::Delete(dependent.identity.clone())));
        if tasks.len() > before {
            self.absent.add(identity.clone());
        }
        for owner in &node.owners {
            if let Some(owner) = self.nodes.get(&owner.named.uid).filter(|owner| owner.deleting_dependents) {
                tasks.push(Task::Delete(owner.identity.clone()));
            }
        }
    }

    /// Queues the dependents of an owner that starts to wait for them. In Kubernetes: `processTransitions`.
    fn begin_waiting(&mut self, uid: &str, old: Option<&ObjectMeta>, meta: &ObjectMeta, tasks: &mut Vec<Task>) {
        let begins = |finalizer| waits_with(meta, finalizer) && !old.is_some_and(|old| waits_with(old, finalizer));
        if begins(ORPHAN) {
            tasks.push(Task::Orphan(self.node(uid).identity.clone()));
        } else if begins(FOREGROUND) {
            self.node(uid).deleting_dependents = true;
            tasks.extend(self.dependents(uid).map(|dependent| Task::Delete(dependent.identity.clone())));
            tasks.push(Task::Delete(self.node(uid).identity.clone()));
        }
    }

    /// Another name under which dependents refer to this uid: the next one in order, or else the first. In
    /// Kubernetes: `getAlternateOwnerIdentity`.
    fn alternative(&self, absent: &Identity) -> Option<Identity> {
        let mut names = BTreeSet::new();
        for dependent in self.dependents(&absent.uid).filter(|dependent| dependent.means_another(absent)) {
            for owner in dependent.names(&absent.uid) {
                let mut name = owner.within(&dependent.identity.namespace);
                let same_kind = name.api_version == absent.api_version && name.kind == absent.kind;
                if absent.namespace.is_empty() && same_kind {
                    name.namespace = "".into();
                }
                if name != *absent {
                    names.insert((name.kind.clone(), name.api_version.clone(), name.namespace.clone(), name));
                }
            }
        }
        let order = (absent.kind.clone(), absent.api_version.clone(), absent.namespace.clone(), absent.clone());
        let next = names.range((Bound::Excluded(order), Bound::Unbounded)).next();
        next.or_else(|| names.first()).map(|(.., name)| name.clone())
    }
}

fn report(dependent: &Identity, owner: &Owner) -> Task {
    Task::Report(dependent.clone(), owner.within(&dependent.namespace))
}

/// Whether nothing changed that affects ownership.
fn is_same(old: &ObjectMeta, meta: &ObjectMeta) -> bool {
    old.uid == meta.uid
        && old.owner_references == meta.owner_references
        && old.is_terminating() == meta.is_terminating()
        && old.finalizers == meta.finalizers
}

/// Whether an object is being deleted and waits with this finalizer.
fn waits_with(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.is_terminating() && meta.finalizers.iter().any(|own| own == finalizer)
}

#[cfg(test)]
mod tests;
