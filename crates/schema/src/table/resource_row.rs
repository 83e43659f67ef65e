//! A resource as discovery, storage and the generic verbs know it.

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
    /// The name of one.
    pub singular: String,
    /// Short names for people.
    pub short_names: Vec<String>,
    /// Named sets of resources that it belongs to, such as `all`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// The verbs that it answers, sorted.
    pub verbs: Vec<String>,
    /// What hangs below an object.
    pub subresources: Vec<SubresourceRow>,
    /// The version, and the resource, as which objects are stored: another row where two rows show the same objects
    /// (`events.k8s.io/v1 events` are stored as `v1 events`).
    pub stored_as: GroupVersionResource,
    /// The group and version whose hash discovery prints as `storageVersionHash`: that in which Kubernetes writes
    /// objects to etcd.
    pub storage_version: GroupVersion,
    /// What is special about the generic verbs.
    pub traits: BTreeSet<Trait>,
}

/// A subresource.
#[derive(Clone, Debug)]
pub struct SubresourceRow {
    /// The name after the object's: `status`.
    pub name: String,
    /// The kind that it speaks.
    pub kind: GroupVersionKind,
    /// The verbs that it answers, sorted.
    pub verbs: Vec<String>,
    /// Whether discovery prints the group and version of its kind, because it is not the parent's.
    pub foreign: bool,
}

/// What is special about the generic verbs of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trait {
    /// `metadata.generation` counts changes of the desired state.
    Generation,
    /// A PUT without a resource version overwrites. In Kubernetes: `AllowUnconditionalUpdate`.
    UnconditionalUpdate,
    /// A PUT of an object that is not there creates it. In Kubernetes: `AllowCreateOnUpdate`.
    CreateOnUpdate,
    /// A DELETE answers the object. In Kubernetes: `ReturnDeletedObject`.
    ReturnsDeleted,
    /// A DELETE gives a grace period first.
    Graceful,
}

impl ResourceRow {
    /// The resource with its group and version.
    pub fn resource(&self) -> GroupVersionResource {
        GroupVersionResource::new(self.kind.group.clone(), self.kind.version.clone(), self.plural.clone())
    }

    /// Whether a trait holds.
    pub fn has(&self, which: Trait) -> bool {
        self.traits.contains(&which)
    }

    /// The subresource of a name.
    pub fn subresource(&self, name: &str) -> Option<&SubresourceRow> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }
}
