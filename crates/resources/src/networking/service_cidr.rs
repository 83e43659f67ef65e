use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::age;
use crate::columns;
use crate::rules::{Rules, SPEC_AND_METADATA};
use coracle_meta::fields::Fields;

/// `servicecidrs.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/servicecidr`.
pub(crate) const SERVICE_CIDR: Rules = Rules {
    kept_by_status: SPEC_AND_METADATA,
    columns: columns::SERVICE_CIDR,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.texts(&["spec", "cidrs"]).join(",").into(), age(object, now)]
    },
    ..Rules::of("networking.k8s.io", "v1", "servicecidrs")
};

/// `ipaddresses.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/ipaddress`.
pub(crate) const IP_ADDRESS: Rules = Rules {
    columns: columns::IP_ADDRESS,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        // Three cells for two columns, as in Kubernetes.
        vec![object.name().into(), parent(object).into(), age(object, now)]
    },
    ..Rules::of("networking.k8s.io", "v1", "ipaddresses")
};

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
