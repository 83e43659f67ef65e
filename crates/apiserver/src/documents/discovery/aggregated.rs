//! The newer document: all groups with all their resources in one.

use coracle_meta::{GroupVersion, Scope};
use coracle_registry::{Extension, Extensions, Kind, Kinds};
use serde_json::{Value, json};

use super::groups::{groups, is_foreign, is_ranked, kinds_of, set_names};
use crate::answer::negotiate::AggregatedVersion;

/// The core group at `/api`, or all others at `/apis`.
pub(super) fn list(kinds: &Kinds, extensions: &Extensions, version: AggregatedVersion, core: bool) -> Value {
    let groups = groups(kinds, extensions);
    let items = groups.iter().filter(|group| group.name.is_empty() == core).map(|group| {
        let versions = group.versions.iter().map(|version| {
            if let Some(extension) = extensions.of(&group.name, version) {
                return version_of(extension);
            }
            let group_version = GroupVersion::new(group.name.as_str(), version.as_str());
            let found = kinds_of(kinds, &group_version);
            let resources: Vec<Value> = found.into_iter().map(|kind| resource(kind)).collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        });
        let metadata = if core { json!({}) } else { json!({"name": group.name}) };
        json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
    });
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": version.api_version(), "metadata": {},
        "items": items.collect::<Vec<_>>(),
    })
}

/// A version that another server has, as it tells of it.
fn version_of(extension: &Extension) -> Value {
    let told = &extension.told;
    let resources = if told.resources.is_array() { told.resources.clone() } else { json!([]) };
    let freshness = if told.is_current { "Current" } else { "Stale" };
    json!({"version": extension.version.version, "resources": resources, "freshness": freshness})
}

fn resource(kind: &Kind) -> Value {
    let row = kind.row();
    let scope = if row.scope == Scope::Namespaced { "Namespaced" } else { "Cluster" };
    let own = if is_ranked(kind) { ("", "") } else { (row.kind.group.as_str(), row.kind.version.as_str()) };
    let mut resource = json!({
        "resource": row.plural, "singularResource": row.singular, "scope": scope, "verbs": row.verbs,
        "responseKind": {"group": own.0, "version": own.1, "kind": row.kind.kind},
    });
    set_names(&mut resource, kind);
    let subresources = row.subresources.iter().map(|subresource| {
        let own = if is_foreign(kind, subresource) || !is_ranked(kind) {
            (subresource.kind.group.as_str(), subresource.kind.version.as_str())
        } else {
            ("", "")
        };
        json!({
            "subresource": subresource.name, "verbs": subresource.verbs,
            "responseKind": {"group": own.0, "version": own.1, "kind": subresource.kind.kind},
        })
    });
    let subresources: Vec<Value> = subresources.collect();
    if !subresources.is_empty() {
        resource["subresources"] = subresources.into();
    }
    resource
}
