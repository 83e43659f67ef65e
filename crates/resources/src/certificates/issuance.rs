//! The status of a PodCertificateRequest, which only its signer writes, and only once.

use async_trait::async_trait;
use coracle_ambient::Timestamp;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Attributes, Decision, Hooks, Registry, Request, Reservation};
use coracle_release::Release;
use serde_json::{Value, json};

use super::issued_chain;
use crate::conditions::wrong_conditions;
use crate::field_checks::{Wrong, same};
use crate::status_write;

/// The conditions that end a request.
const FINAL: [&str; 3] = ["Issued", "Denied", "Failed"];

/// Decides about writes of the status: they depend on the time, and their user needs the permission `sign`.
///
/// In Kubernetes: `StatusStrategy.ValidateUpdate`.
pub(super) struct Issuance;

#[async_trait]
impl Hooks for Issuance {
    async fn begin_update(
        &self,
        registry: &Registry,
        request: &Request,
        new: &mut Object,
        old: &Object,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        if !status_write::is_current(request, new, old) {
            return Ok(None);
        }
        let mut wrong = wrong_status(new, old, request.now, registry.release());
        if wrong.is_empty() && !same(new.at("status"), old.at("status")) {
            wrong.extend(wrong_user(registry, request, old.text("spec.signerName")).await?);
        }
        status_write::refuse(old, &wrong)?;
        Ok(None)
    }
}

/// The error of a user who must not sign for a signer.
async fn wrong_user(registry: &Registry, request: &Request, signer: &str) -> Result<Option<FieldError>, Status> {
    let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
    for name in [signer.to_owned(), format!("{domain}/*")] {
        let signers = GroupVersionResource::new("certificates.k8s.io", "*", "signers");
        let at = ResourcePath::new(signers).object("", name);
        let attributes = Attributes::of_resource(&request.user, "sign", at);
        if matches!(registry.authorize(&attributes).await?, Decision::Allow(_)) {
            return Ok(None);
        }
    }
    let what = format!("User {:?} is not permitted to \"sign\" for signer {signer:?}", request.user.name);
    Ok(Some(FieldError::forbidden("spec.signerName", what)))
}

/// In Kubernetes: `ValidatePodCertificateRequestStatusUpdate`.
fn wrong_status(new: &Object, old: &Object, now: Timestamp, release: &Release) -> Wrong {
    let wrong = wrong_ends(new.list("status.conditions"), release);
    if !wrong.is_empty() {
        return wrong;
    }
    let differs = |from: &Value, what: &str| {
        let error = || FieldError::invalid_unprinted("status", what);
        (!same(new.at("status"), from)).then(error).into_iter().collect()
    };
    if FINAL.iter().any(|end| has_ended(old, end)) {
        return differs(old.at("status"), "immutable after PodCertificateRequest is issued, denied, or failed");
    }
    if has_ended(new, "Denied") || has_ended(new, "Failed") {
        let conditions = json!({"conditions": new.at("status.conditions")});
        let what = "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
        return differs(&conditions, what);
    }
    if has_ended(new, "Issued") {
        return issued_chain::wrong(new.at("status"), old.at("spec"), now);
    }
    differs(old.at("status"), "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"")
}

/// The errors of the conditions: only those that end a request exist, and one of them at most.
fn wrong_ends(conditions: &[Value], release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    let mut ends = 0;
    for (at, condition) in conditions.iter().enumerate() {
        // Kubernetes writes a dot before the bracket.
        let path = format!("status.conditions.[{at}]");
        let kind = condition.text("type");
        if !FINAL.contains(&kind) {
            wrong.push(FieldError::not_supported(format!("{path}.type"), kind, &FINAL));
            continue;
        }
        ends += 1;
        if ends > 1 {
            let what = "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"";
            wrong.push(FieldError::invalid(format!("{path}.type"), kind, what));
        }
        if condition.text("status") != "True" {
            wrong.push(FieldError::not_supported(format!("{path}.status"), condition.text("status"), &["True"]));
        }
    }
    wrong.extend(wrong_conditions(conditions, "status.conditions", release));
    wrong
}

fn has_ended(request: &Object, end: &str) -> bool {
    let conditions = request.list("status.conditions").iter();
    let mut ends = conditions.filter(|condition| condition.text("type") == end && condition.text("status") == "True");
    ends.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(conditions: &[(&str, &str)], notes: Value) -> Object {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status)| {
                json!({"type": kind, "status": status, "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"})
            })
            .collect();
        let mut status = json!({ "conditions": conditions });
        for (field, value) in notes.as_object().into_iter().flatten() {
            status[field] = value.clone();
        }
        Object::from_value(json!({"spec": {}, "status": status})).unwrap()
    }

    fn said(new: &Object, old: &Object) -> Vec<String> {
        wrong_status(new, old, Timestamp::UNIX_EPOCH, &Release::newest()).iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_request_ends_once_and_its_status_stays() {
        let (open, denied) = (request(&[], json!({})), request(&[("Denied", "True")], json!({})));
        assert_eq!(said(&denied, &open), [""; 0]);
        assert_eq!(said(&denied, &denied), [""; 0]);
        let what = "status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed";
        assert_eq!(said(&open, &denied), [what]);
        let timed = request(&[], json!({"notBefore": "2026-01-01T00:00:00Z"}));
        let what =
            "status: Invalid value: status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"";
        assert_eq!(said(&timed, &open), [what]);
    }

    #[test]
    fn a_denied_request_has_no_certificate() {
        let both = request(&[("Denied", "True")], json!({"certificateChain": "c"}));
        assert_eq!(
            said(&both, &request(&[], json!({}))),
            ["status: Invalid value: non-condition status fields must be empty when denying or failing the \
              PodCertificateRequest"]
        );
    }

    #[test]
    fn only_one_end_is_true() {
        let open = request(&[], json!({}));
        let two = request(&[("Issued", "True"), ("Failed", "True")], json!({}));
        assert_eq!(
            said(&two, &open),
            ["status.conditions.[1].type: Invalid value: \"Failed\": There may be at most one condition with type \
              \"Issued\", \"Denied\", or \"Failed\""]
        );
        let odd = request(&[("Odd", "True")], json!({}));
        let what = "status.conditions.[0].type: Unsupported value: \"Odd\": supported values: \"Issued\", \"Denied\", \"Failed\"";
        assert_eq!(said(&odd, &open), [what]);
        let untrue = request(&[("Issued", "False")], json!({}));
        let what = "status.conditions.[0].status: Unsupported value: \"False\": supported values: \"True\"";
        assert_eq!(said(&untrue, &open), [what]);
    }
}
