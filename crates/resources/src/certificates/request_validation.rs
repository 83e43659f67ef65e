use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, JsonKey, Object};
use serde_json::Value;

use super::{decoded, encoded_certificate, encoded_request, signer_name};
use crate::field_checks::Wrong;

/// The conditions that only `/approval` sets.
pub(super) const OF_APPROVAL: [&str; 2] = ["Approved", "Denied"];

const CONDITIONS: &str = "status.conditions";
const CERTIFICATE: &str = "status.certificate";

/// The valid key usages.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// The conditions of a type.
pub(super) fn conditions<'o>(object: &'o Object, kind: &'o str) -> impl Iterator<Item = &'o Value> {
    object.list(CONDITIONS).iter().filter(move |condition| condition.text("type") == kind)
}

/// The errors of a new request. In Kubernetes: `ValidateCertificateSigningRequestCreate`.
pub(super) fn wrong_create(object: &Object) -> Wrong {
    const REQUEST: &str = "spec.request";
    let spec = object.at("spec");
    let mut wrong = Wrong::new();
    let encoded = spec.at("request");
    if let Some(problem) = encoded_request::problem(&decoded(encoded)) {
        wrong.push(FieldError::invalid(REQUEST, encoded.clone(), problem));
    }
    let usages = spec.list("usages");
    if usages.is_empty() {
        wrong.push(FieldError::required("spec.usages", ""));
    }
    for (at, usage) in usages.iter().enumerate() {
        if !USAGES.iter().any(|known| known == usage) {
            wrong.push(FieldError::not_supported(format!("spec.usages[{at}]"), usage.clone(), &USAGES));
        }
    }
    let mut seen = BTreeSet::new();
    for (at, usage) in usages.iter().enumerate() {
        if !seen.insert(JsonKey(usage)) {
            wrong.push(FieldError::duplicate(format!("spec.usages[{at}]"), usage.clone()));
        }
    }
    let signer = spec.text("signerName");
    if signer == "kubernetes.io/legacy-unknown" {
        let what = "the legacy signerName is not allowed via this API version";
        wrong.push(FieldError::invalid("spec.signerName", signer, what));
    } else {
        wrong.extend(signer_name::wrong(signer, "spec.signerName"));
    }
    if spec.int_if_set("expirationSeconds").is_some_and(|seconds| seconds < 600) {
        let what = "may not specify a duration less than 600 seconds (10 minutes)";
        wrong.push(FieldError::invalid("spec.expirationSeconds", spec.int("expirationSeconds"), what));
    }
    wrong
}

/// The errors of a write of `/status`. In Kubernetes: `ValidateCertificateSigningRequestStatusUpdate`.
pub(super) fn wrong_status(new: &Object, old: &Object) -> Wrong {
    let mut wrong = wrong_content(new, old);
    wrong.extend(removed_conditions(new, old));
    for kind in OF_APPROVAL {
        if conditions(new, kind).count() > conditions(old, kind).count() {
            wrong.push(FieldError::forbidden(CONDITIONS, format!("updates may not add a condition of type {kind:?}")));
        }
    }
    let (before, after) = (old.text(CERTIFICATE), new.text(CERTIFICATE));
    if !before.is_empty() && before != after {
        wrong.push(FieldError::forbidden(CERTIFICATE, "updates may not modify existing certificate content"));
    }
    wrong
}

/// The errors of a write of `/approval`, which changes only conditions.
/// In Kubernetes: `ValidateCertificateSigningRequestApprovalUpdate`.
pub(super) fn wrong_approval(new: &Object, old: &Object) -> Wrong {
    let mut wrong = wrong_content(new, old);
    wrong.extend(removed_conditions(new, old));
    wrong
}

fn removed_conditions(new: &Object, old: &Object) -> Wrong {
    let removed = |kind: &&str| conditions(new, kind).count() < conditions(old, kind).count();
    let forbidden =
        |kind| FieldError::forbidden(CONDITIONS, format!("updates may not remove a condition of type {kind:?}"));
    ["Approved", "Denied", "Failed"].into_iter().filter(removed).map(forbidden).collect()
}

/// The errors of the status, except those that the old status already has.
fn wrong_content(new: &Object, old: &Object) -> Wrong {
    let mut wrong = wrong_conditions(new, old);
    let (before, after) = (old.text(CERTIFICATE), new.text(CERTIFICATE));
    if before != after
        && let Some(problem) = encoded_certificate::problem(&decoded(new.at(CERTIFICATE)))
    {
        wrong.push(FieldError::invalid(CERTIFICATE, "<certificate data>", problem));
    }
    wrong
}

/// In Kubernetes: `validateConditions`; errors that the stored object already has stay allowed.
fn wrong_conditions(new: &Object, old: &Object) -> Wrong {
    let has_both = |object: &Object| OF_APPROVAL.iter().all(|kind| conditions(object, kind).next().is_some());
    let known = old.list(CONDITIONS);
    let (allows_both, allows_empty) = (has_both(old), known.iter().any(|known| known.text("type").is_empty()));
    let mut types_before = BTreeSet::new();
    let allows_duplicates = !known.iter().all(|known| types_before.insert(known.text("type")));
    let list = new.list(CONDITIONS);
    let mut wrong = Wrong::new();
    let mut types = BTreeSet::new();
    for (at, condition) in list.iter().enumerate() {
        let path = |field: &str| format!("{CONDITIONS}[{at}].{field}");
        let (kind, status) = (condition.text("type"), condition.text("status"));
        if kind.is_empty() && !allows_empty {
            wrong.push(FieldError::required(path("type"), ""));
        }
        let statuses = match kind {
            "Approved" | "Denied" | "Failed" => &["True"][..],
            _ => &["False", "True", "Unknown"],
        };
        if status.is_empty() {
            wrong.push(FieldError::required(path("status"), ""));
        } else if !statuses.contains(&status) {
            wrong.push(FieldError::not_supported(path("status"), status, statuses));
        }
        let has_other = || {
            let other = if kind == "Approved" { "Denied" } else { "Approved" };
            types.contains(other)
        };
        if !allows_both && OF_APPROVAL.contains(&kind) && has_other() {
            let what = "Approved and Denied conditions are mutually exclusive";
            wrong.push(FieldError::invalid(CONDITIONS, kind, what));
        }
        if !types.insert(kind) && !allows_duplicates {
            wrong.push(FieldError::duplicate(path("type"), kind));
        }
    }
    wrong
}
