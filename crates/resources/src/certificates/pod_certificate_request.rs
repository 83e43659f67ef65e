use std::sync::Arc;

use coracle_meta::fields::{Fields, edit_spec};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::issuance::Issuance;
use super::{decoded, signer_name, stub_request};
use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::cells::labels;
use crate::field_checks::{IMMUTABLE, Wrong, each_invalid, same};

const REQUEST: &str = "spec.stubPKCS10Request";
const SECONDS: &str = "spec.maxExpirationSeconds";
const LONGEST_UID: usize = 128;
/// The shortest lifetime of a certificate that a request can ask for, in seconds. In Kubernetes:
/// `MinMaxExpirationSeconds`.
pub(crate) const SHORTEST: i64 = 60 * 60;
const DAY: i64 = 24 * 60 * 60;

/// `podcertificaterequests.certificates.k8s.io`. In Kubernetes: `pkg/registry/certificates/podcertificaterequest`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |request, _| {
            edit_spec(request, |spec| {
                if !spec.has("maxExpirationSeconds") {
                    spec.insert("maxExpirationSeconds".to_owned(), DAY.into());
                }
            });
        },
        validate_create: |object, _| wrong(object),
        validate_change: |new, old, _| wrong_change(new, old),
        reset_by_status: SPEC_AND_METADATA,
        selectable: Some(&["spec.signerName", "spec.podName", "spec.nodeName"]),
        columns: columns(),
        hooks: Arc::new(Issuance),
        ..built_in(release, "certificates.k8s.io", "v1", "podcertificaterequests")
    }
}

fn columns() -> Vec<TableColumn> {
    let text = |name, description, path: &'static str| {
        TableColumn::text(name, description, move |object| object.text(path).into())
    };
    vec![
        TableColumn::name(),
        text("PodName", "podName is the name of the pod into which the certificate will be mounted.", "spec.podName"),
        text(
            "ServiceAccountName",
            "serviceAccountName is the name of the service account the pod is running as.",
            "spec.serviceAccountName",
        ),
        text("NodeName", "nodeName is the name of the node the pod is assigned to.", "spec.nodeName"),
        text(
            "SignerName",
            "signerName indicates the requested signer.\n\nAll signer names beginning with `kubernetes.io` are reserved for use by the Kubernetes project.  There is currently one well-known signer documented by the Kubernetes project, `kubernetes.io/kube-apiserver-client-pod`, which will issue client certificates understood by kube-apiserver.  It is currently unimplemented.",
            "spec.signerName",
        ),
        TableColumn::text("State", "Is the request Pending, Issued, Denied, or Failed?", |object| state(object).into()),
        TableColumn::text(
            "UnverifiedUserAnnotations",
            "unverifiedUserAnnotations allow pod authors to pass additional information to the signer implementation.  Kubernetes does not restrict or validate this metadata in any way.\n\nEntries are subject to the same validation as object metadata annotations, with the addition that all keys must be domain-prefixed. No restrictions are placed on values, except an overall size limitation on the entire field.\n\nSigners should document the keys and values they support.  Signers should deny requests that contain keys they do not recognize.",
            |object| labels(object.at("spec.unverifiedUserAnnotations")),
        ),
    ]
}

fn state(request: &Object) -> &'static str {
    let conditions = request.list("status.conditions").iter().rev();
    let known = conditions.filter_map(|condition| match condition.text("type") {
        "Issued" => Some("Issued"),
        "Denied" => Some("Denied"),
        "Failed" => Some("Failed"),
        _ => None,
    });
    known.into_iter().next().unwrap_or("Pending")
}

/// In Kubernetes: `ValidatePodCertificateRequestCreate`.
fn wrong(request: &Object) -> Wrong {
    let spec = request.at("spec");
    let signer = spec.text("signerName");
    let mut wrong = signer_name::wrong(signer, "spec.signerName");
    wrong.extend(wrong_annotations(spec.at("unverifiedUserAnnotations"), "spec.unverifiedUserAnnotations"));
    for subject in ["pod", "serviceAccount", "node"] {
        let (name, path) = (spec.text(&format!("{subject}Name")), format!("spec.{subject}Name"));
        wrong.extend(each_invalid(&path, name, names::dns1123_subdomain(name)));
        let (uid, path) = (spec.text(&format!("{subject}UID")), format!("spec.{subject}UID"));
        if uid.is_empty() {
            wrong.push(FieldError::invalid(&path, uid, "must not be empty"));
        }
        if uid.len() > LONGEST_UID {
            wrong.push(FieldError::too_long(&path, LONGEST_UID));
        }
    }
    let seconds = spec.int("maxExpirationSeconds");
    let longest = longest(signer);
    if !(SHORTEST..=longest).contains(&seconds) {
        wrong.push(FieldError::invalid(SECONDS, seconds, format!("must be in the range [{SHORTEST}, {longest}]")));
    }
    let der = decoded(spec.at("stubPKCS10Request"));
    if der.is_empty() {
        let what = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
        wrong.push(FieldError::invalid_unprinted("spec", what));
    } else {
        wrong.extend(stub_request::wrong(&der, REQUEST));
    }
    wrong
}

/// The longest lifetime of a certificate of a signer, in seconds. In Kubernetes: `MaxMaxExpirationSeconds`,
/// `KubernetesMaxMaxExpirationSeconds`.
pub(crate) fn longest(signer: &str) -> i64 {
    if is_of_kubernetes(signer) { DAY } else { 91 * DAY }
}

/// Whether a signer belongs to the Kubernetes project. In Kubernetes: `IsKubernetesSignerName`.
fn is_of_kubernetes(signer: &str) -> bool {
    let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
    domain == "kubernetes.io" || domain.ends_with(".kubernetes.io")
}

/// Annotations whose keys all have a domain. In Kubernetes: `ValidateUserAnnotations`.
pub(crate) fn wrong_annotations(annotations: &Value, path: &str) -> Wrong {
    const LARGEST: usize = 256 << 10;
    let mut wrong = Wrong::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        let lowered = key.to_lowercase();
        size += key.len() + value.as_str().unwrap_or_default().len();
        let sentences = names::qualified_name(&lowered);
        if lowered.is_empty() {
            wrong.push(FieldError::required(path, ""));
        } else if sentences.is_empty() && !lowered.contains('/') {
            let what = "must be a domain-prefixed key (such as \"acme.io/foo\")";
            wrong.push(FieldError::invalid(path, lowered, what));
        } else {
            wrong.extend(each_invalid(path, &lowered, sentences));
        }
    }
    if size > LARGEST {
        wrong.push(FieldError::too_long(path, LARGEST));
    }
    wrong
}

/// The spec is immutable.
fn wrong_change(new: &Object, old: &Object) -> Wrong {
    let spec = new.at("spec");
    if same(spec, old.at("spec")) {
        return Wrong::new();
    }
    vec![FieldError::invalid("spec", Value::Null, IMMUTABLE).printed_as(go_spec(spec))]
}

/// The spec as Go prints its internal type.
fn go_spec(spec: &Value) -> String {
    let text = |field: &str| format!("{:?}", spec.text(field));
    let fields = [
        ("SignerName", text("signerName")),
        ("PodName", text("podName")),
        ("PodUID", text("podUID")),
        ("ServiceAccountName", text("serviceAccountName")),
        ("ServiceAccountUID", text("serviceAccountUID")),
        ("NodeName", text("nodeName")),
        ("NodeUID", text("nodeUID")),
        ("MaxExpirationSeconds", spec.at("maxExpirationSeconds").to_string()),
        ("PKIXPublicKey", "null".to_owned()),
        ("ProofOfPossession", "null".to_owned()),
        ("StubPKCS10Request", spec.at("stubPKCS10Request").to_string()),
        ("UnverifiedUserAnnotations", spec.at("unverifiedUserAnnotations").to_string()),
    ];
    let fields = fields.map(|(name, value)| format!("{name:?}:{value}"));
    format!("{{{}}}", fields.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(spec: Value) -> Vec<String> {
        let request = Object::from_value(json!({ "spec": spec })).unwrap();
        wrong(&request).iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_signer_of_kubernetes_issues_for_at_most_a_day() {
        assert!(is_of_kubernetes("kubernetes.io/a") && is_of_kubernetes("x.kubernetes.io/a"));
        assert!(!is_of_kubernetes("notkubernetes.io/a"));
        let spec = |signer: &str, seconds: i64| {
            json!({"signerName": signer, "podName": "p", "podUID": "1", "serviceAccountName": "s",
                "serviceAccountUID": "2", "nodeName": "n", "nodeUID": "3", "maxExpirationSeconds": seconds})
        };
        let no_key = "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) \
                      must be set";
        assert_eq!(messages(spec("a.io/a", 91 * DAY)), [no_key]);
        let range = "spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]";
        assert_eq!(messages(spec("kubernetes.io/a", DAY + 1)), [range, no_key]);
    }

    #[test]
    fn keys_of_annotations_have_a_domain() {
        let said = |annotations: Value| -> Vec<String> {
            wrong_annotations(&annotations, "a").iter().map(FieldError::message).collect()
        };
        assert_eq!(said(json!({"a.io/B": "any"})), [""; 0]);
        let what = "a: Invalid value: \"plain\": must be a domain-prefixed key (such as \"acme.io/foo\")";
        assert_eq!(said(json!({"plain": "any"})), [what]);
    }
}
