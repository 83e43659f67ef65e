use std::collections::BTreeMap;

use coracle_client::ApiResource;
use coracle_meta::{GroupVersionKind, GroupVersionResource, Scope};
use serde_json::Value;

use crate::documents::Document;

/// One version of a kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KnownKind {
    pub(crate) resource: GroupVersionResource,
    pub(crate) namespaced: bool,
    pub(crate) creatable: bool,
    pub(crate) has_status: bool,
}

/// The kinds that the cluster serves, or will serve after the definitions in the file are created.
#[derive(Debug, Default)]
pub(crate) struct KnownKinds {
    served: BTreeMap<GroupVersionKind, KnownKind>,
    defined: BTreeMap<GroupVersionKind, KnownKind>,
}

impl KnownKinds {
    pub(crate) fn new(served: Vec<ApiResource>, documents: &[Document]) -> Self {
        let known = |resource: ApiResource| {
            let kind = KnownKind {
                namespaced: resource.scope == Scope::Namespaced,
                creatable: resource.supports(&["create", "get"]),
                has_status: resource.subresources.iter().any(|name| name == "status"),
                resource: resource.resource,
            };
            (resource.kind, kind)
        };
        let defined = documents.iter().filter(|document| document.value["kind"] == "CustomResourceDefinition");
        let defined = defined.flat_map(|document| defined_by(&document.value["spec"]));
        Self { served: served.into_iter().map(known).collect(), defined: defined.collect() }
    }

    pub(crate) fn of(&self, kind: &GroupVersionKind) -> Option<&KnownKind> {
        self.served.get(kind).or_else(|| self.defined.get(kind))
    }

    /// Whether the cluster serves a kind now.
    pub(crate) fn is_served(&self, kind: &GroupVersionKind) -> bool {
        self.served.contains_key(kind)
    }
}

/// The kinds of a definition in `apiextensions.k8s.io/v1`.
fn defined_by(spec: &Value) -> Vec<(GroupVersionKind, KnownKind)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let versions = spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true);
    let kinds = versions.map(|version| {
        let (group, name) = (text(&spec["group"]), text(&version["name"]));
        let known = KnownKind {
            resource: GroupVersionResource::new(group.clone(), name.clone(), text(&spec["names"]["plural"])),
            namespaced: spec["scope"] == "Namespaced",
            creatable: true,
            has_status: version["subresources"]["status"].is_object(),
        };
        (GroupVersionKind::new(group, name, text(&spec["names"]["kind"])), known)
    });
    kinds.collect()
}
