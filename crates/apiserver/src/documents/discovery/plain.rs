//! Unaggregated discovery: a list of groups, a group, a list of resources.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::GroupVersion;
use coracle_registry::{Extensions, Kind, Kinds, Verb};
use coracle_schema::SubresourceRow;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::groups::{Group, groups, is_foreign, is_ranked, kinds_of};

/// `metav1.APIGroupList`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroupList {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup>,
}

/// `metav1.APIGroup`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroup {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    name: String,
    versions: Vec<ServedVersion>,
    preferred_version: Option<ServedVersion>,
}

/// `metav1.GroupVersionForDiscovery`
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServedVersion {
    group_version: String,
    version: String,
}

/// `metav1.APIVersions`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiVersions {
    kind: &'static str,
    versions: Vec<String>,
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_addresses: [ServerAddress; 1],
}

/// `metav1.ServerAddressByClientCIDR`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: &'static str,
}

/// `metav1.APIResourceList`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResourceList<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    group_version: String,
    resources: Vec<ApiResource<'a>>,
}

/// `metav1.APIResource`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource<'a> {
    name: String,
    singular_name: &'a str,
    namespaced: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    kind: &'a str,
    verbs: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_version_hash: Option<String>,
}

/// `/apis`: all groups but the core group.
pub(super) fn group_list(kinds: &Kinds, extensions: &Extensions) -> Option<String> {
    let groups = groups(kinds, extensions);
    let groups: Vec<_> = groups.iter().filter(|group| !group.name.is_empty()).map(ApiGroup::of).collect();
    serde_json::to_string(&ApiGroupList { kind: "APIGroupList", api_version: "v1", groups }).ok()
}

/// `/apis/GROUP`
pub(super) fn group(kinds: &Kinds, extensions: &Extensions, name: &str) -> Option<String> {
    let group = groups(kinds, extensions).into_iter().find(|group| !name.is_empty() && group.name == *name)?;
    let told = ApiGroup { kind: Some("APIGroup"), api_version: Some("v1"), ..ApiGroup::of(&group) };
    serde_json::to_string(&told).ok()
}

impl ApiGroup {
    fn of(group: &Group) -> Self {
        let versions = group.versions.iter().map(|version| ServedVersion {
            group_version: format!("{}/{version}", group.name),
            version: version.clone(),
        });
        let versions: Vec<_> = versions.collect();
        let preferred_version = versions.first().cloned();
        Self { kind: None, api_version: None, name: group.name.clone(), versions, preferred_version }
    }
}

/// `/api`
pub(super) fn core_versions(kinds: &Kinds, extensions: &Extensions) -> Option<String> {
    let core = groups(kinds, extensions).into_iter().find(|group| group.name.is_empty());
    let told = ApiVersions {
        kind: "APIVersions",
        versions: core.map(|group| group.versions).unwrap_or_default(),
        server_addresses: [ServerAddress { client_cidr: "0.0.0.0/0", server_address: "" }],
    };
    serde_json::to_string(&told).ok()
}

/// `/api/VERSION` and `/apis/GROUP/VERSION`
pub(super) fn resource_list(kinds: &Kinds, version: &GroupVersion) -> Option<String> {
    let found = kinds_of(kinds, version);
    if found.is_empty() {
        return None;
    }
    let are_ranked = found.iter().any(|kind| is_ranked(kind));
    let mut resources = Vec::new();
    for kind in found {
        resources.push(ApiResource::of(kind));
        resources.extend(kind.row().subresources.iter().map(|subresource| ApiResource::below(kind, subresource)));
    }
    if are_ranked {
        resources.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let api_version = (!version.group.is_empty()).then_some("v1");
    let group_version = version.to_string();
    serde_json::to_string(&ApiResourceList { kind: "APIResourceList", api_version, group_version, resources }).ok()
}

impl<'a> ApiResource<'a> {
    fn of(kind: &'a Kind) -> Self {
        let row = kind.row();
        let is_stored = kind.serves(Verb::List) && kind.serves(Verb::Create);
        Self {
            name: row.plural.clone(),
            singular_name: &row.singular,
            namespaced: kind.is_namespaced(),
            group: None,
            version: None,
            kind: &row.kind.kind,
            verbs: &row.verbs,
            short_names: &row.short_names,
            categories: &row.categories,
            storage_version_hash: is_stored.then(|| storage_version_hash(kind)),
        }
    }

    fn below(kind: &'a Kind, subresource: &'a SubresourceRow) -> Self {
        let own = is_foreign(kind, subresource).then_some(&subresource.kind);
        Self {
            name: format!("{}/{}", kind.row().plural, subresource.name),
            singular_name: "",
            namespaced: kind.is_namespaced(),
            group: own.map(|kind| kind.group.as_str()),
            version: own.map(|kind| kind.version.as_str()),
            kind: &subresource.kind.kind,
            verbs: &subresource.verbs,
            short_names: &[],
            categories: &[],
            storage_version_hash: None,
        }
    }
}

/// In Kubernetes: `discovery.StorageVersionHash`; the core group is the empty text before the slash.
fn storage_version_hash(kind: &Kind) -> String {
    let GroupVersion { group, version } = &kind.row().storage_version;
    STANDARD.encode(&Sha256::digest(format!("{group}/{version}/{}", kind.gvk().kind))[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_storage_version_is_the_one_clients_know() {
        let digest = Sha256::digest("/v1/Pod");
        assert_eq!(STANDARD.encode(&digest[..8]), "xPOwRZ+Yhw8=");
    }

    #[test]
    fn the_members_of_a_resource_stand_as_in_go() {
        let (verbs, short_names) = (["get".to_owned()], ["po".to_owned()]);
        let resource = ApiResource {
            name: "pods".into(),
            singular_name: "pod",
            namespaced: true,
            group: Some("g"),
            version: None,
            kind: "Pod",
            verbs: &verbs,
            short_names: &short_names,
            categories: &[],
            storage_version_hash: Some("x=".into()),
        };
        assert_eq!(
            serde_json::to_string(&resource).unwrap(),
            r#"{"name":"pods","singularName":"pod","namespaced":true,"group":"g","kind":"Pod","verbs":["get"],"shortNames":["po"],"storageVersionHash":"x="}"#
        );
    }

    #[test]
    fn a_group_prefers_its_first_version() {
        let group = Group { name: "autoscaling".into(), versions: vec!["v2".into(), "v1".into()] };
        assert_eq!(ApiGroup::of(&group).preferred_version.unwrap().group_version, "autoscaling/v2");
    }
}
