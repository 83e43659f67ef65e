//! The sources of projected volumes that name signers: trust bundles and pod certificates.

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::{Value, json};

use super::paths::unreserved_path;
use crate::certificates::cluster_trust_bundle;
use crate::certificates::pod_certificate_request::{SHORTEST, longest, wrong_annotations};
use crate::certificates::signer_name;
use crate::field_checks::{Wrong, label_selector};

const KEY_TYPES: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

/// The paths of files of a source, in the order in which they are compared with those of others.
pub(super) fn paths_of<'a>(kind: &str, source: &'a Value) -> Vec<&'a str> {
    match kind {
        "clusterTrustBundle" => vec![source.text("path")],
        "podCertificate" => PATHS.iter().map(|field| source.text(field)).filter(|path| !path.is_empty()).collect(),
        _ => Vec::new(),
    }
}

const PATHS: [&str; 3] = ["credentialBundlePath", "keyPath", "certificateChainPath"];

/// The errors of a trust bundle as a source.
pub(super) fn wrong_trust_bundle(source: &Value, path: &str) -> Wrong {
    let (name, signer, selector) = (source.at("name"), source.at("signerName"), source.at("labelSelector"));
    let mut wrong = Wrong::new();
    match (name.as_str(), signer.as_str()) {
        (Some(_), Some(_)) => {
            let what = "only one of name and signerName may be used";
            wrong.push(FieldError::invalid(path, Value::Null, what).printed_as(go_trust_bundle(source)));
        }
        (Some(name), None) => {
            let at = format!("{path}.name");
            if name.is_empty() {
                wrong.push(FieldError::required(&at, "must be a valid object name"));
            }
            for what in cluster_trust_bundle::wrong_name(name, &signer_of(name)) {
                wrong.push(FieldError::invalid(&at, name, format!("not a valid clustertrustbundlename: {what}")));
            }
            if !selector.is_null() {
                let what = "labelSelector must be unset if name is specified";
                wrong.push(FieldError::invalid(format!("{path}.labelSelector"), selector.clone(), what));
            }
        }
        (None, Some(signer)) => {
            let at = format!("{path}.signerName");
            if signer.is_empty() {
                wrong.push(FieldError::required(&at, "must be a valid signer name"));
            }
            wrong.extend(signer_name::wrong(signer, &at));
            wrong.extend(label_selector(selector, &format!("{path}.labelSelector")));
        }
        (None, None) => wrong.push(FieldError::required(path, "either name or signerName must be specified")),
    }
    let (own, at) = (source.text("path"), format!("{path}.path"));
    if own.is_empty() {
        wrong.push(FieldError::required(&at, ""));
    }
    wrong.extend(unreserved_path(own, &at));
    wrong
}

/// The signer that the name of a bundle says. In Kubernetes: `extractSignerNameFromClusterTrustBundleName`.
fn signer_of(name: &str) -> String {
    name.rsplit_once(':').map(|(signer, _)| signer.replacen(':', "/", 1)).unwrap_or_default()
}

/// The source as Go prints its internal type.
fn go_trust_bundle(source: &Value) -> String {
    let fields = [
        ("Name", "name"),
        ("SignerName", "signerName"),
        ("LabelSelector", "labelSelector"),
        ("Optional", "optional"),
        ("Path", "path"),
        ("User", "user"),
    ];
    let printed = fields.map(|(go, field)| format!("{}:{}", json!(go), source.at(field)));
    format!("{{{}}}", printed.join(","))
}

/// The errors of a pod certificate as a source.
pub(super) fn wrong_pod_certificate(source: &Value, path: &str) -> Wrong {
    let signer = source.text("signerName");
    let mut wrong = signer_name::wrong(signer, &format!("{path}.signerName"));
    wrong.extend(wrong_annotations(source.at("userAnnotations"), &format!("{path}.userAnnotations")));
    let key = source.text("keyType");
    if !KEY_TYPES.contains(&key) {
        wrong.push(FieldError::not_supported(format!("{path}.keyType"), key, &KEY_TYPES));
    }
    if let Some(seconds) = source.at("maxExpirationSeconds").as_i64() {
        let mut refuse = |what: String| {
            wrong.push(FieldError::invalid(format!("{path}.maxExpirationSeconds"), seconds, what));
        };
        if seconds < SHORTEST {
            refuse(format!("if provided, maxExpirationSeconds must be >= {SHORTEST}"));
        }
        let longest = longest(signer);
        if seconds > longest {
            refuse(format!("if provided, maxExpirationSeconds must be <= {longest}"));
        }
    }
    let mut has_path = false;
    for field in PATHS {
        let own = source.text(field);
        if !own.is_empty() {
            has_path = true;
            wrong.extend(unreserved_path(own, &format!("{path}.{field}")));
        }
    }
    if !has_path {
        let what = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        wrong.push(FieldError::required(path, what));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(wrong: &[FieldError]) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_trust_bundle_is_named_by_its_name_or_its_signer() {
        let of = |source: Value| said(&wrong_trust_bundle(&source, "s"));
        assert_eq!(of(json!({"name": "example.com:s:one", "path": "p"})), [""; 0]);
        assert_eq!(of(json!({"signerName": "example.com/s", "path": "p"})), [""; 0]);
        assert_eq!(of(json!({"path": "p"})), ["s: Required value: either name or signerName must be specified"]);
        let both = of(json!({"name": "x", "signerName": "example.com/s", "path": "p"}));
        assert!(
            both[0].contains("{\"Name\":\"x\",\"SignerName\":\"example.com/s\",\"LabelSelector\":null"),
            "{both:?}"
        );
    }

    #[test]
    fn a_pod_certificate_needs_a_file_and_lives_as_long_as_its_signer_allows() {
        let of = |seconds: i64, signer: &str| {
            let source =
                json!({"signerName": signer, "keyType": "ED25519", "maxExpirationSeconds": seconds, "keyPath": "k"});
            said(&wrong_pod_certificate(&source, "s")).len()
        };
        assert_eq!(
            [of(3600, "a.io/b"), of(100_000, "a.io/b"), of(100_000, "kubernetes.io/b"), of(5, "a.io/b")],
            [0, 0, 1, 1]
        );
        assert_eq!([of(100_000, "x.kubernetes.io/b"), of(100_000, "notkubernetes.io/b")], [1, 0]);
        let none = said(&wrong_pod_certificate(&json!({"signerName": "a.io/b", "keyType": "ED25519"}), "s"));
        assert!(none[0].contains("specify at least one of"), "{none:?}");
    }
}
