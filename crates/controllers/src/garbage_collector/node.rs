use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_meta::OwnerReference;

use super::identity::Identity;

/// An object of the graph, or a virtual owner.
#[derive(Debug)]
pub(super) struct GraphNode {
    pub(super) identity: Identity,
    pub(super) owners: Box<[Owner]>,
    /// The uids of its dependents.
    pub(super) dependents: BTreeSet<Arc<str>>,
    /// How dependents name it: the latest form, which nearly all use.
    named: Option<Arc<ReferenceFields>>,
    /// Whether it waits for its dependents to be deleted.
    pub(super) deleting_dependents: bool,
    pub(super) being_deleted: bool,
    pub(super) is_virtual: bool,
}

/// An owner, as a dependent names it.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) named: Arc<ReferenceFields>,
    /// Whether the dependent blocks the owner's foreground deletion.
    pub(super) blocks: bool,
}

/// The fields of an owner reference.
#[derive(Debug)]
pub(super) struct ReferenceFields {
    pub(super) uid: Arc<str>,
    api_version: Arc<str>,
    kind: Arc<str>,
    name: Arc<str>,
}

impl GraphNode {
    pub(super) fn of(identity: Identity) -> Self {
        Self {
            identity,
            owners: Box::default(),
            dependents: BTreeSet::new(),
            named: None,
            deleting_dependents: false,
            being_deleted: false,
            is_virtual: false,
        }
    }

    /// This node as a reference names it; the strings are shared with other dependents that use them.
    pub(super) fn named_by(&mut self, reference: &OwnerReference) -> Owner {
        let named = match &self.named {
            Some(named) if named.says(reference) => named.clone(),
            _ => {
                let named = Arc::new(ReferenceFields::of(reference, &self.identity));
                self.named = Some(named.clone());
                named
            }
        };
        Owner { named, blocks: reference.block_owner_deletion == Some(true) }
    }

    /// The owner references of this node with a uid.
    pub(super) fn names(&self, uid: &str) -> impl Iterator<Item = &Owner> {
        self.owners.iter().filter(move |owner| *owner.named.uid == *uid)
    }

    /// Whether this node blocks the foreground deletion of that owner.
    pub(super) fn blocks(&self, uid: &str) -> bool {
        self.names(uid).any(|owner| owner.blocks)
    }

    fn is_elsewhere(&self, owner: &Identity) -> bool {
        !owner.namespace.is_empty() && owner.namespace != self.identity.namespace
    }

    /// Whether this dependent names exactly that owner. In Kubernetes: `partitionDependents`.
    pub(super) fn means(&self, owner: &Identity) -> bool {
        !self.is_elsewhere(owner) && self.names(&owner.uid).any(|named| named.is(owner))
    }

    /// Whether this dependent names the owner's uid with other fields, or from another namespace.
    pub(super) fn means_another(&self, owner: &Identity) -> bool {
        self.is_elsewhere(owner) || self.names(&owner.uid).any(|named| !named.is(owner))
    }
}

impl Owner {
    /// An owner without a node.
    pub(super) fn of(reference: &OwnerReference) -> Self {
        GraphNode::of(Identity::referred(reference, "")).named_by(reference)
    }

    /// Whether it names this object, in any namespace. In Kubernetes: `ownerReferenceMatchesCoordinates`.
    pub(super) fn is(&self, identity: &Identity) -> bool {
        let ReferenceFields { uid, api_version, kind, name } = &*self.named;
        (uid, name, kind, api_version) == (&identity.uid, &identity.name, &identity.kind, &identity.api_version)
    }

    /// The owner's identity, if it is in this namespace.
    pub(super) fn within(&self, namespace: &Arc<str>) -> Identity {
        let ReferenceFields { uid, api_version, kind, name } = &*self.named;
        Identity {
            uid: uid.clone(),
            api_version: api_version.clone(),
            kind: kind.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        }
    }
}

impl ReferenceFields {
    fn of(reference: &OwnerReference, owner: &Identity) -> Self {
        let word = |said: &str, known: &Arc<str>| if **known == *said { known.clone() } else { said.into() };
        Self {
            uid: word(&reference.uid, &owner.uid),
            api_version: word(&reference.api_version, &owner.api_version),
            kind: word(&reference.kind, &owner.kind),
            name: word(&reference.name, &owner.name),
        }
    }

    fn says(&self, reference: &OwnerReference) -> bool {
        *self.uid == *reference.uid
            && *self.name == *reference.name
            && *self.kind == *reference.kind
            && *self.api_version == *reference.api_version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_the_graph_uses_little_memory() {
        assert!(size_of::<GraphNode>() <= 144, "{} bytes", size_of::<GraphNode>());
    }
}
