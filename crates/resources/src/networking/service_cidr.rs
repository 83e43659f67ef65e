use coracle_meta::fields::Fields;
use coracle_meta::{Cidr, FieldError, Object};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::addresses::{parse_cidr, why_outdated_cidr};
use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::field_checks::{NOT_CIDR, Wrong};

/// `servicecidrs.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/servicecidr`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        reset_by_status: SPEC_AND_METADATA,
        validate_create: |object, _| wrong_cidrs(object),
        validate_change: |new, old, _| wrong_cidr_change(new, old),
        columns: columns(),
        ..built_in(release, "networking.k8s.io", "v1", "servicecidrs")
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

/// At most one CIDR of each family, without bits beyond its prefix. In Kubernetes: `validateServiceCIDRSpec`.
fn wrong_cidrs(object: &Object) -> Wrong {
    const PATH: &str = "spec.cidrs";
    let cidrs = object.list(PATH);
    if cidrs.is_empty() {
        return vec![FieldError::required(PATH, "at least one CIDR required")];
    }
    let mut wrong = Wrong::new();
    if cidrs.len() > 2 {
        // Kubernetes quotes the internal type, whose fields have Go's names.
        return vec![FieldError::invalid(PATH, json!({"CIDRs": cidrs}), "may only hold up to 2 values")];
    }
    let texts: Vec<&str> = cidrs.iter().filter_map(Value::as_str).collect();
    for (at, text) in texts.iter().copied().enumerate() {
        let path = format!("{PATH}[{at}]");
        wrong.extend(wrong_cidr(text, &path));
    }
    let families: Vec<bool> = texts.iter().filter_map(|text| Some(parse_cidr(text)?.0.is_ipv4())).collect();
    if let [first, second] = families[..]
        && first == second
    {
        let what = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        wrong.push(FieldError::invalid(PATH, cidrs, what));
    }
    wrong
}

/// A CIDR in its canonical form. In Kubernetes: `IsValidCIDR`.
fn wrong_cidr(text: &str, path: &str) -> Wrong {
    if parse_cidr(text).is_none() {
        return vec![FieldError::invalid(path, text, NOT_CIDR)];
    }
    let canonical = |block: Cidr| format!("must be in canonical form ({:?})", block.to_string());
    let what = why_outdated_cidr(text).map(str::to_owned).or_else(|| {
        let block = Cidr::parse(text).ok()?;
        (block.to_string() != text).then(|| canonical(block))
    });
    what.map(|what| FieldError::invalid(path, text, what)).into_iter().collect()
}

/// CIDRs are immutable; only a second one can be added. In Kubernetes: `ValidateServiceCIDRUpdate`.
fn wrong_cidr_change(new: &Object, old: &Object) -> Wrong {
    const PATH: &str = "spec.cidrs";
    const IMMUTABLE: &str = "field is immutable";
    let (new_cidrs, old_cidrs) = (new.list(PATH), old.list(PATH));
    let is_grown = old_cidrs.len() == 1 && new_cidrs.len() == 2;
    if new_cidrs.len() != old_cidrs.len() && !is_grown {
        return vec![FieldError::invalid(PATH, new.at(PATH).clone(), IMMUTABLE)];
    }
    let pairs = new_cidrs.iter().zip(old_cidrs).enumerate().filter(|(_, (new, old))| new != old);
    let mut wrong: Wrong =
        pairs.map(|(at, (new, _))| FieldError::invalid(format!("{PATH}[{at}]"), new.clone(), IMMUTABLE)).collect();
    if is_grown {
        wrong.extend(wrong_cidrs(new));
    }
    wrong
}
