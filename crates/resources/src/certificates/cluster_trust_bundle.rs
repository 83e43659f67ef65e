use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;

use super::{signer_name, trust_anchors};
use crate::built_in::built_in;
use crate::cells::text_or;
use crate::field_checks::{IMMUTABLE, Wrong, each_invalid};

const SIGNER: &str = "spec.signerName";
const BUNDLE: &str = "spec.trustBundle";

/// `clustertrustbundles.certificates.k8s.io`. In Kubernetes: `pkg/registry/certificates/clustertrustbundle`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        // The valid names depend on the signer.
        name: |_| Vec::new(),
        validate: |object, _| wrong(object),
        validate_create: |bundle, _| trust_anchors::wrong(bundle.text(BUNDLE), BUNDLE),
        validate_change: |new, old, _| wrong_change(new, old),
        selectable: Some(&[SIGNER]),
        columns: columns(),
        ..built_in(release, "certificates.k8s.io", "v1", "clustertrustbundles")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "SignerName",
            "signerName indicates the associated signer, if any.\n\nIn order to create or update a ClusterTrustBundle that sets signerName, you must have the following cluster-scoped permission: group=certificates.k8s.io resource=signers resourceName=<the signer name> verb=attest.\n\nIf signerName is not empty, then the ClusterTrustBundle object must be named with the signer name as a prefix (translating slashes to colons). For example, for the signer name `example.com/foo`, valid ClusterTrustBundle object names include `example.com:foo:abc` and `example.com:foo:v1`.\n\nIf signerName is empty, then the ClusterTrustBundle object's name must not have such a prefix.\n\nList/watch requests for ClusterTrustBundles can filter on this field using a `spec.signerName=NAME` field selector.",
            |object| text_or(object.text(SIGNER), "<none>"),
        ),
    ]
}

/// In Kubernetes: `ValidateClusterTrustBundle`, without the bundle itself.
fn wrong(bundle: &Object) -> Wrong {
    let signer = bundle.text(SIGNER);
    let prefix = bundle.text("metadata.generateName");
    let mut wrong = Wrong::new();
    if !prefix.is_empty() {
        let sentences = wrong_name(&without_dash(prefix), signer);
        wrong.extend(each_invalid("metadata.generateName", prefix, sentences));
    }
    wrong.extend(each_invalid("metadata.name", bundle.name(), wrong_name(bundle.name(), signer)));
    if !signer.is_empty() {
        wrong.extend(signer_name::wrong(signer, SIGNER));
    }
    wrong
}

/// The errors of the name of a bundle of this signer. In Kubernetes: `ValidateClusterTrustBundleName`.
pub(crate) fn wrong_name(name: &str, signer: &str) -> Vec<String> {
    if name.is_empty() {
        return Vec::new();
    }
    if signer.is_empty() {
        if name.contains(':') {
            return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".to_owned()];
        }
        return names::dns1123_subdomain(name);
    }
    let prefix = format!("{}:", signer.replace('/', ":"));
    match name.strip_prefix(&prefix) {
        Some(rest) => names::dns1123_subdomain(rest),
        None => vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}")],
    }
}

/// A prefix as the beginning of a name: a dash at its end is not the end of the name.
fn without_dash(prefix: &str) -> String {
    prefix.strip_suffix('-').map_or_else(|| prefix.to_owned(), |rest| format!("{rest}a"))
}

/// In Kubernetes: `ValidateClusterTrustBundleUpdate`; an unchanged bundle is not read again.
fn wrong_change(new: &Object, old: &Object) -> Wrong {
    let bundle = new.text(BUNDLE);
    let mut wrong = Wrong::new();
    if bundle != old.text(BUNDLE) {
        wrong.extend(trust_anchors::wrong(bundle, BUNDLE));
    }
    if new.text(SIGNER) != old.text(SIGNER) {
        wrong.push(FieldError::invalid(SIGNER, new.text(SIGNER), IMMUTABLE));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(name: &str, signer: &str) -> Vec<String> {
        let bundle = json!({"metadata": {"name": name}, "spec": {"signerName": signer}});
        wrong(&Object::from_value(bundle).unwrap()).iter().map(FieldError::message).collect()
    }

    #[test]
    fn the_name_of_a_bundle_begins_with_its_signer() {
        assert_eq!(messages("example.com:s:a", "example.com/s"), [""; 0]);
        assert_eq!(messages("a", ""), [""; 0]);
        assert_eq!(
            messages("a", "example.com/s"),
            [
                "metadata.name: Invalid value: \"a\": ClusterTrustBundle for signerName example.com/s must be named with \
              prefix example.com:s:"
            ]
        );
        assert_eq!(
            messages("other:a", ""),
            [
                "metadata.name: Invalid value: \"other:a\": ClusterTrustBundle without signer name must not have \":\" in \
              its name"
            ]
        );
    }

    #[test]
    fn the_signer_stays_also_when_it_is_taken_away() {
        let bundle = |signer: &str| Object::from_value(json!({"spec": {"signerName": signer}})).unwrap();
        let without = Object::from_value(json!({"spec": {}})).unwrap();
        let said: Vec<String> = wrong_change(&without, &bundle("a.b/c")).iter().map(FieldError::message).collect();
        assert_eq!(said, ["spec.signerName: Invalid value: \"\": field is immutable"]);
        assert_eq!(wrong_change(&bundle("a.b/c"), &bundle("a.b/c")), []);
    }
}
