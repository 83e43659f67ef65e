//! A resource for discovery, storage and the generic verbs.

use std::collections::BTreeSet;

use coracle_meta::{GroupVersion, GroupVersionKind, GroupVersionResource, Scope};

/// A resource in one version of its group.
#[derive(Clone, Debug)]
pub struct ResourceRow {
    /// The kind of its objects.
    pub kind: GroupVersionKind,
    /// The kind of lists of them.
    pub list_kind: String,
    /// The name in URLs.
    pub plural: String,
    /// The singular name.
    pub singular: String,
    /// Short names.
    pub short_names: Vec<String>,
    /// The categories, such as `all`.
    pub categories: Vec<String>,
    /// Whether objects are namespaced.
    pub scope: Scope,
    /// The supported verbs, sorted.
    pub verbs: Vec<String>,
    /// The subresources.
    pub subresources: Vec<SubresourceRow>,
    /// The resource and version in which objects are stored. It is another row if two rows have the same objects
    /// (`events.k8s.io/v1 events` are stored as `v1 events`).
    pub stored_as: GroupVersionResource,
    /// The group and version of `storageVersionHash` in discovery, in which Kubernetes writes objects to etcd.
    pub storage_version: GroupVersion,
    /// The special behaviour of the generic verbs.
    pub traits: BTreeSet<Trait>,
}

/// A subresource.
#[derive(Clone, Debug)]
pub struct SubresourceRow {
    /// The name: `status`.
    pub name: String,
    /// The kind of its bodies.
    pub kind: GroupVersionKind,
    /// The supported verbs, sorted.
    pub verbs: Vec<String>,
    /// Whether discovery prints the group and version of its kind, because they differ from the parent's.
    pub foreign: bool,
}

/// A special behaviour of the generic verbs of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trait {
    /// `metadata.generation` counts changes of the desired state.
    Generation,
    /// A PUT without a resource version overwrites the object. In Kubernetes: `AllowUnconditionalUpdate`.
    UnconditionalUpdate,
    /// A PUT of a missing object creates it. In Kubernetes: `AllowCreateOnUpdate`.
    CreateOnUpdate,
    /// A DELETE returns the object. In Kubernetes: `ReturnDeletedObject`.
    ReturnsDeleted,
    /// A DELETE starts a grace period.
    Graceful,
}

impl ResourceRow {
    /// The resource with its group and version.
    pub fn resource(&self) -> GroupVersionResource {
        GroupVersionResource::new(self.kind.group.clone(), self.kind.version.clone(), self.plural.clone())
    }

    /// Whether the resource has a trait.
    pub fn has(&self, which: Trait) -> bool {
        self.traits.contains(&which)
    }

    /// The subresource with a name.
    pub fn subresource(&self, name: &str) -> Option<&SubresourceRow> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }
}
