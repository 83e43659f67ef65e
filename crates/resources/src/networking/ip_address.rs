use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::addresses::wrong_canonical_ip;
use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid, immutable, required};

/// `ipaddresses.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/ipaddress`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        name: wrong_canonical_ip,
        validate: |object, _| {
            let parent = object.at("spec.parentRef");
            if parent.is_null() {
                return vec![FieldError::required("spec.parentRef", "")];
            }
            wrong_parent(parent, "spec.parentRef")
        },
        validate_change: |new, old, _| immutable(new, old, "spec.parentRef"),
        columns: columns(),
        ..built_in(release, "networking.k8s.io", "v1", "ipaddresses")
    }
}

/// In Kubernetes: `validateIPAddressParentReference`.
fn wrong_parent(parent: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let group = parent.text("group");
    if !group.is_empty() {
        wrong.extend(each_invalid(&format!("{path}.group"), group, names::dns1123_subdomain(group)));
    }
    for part in ["resource", "name", "namespace"] {
        let value = parent.text(part);
        if !value.is_empty() {
            wrong.extend(each_invalid(&format!("{path}.{part}"), value, names::path_segment(value)));
        } else if part != "namespace" {
            wrong.extend(required(parent, part, path));
        }
    }
    wrong
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "ParentRef",
            "ParentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object.",
            |object| parent(object).into(),
        ),
        // Three cells for two columns, as in Kubernetes.
        TableColumn { heading: None, ..TableColumn::age() },
    ]
}

fn parent(object: &Object) -> String {
    let parent = object.at("spec.parentRef");
    if parent.is_null() {
        return "<none>".to_owned();
    }
    let resource = match parent.text("group") {
        "" => parent.text("resource").to_lowercase(),
        group => format!("{}.{group}", parent.text("resource")).to_lowercase(),
    };
    match parent.text("namespace") {
        "" => format!("{resource}/{}", parent.text("name")),
        namespace => format!("{resource}/{namespace}/{}", parent.text("name")),
    }
}
