use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use coracle_registry::{KindSpec, TableColumn};

use crate::built_in::built_in;
use crate::field_checks::{immutable, required};

/// `ipaddresses.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/ipaddress`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        name: |name| match name.parse::<std::net::IpAddr>() {
            Ok(address) if address.to_string() == name => Vec::new(),
            Ok(address) => vec![format!("must be in canonical form ({:?})", address.to_string())],
            Err(_) => vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()],
        },
        validate: |object| {
            let parent = object.at("spec.parentRef");
            if parent.is_null() {
                return vec![FieldError::required("spec.parentRef", "")];
            }
            let parts = ["resource", "name"].into_iter();
            parts.flat_map(|part| required(parent, part, "spec.parentRef")).collect()
        },
        validate_change: |new, old| immutable(new, old, "spec.parentRef"),
        columns: columns(),
        ..built_in("networking.k8s.io", "v1", "ipaddresses")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "ParentRef",
            "ParentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object.",
            |object| parent(object).into(),
        ),
        // Three cells stand in two columns, as in Kubernetes.
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
