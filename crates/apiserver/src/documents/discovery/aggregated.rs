//! Aggregated discovery: all groups with all their resources in one document.

use coracle_meta::{GroupVersion, GroupVersionKind, Scope};
use coracle_registry::{Extension, Extensions, Kind, Kinds};
use serde::Serialize;
use serde_json::Value;

use super::groups::{Group, groups, is_foreign, is_ranked, kinds_of};
use crate::answer::negotiate::AggregatedVersion;

/// `apidiscovery.APIGroupDiscoveryList`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupDiscoveryList<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Metadata<'a>,
    items: Vec<GroupDiscovery<'a>>,
}

#[derive(Default, Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

/// `apidiscovery.APIGroupDiscovery`
#[derive(Serialize)]
struct GroupDiscovery<'a> {
    metadata: Metadata<'a>,
    versions: Vec<VersionDiscovery<'a>>,
}

/// `apidiscovery.APIVersionDiscovery`
#[derive(Serialize)]
struct VersionDiscovery<'a> {
    version: &'a str,
    resources: Resources<'a>,
    freshness: &'static str,
}

/// The resources of a version: the kinds of this server, or the discovery document of an extension API server.
#[derive(Serialize)]
#[serde(untagged)]
enum Resources<'a> {
    Own(Vec<ResourceDiscovery<'a>>),
    OfExtension(&'a [Value]),
}

/// `apidiscovery.APIResourceDiscovery`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery<'a> {
    resource: &'a str,
    response_kind: ResponseKind<'a>,
    scope: &'static str,
    singular_resource: &'a str,
    verbs: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<SubresourceDiscovery<'a>>,
}

/// `apidiscovery.APISubresourceDiscovery`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceDiscovery<'a> {
    subresource: &'a str,
    response_kind: ResponseKind<'a>,
    verbs: &'a [String],
}

/// `metav1.GroupVersionKind`
#[derive(Serialize)]
struct ResponseKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

/// The core group at `/api`, or all others at `/apis`.
pub(super) fn list(kinds: &Kinds, extensions: &Extensions, version: AggregatedVersion, core: bool) -> Option<String> {
    let groups = groups(kinds, extensions);
    let items = groups.iter().filter(|group| group.name.is_empty() == core);
    let list = GroupDiscoveryList {
        kind: "APIGroupDiscoveryList",
        api_version: version.api_version(),
        metadata: Metadata::default(),
        items: items.map(|group| GroupDiscovery::of(kinds, extensions, group)).collect(),
    };
    serde_json::to_string(&list).ok()
}

impl<'a> GroupDiscovery<'a> {
    fn of(kinds: &'a Kinds, extensions: &'a Extensions, group: &'a Group) -> Self {
        let of_version = |version: &'a String| {
            if let Some(extension) = extensions.of(&group.name, version) {
                return VersionDiscovery::of_extension(extension);
            }
            let group_version = GroupVersion::new(group.name.as_str(), version.as_str());
            let found = kinds_of(kinds, &group_version);
            let resources = found.into_iter().map(|kind| ResourceDiscovery::of(kind)).collect();
            VersionDiscovery { version, resources: Resources::Own(resources), freshness: "Current" }
        };
        Self { metadata: Metadata { name: &group.name }, versions: group.versions.iter().map(of_version).collect() }
    }
}

impl<'a> VersionDiscovery<'a> {
    /// A version of an extension API server, from its discovery document.
    fn of_extension(extension: &'a Extension) -> Self {
        let documents = &extension.documents;
        Self {
            version: &extension.version.version,
            resources: Resources::OfExtension(documents.resources.as_array().map(Vec::as_slice).unwrap_or_default()),
            freshness: if documents.is_current { "Current" } else { "Stale" },
        }
    }
}

impl<'a> ResourceDiscovery<'a> {
    fn of(kind: &'a Kind) -> Self {
        let row = kind.row();
        let subresources = row.subresources.iter().map(|subresource| SubresourceDiscovery {
            subresource: &subresource.name,
            response_kind: ResponseKind::of(&subresource.kind, is_foreign(kind, subresource) || !is_ranked(kind)),
            verbs: &subresource.verbs,
        });
        Self {
            resource: &row.plural,
            response_kind: ResponseKind::of(&row.kind, !is_ranked(kind)),
            scope: if row.scope == Scope::Namespaced { "Namespaced" } else { "Cluster" },
            singular_resource: &row.singular,
            verbs: &row.verbs,
            short_names: &row.short_names,
            categories: &row.categories,
            subresources: subresources.collect(),
        }
    }
}

impl<'a> ResponseKind<'a> {
    /// Group and version are set only if they differ from those of the resource.
    fn of(kind: &'a GroupVersionKind, is_said: bool) -> Self {
        let (group, version) = if is_said { (kind.group.as_str(), kind.version.as_str()) } else { ("", "") };
        Self { group, version, kind: &kind.kind }
    }
}
