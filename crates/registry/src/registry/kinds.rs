use std::sync::Arc;

use coracle_meta::{GroupVersion, GroupVersionKind, GroupVersionResource};
use indexmap::IndexMap;

use super::kind::Kind;
use super::offers::Rank;

/// An `apiVersion` and the kind in this version.
pub(crate) type ServedVersion = (String, Arc<Kind>);

fn is_built_in(kind: &Kind) -> bool {
    matches!(kind.offers().rank, Rank::At(_))
}

/// A snapshot of the kinds.
#[derive(Clone, Default)]
pub struct Kinds {
    /// Counts changes of the set, from 1.
    pub version: u64,
    /// In the order of registration: built-in kinds in the order of discovery, then custom kinds.
    by_resource: IndexMap<GroupVersionResource, Arc<Kind>>,
    by_kind: IndexMap<GroupVersionKind, Arc<Kind>>,
    /// By stored resource: the kinds in which the objects are served, with their `apiVersion`s.
    versions: IndexMap<GroupVersionResource, Arc<[ServedVersion]>>,
}

impl Kinds {
    /// The kind behind a resource.
    pub fn resource(&self, resource: &GroupVersionResource) -> Option<&Arc<Kind>> {
        self.by_resource.get(resource)
    }

    /// The kind by its own name.
    pub fn kind(&self, kind: &GroupVersionKind) -> Option<&Arc<Kind>> {
        self.by_kind.get(kind)
    }

    /// All kinds, in the order of registration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.by_resource.values()
    }

    /// Whether this API server serves a group and version, with built-in or custom kinds.
    pub fn serves(&self, version: &GroupVersion) -> bool {
        self.of(version).next().is_some()
    }

    /// Whether kinds of a group and version are built in, so that no extension API server can replace them.
    pub fn are_built_in(&self, version: &GroupVersion) -> bool {
        self.of(version).any(|kind| is_built_in(kind))
    }

    /// Whether a definition must not serve a resource, because built-in kinds have its group and version, or another
    /// version of it.
    ///
    /// In Kubernetes: all paths of a group and version with built-in kinds belong to these. Unlike Kubernetes: a
    /// definition cannot add a version of a built-in kind either, because its objects could have the keys of built-in
    /// ones.
    pub(crate) fn is_taken(&self, resource: &GroupVersionResource) -> bool {
        let is_same = |of: &GroupVersionResource| of.group == resource.group && of.resource == resource.resource;
        let version = GroupVersion::new(resource.group.as_str(), resource.version.as_str());
        self.are_built_in(&version) || self.iter().any(|kind| is_built_in(kind) && is_same(&kind.gvr()))
    }

    fn of<'k>(&'k self, version: &'k GroupVersion) -> impl Iterator<Item = &'k Arc<Kind>> {
        let is_of = |of: &GroupVersionKind| of.group == version.group && of.version == version.version;
        self.iter().filter(move |kind| is_of(kind.gvk()))
    }

    /// The kinds in which the stored objects of `kind` are served, with their `apiVersion`s.
    pub(crate) fn versions_of(&self, kind: &Kind) -> Arc<[ServedVersion]> {
        self.versions.get(&kind.row().stored_as).cloned().unwrap_or_default()
    }

    /// Recomputes which kinds are versions of each other.
    pub(super) fn find_versions(&mut self) {
        let mut versions: IndexMap<GroupVersionResource, Vec<ServedVersion>> = IndexMap::new();
        for kind in self.iter() {
            let of_kind = versions.entry(kind.row().stored_as.clone()).or_default();
            of_kind.push((kind.gvk().api_version(), Arc::clone(kind)));
        }
        self.versions = versions.into_iter().map(|(stored_as, kinds)| (stored_as, kinds.into())).collect();
    }

    pub(super) fn insert(&mut self, kind: Kind) {
        let (resource, gvk) = (kind.gvr(), kind.gvk().clone());
        let kind = Arc::new(kind);
        self.by_kind.insert(gvk, Arc::clone(&kind));
        self.by_resource.insert(resource, kind);
    }

    pub(super) fn remove(&mut self, resource: &GroupVersionResource) {
        if let Some(kind) = self.by_resource.shift_remove(resource) {
            self.by_kind.shift_remove(kind.gvk());
        }
    }
}
