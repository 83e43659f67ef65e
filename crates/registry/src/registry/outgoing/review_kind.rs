use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, go_quote};
use serde_json::Value;

/// Checks whether a response can be decoded as the review that was sent: its kind can be missing, but another kind or
/// another version is refused.
///
/// In Kubernetes: the codec of `webhook.ClientManager`, which knows `versions` of `kind`.
///
/// # Errors
/// Why it cannot, in Go's words.
pub fn check_review_kind(answer: &Value, kind: &str, expected: &GroupVersion, versions: &[&str]) -> Result<(), String> {
    let text = answer.text("apiVersion");
    let mut found = match GroupVersion::parse(text) {
        _ if text.is_empty() => expected.clone(),
        Some(found) => found,
        None => return Err(format!("unexpected GroupVersion string: {text}")),
    };
    if found.version.is_empty() && found.group == expected.group {
        found.version.clone_from(&expected.version);
    }
    let found_kind = if answer.text("kind").is_empty() { kind } else { answer.text("kind") };
    let is_known = found_kind == kind && found.group == expected.group && versions.contains(&found.version.as_str());
    if !is_known {
        let (found_kind, found) = (go_quote(found_kind), go_quote(&found.to_string()));
        let scheme = "k8s.io/apiserver/pkg/util/webhook/client.go:71";
        return Err(format!("no kind {found_kind} is registered for version {found} in scheme {}", go_quote(scheme)));
    }
    if found != *expected {
        let (from, to) = (&found.version, &expected.version);
        return Err(format!("converting ({from}.{kind}) to ({to}.{kind}): unknown conversion"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_of_another_kind_or_version_is_no_review() {
        let expected = GroupVersion::new("admission.k8s.io", "v1");
        let check = |answer: Value| check_review_kind(&answer, "AdmissionReview", &expected, &["v1", "v1beta1"]);
        assert_eq!(check(json!({})), Ok(()));
        assert_eq!(check(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})), Ok(()));
        let registered = |kind: &str, version: &str| {
            format!(
                "no kind \"{kind}\" is registered for version \"{version}\" in scheme \
                 \"k8s.io/apiserver/pkg/util/webhook/client.go:71\""
            )
        };
        for (answer, why) in [
            (json!({"apiVersion": "admission.k8s.io/v1", "kind": "Other"}), registered("Other", "admission.k8s.io/v1")),
            (json!({"apiVersion": "v1", "kind": "AdmissionReview"}), registered("AdmissionReview", "v1")),
            (
                json!({"apiVersion": "admission.k8s.io/v1beta1"}),
                "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion".to_owned(),
            ),
            (json!({"apiVersion": "a/b/c"}), "unexpected GroupVersion string: a/b/c".to_owned()),
        ] {
            assert_eq!(check(answer), Err(why));
        }
    }
}
