use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, Object};
use serde_json::{Value, json};

use crate::cells::age;
use crate::checks::{Wrong, cidr, immutable, required};
use crate::cidr::Cidr;
use crate::columns;
use crate::rules::{Rules, SPEC_AND_METADATA};
use coracle_meta::fields::Fields;

/// `servicecidrs.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/servicecidr`.
pub(crate) const SERVICE_CIDR: Rules = Rules {
    kept_by_status: SPEC_AND_METADATA,
    validate: |object| wrong_cidrs(object),
    validate_change: |new, old| {
        let may_grow = new.list("spec.cidrs").len() > old.list("spec.cidrs").len()
            && new.list("spec.cidrs").starts_with(old.list("spec.cidrs"));
        if may_grow { Wrong::new() } else { immutable(new, old, "spec.cidrs") }
    },
    columns: columns::SERVICE_CIDR,
    cells: |object: &Object, now: Timestamp| -> Vec<Value> {
        vec![object.name().into(), object.texts(&["spec", "cidrs"]).join(",").into(), age(object, now)]
    },
    ..Rules::of("networking.k8s.io", "v1", "servicecidrs")
};

/// `ipaddresses.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/ipaddress`.
pub(crate) const IP_ADDRESS: Rules = Rules {
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

/// One block of each family, without bits beyond its prefix. In Kubernetes: `validateServiceCIDRSpec`.
fn wrong_cidrs(object: &Object) -> Wrong {
    const PATH: &str = "spec.cidrs";
    let cidrs = object.list(PATH);
    if cidrs.is_empty() {
        return vec![FieldError::required(PATH, "at least one CIDR required")];
    }
    let mut wrong = Wrong::new();
    if cidrs.len() > 2 {
        // In Kubernetes the internal type, whose fields have Go's names, is quoted.
        return vec![FieldError::invalid(PATH, json!({"CIDRs": cidrs}), "may only hold up to 2 values")];
    }
    let texts: Vec<&str> = cidrs.iter().filter_map(Value::as_str).collect();
    for (at, text) in texts.iter().copied().enumerate() {
        let path = format!("{PATH}[{at}]");
        let not_cidr = cidr(text, &path);
        if not_cidr.is_empty() && Cidr::parse(text).is_ok_and(|parsed| parsed.to_string() != text) {
            wrong.push(FieldError::invalid(&path, text, "must not have bits set beyond the prefix length"));
        }
        wrong.extend(not_cidr);
    }
    let count_v6 = texts.iter().filter(|text| text.contains(':')).count();
    if texts.len() == 2 && count_v6 != 1 {
        let what = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        wrong.push(FieldError::invalid(PATH, cidrs, what));
    }
    wrong
}
