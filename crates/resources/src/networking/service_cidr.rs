use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object};
use coracle_registry::{KindSpec, TableColumn};
use serde_json::{Value, json};

use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::cidr::Cidr;
use crate::field_checks::{Wrong, cidr, immutable};

/// `servicecidrs.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/servicecidr`.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        reset_by_status: SPEC_AND_METADATA,
        validate: |object| wrong_cidrs(object),
        validate_change: |new, old| {
            let may_grow = new.list("spec.cidrs").len() > old.list("spec.cidrs").len()
                && new.list("spec.cidrs").starts_with(old.list("spec.cidrs"));
            if may_grow { Wrong::new() } else { immutable(new, old, "spec.cidrs") }
        },
        columns: columns(),
        ..built_in("networking.k8s.io", "v1", "servicecidrs")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "CIDRs",
            "CIDRs defines the IP blocks in CIDR notation (e.g. \"192.168.0.0/24\" or \"2001:db8::/64\") from which to assign service cluster IPs. Max of two CIDRs is allowed, one of each IP family. This field is immutable.",
            |object| object.texts("spec.cidrs").join(",").into(),
        ),
        TableColumn::age(),
    ]
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
