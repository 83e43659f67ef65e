//! The older documents: a list of groups, a group, a list of resources.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::{GroupVersion, Scope};
use coracle_registry::{Extensions, Kind, Kinds, Verb};
use coracle_schema::SubresourceRow;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::groups::{Group, groups, is_foreign, is_ranked, kinds_of, set_names};

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
pub(super) fn core_versions(kinds: &Kinds, extensions: &Extensions) -> Value {
    let core = groups(kinds, extensions).into_iter().find(|group| group.name.is_empty());
    json!({
        "kind": "APIVersions",
        "versions": core.map(|group| group.versions).unwrap_or_default(),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
    })
}

/// `/api/VERSION` and `/apis/GROUP/VERSION`
pub(super) fn resource_list(kinds: &Kinds, version: &GroupVersion) -> Option<Value> {
    let found = kinds_of(kinds, version);
    if found.is_empty() {
        return None;
    }
    let mut resources: Vec<(String, Value)> = Vec::new();
    let are_ranked = found.iter().any(|kind| is_ranked(kind));
    for kind in found {
        resources.push((kind.row().plural.clone(), api_resource(kind)));
        for subresource in &kind.row().subresources {
            let name = format!("{}/{}", kind.row().plural, subresource.name);
            resources.push((name.clone(), api_subresource(kind, subresource, &name)));
        }
    }
    if are_ranked {
        resources.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let resources: Vec<Value> = resources.into_iter().map(|(_, resource)| resource).collect();
    let mut list = json!({"kind": "APIResourceList", "groupVersion": version.to_string(), "resources": resources});
    if !version.group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn api_resource(kind: &Kind) -> Value {
    let row = kind.row();
    let mut resource = json!({
        "name": row.plural, "singularName": row.singular, "namespaced": row.scope == Scope::Namespaced,
        "kind": row.kind.kind, "verbs": row.verbs,
    });
    set_names(&mut resource, kind);
    if kind.serves(Verb::List) && kind.serves(Verb::Create) {
        resource["storageVersionHash"] = storage_version_hash(kind).into();
    }
    resource
}

fn api_subresource(kind: &Kind, subresource: &SubresourceRow, name: &str) -> Value {
    let mut resource = json!({
        "name": name, "singularName": "", "namespaced": kind.is_namespaced(),
        "kind": subresource.kind.kind, "verbs": subresource.verbs,
    });
    if is_foreign(kind, subresource) {
        resource["group"] = subresource.kind.group.as_str().into();
        resource["version"] = subresource.kind.version.as_str().into();
    }
    resource
}

/// In Kubernetes: `discovery.StorageVersionHash`; the core group stands before the slash as nothing.
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
    fn a_group_prefers_its_first_version() {
        let group = Group { name: "autoscaling".into(), versions: vec!["v2".into(), "v1".into()] };
        assert_eq!(ApiGroup::of(&group).preferred_version.unwrap().group_version, "autoscaling/v2");
    }
}
