//! Resource claims of a pod and of its containers. In Kubernetes: `validatePodResourceClaims`,
//! `validateResourceClaimNames`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use super::MIRROR;
use crate::field_checks::{Wrong, each_invalid};

/// The names of the claims of a pod.
pub(super) fn claim_names(spec: &Value) -> BTreeSet<&str> {
    spec.list("resourceClaims").iter().map(|claim| claim.text("name")).filter(|name| !name.is_empty()).collect()
}

/// The errors of the claims of a pod. `metadata` is the pod's, `None` for a template.
pub(super) fn wrong_pod_claims(spec: &Value, metadata: Option<&Value>, path: &str) -> Wrong {
    let claims = spec.list("resourceClaims");
    if metadata.is_some_and(|metadata| !metadata.at("annotations").field_named(MIRROR).is_null()) {
        let refuse = |_| FieldError::forbidden("[]", "static pods do not support resource claims");
        return claims.iter().map(refuse).collect();
    }
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, claim) in claims.iter().enumerate() {
        let path = format!("{path}.resourceClaims[{at}]");
        let name = claim.text("name");
        let name_path = format!("{path}.name");
        if name.is_empty() {
            wrong.push(FieldError::required(name_path, ""));
        } else if !seen.insert(name) {
            wrong.push(FieldError::duplicate(name_path, name));
        } else {
            wrong.extend(each_invalid(&name_path, name, names::dns1123_label(name)));
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"].map(|field| (field, claim.at(field).as_str()));
        let what = match sources {
            [(_, Some(_)), (_, Some(_))] => {
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            }
            [(_, None), (_, None)] => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            _ => "",
        };
        if !what.is_empty() {
            wrong.push(FieldError::invalid(&path, claim.clone(), what).printed_as(go_claim(claim)));
        }
        for (field, name) in sources {
            if let Some(name) = name {
                wrong.extend(each_invalid(&format!("{path}.{field}"), name, names::dns1123_subdomain(name)));
            }
        }
    }
    wrong
}

/// A claim as Go prints the internal type.
fn go_claim(claim: &Value) -> String {
    let [name, own, template] = ["name", "resourceClaimName", "resourceClaimTemplateName"].map(|field| claim.at(field));
    let name = if name.is_null() { &Value::String(String::new()) } else { name };
    format!(r#"{{"Name":{name},"ResourceClaimName":{own},"ResourceClaimTemplateName":{template}}}"#)
}

/// The maximum number of bytes of names in the errors about the claims of a container: more than a response contains.
const MOST_LISTED: usize = 16 << 20;

/// The errors of the claims that a container uses. `known` are those of its pod.
pub(super) fn wrong_used_claims(resources: &Value, known: &BTreeSet<&str>, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    // Each error lists all names; a response contains only the first errors.
    let mut listed_bytes = 0;
    for (at, claim) in resources.list("claims").iter().enumerate() {
        let path = format!("{path}.claims[{at}]");
        let (name, request) = (claim.text("name"), claim.text("request"));
        if name.is_empty() {
            wrong.push(FieldError::required(&path, ""));
            continue;
        }
        if seen.contains(&(name, "")) {
            wrong.push(FieldError::duplicate(&path, name));
        } else {
            if !request.is_empty() {
                wrong.extend(each_invalid(&format!("{path}.request"), request, names::dns1123_label(request)));
            }
            if seen.contains(&(name, request)) {
                wrong.push(FieldError::duplicate(&path, format!("{name}/{request}")));
            } else if request.is_empty() {
                let parts = seen.range((name, "")..).take_while(|(other, _)| *other == name);
                wrong.extend(parts.map(|_| FieldError::duplicate(&path, name)));
            }
            seen.insert((name, request));
        }
        if !known.contains(name) {
            let listed =
                if listed_bytes > MOST_LISTED { Vec::new() } else { known.iter().copied().collect() }.join(", ");
            listed_bytes += listed.len();
            let what = if known.is_empty() {
                "must be one of the names in pod.spec.resourceClaims which is empty".to_owned()
            } else {
                format!("must be one of the names in pod.spec.resourceClaims: {listed}")
            };
            wrong.push(FieldError::not_found(&path, name).saying(what));
        }
    }
    wrong
}
