//! The trust anchors of a projected volume.
//!
//! In Kubernetes: `pkg/kubelet/clustertrustbundle`. Unlike Kubernetes: the node reads the bundles when a volume is
//! mounted and when a program reads the file, and keeps no cache. The anchors are in the order of their bytes, in all
//! volumes; Kubernetes shuffles them.

use std::collections::BTreeSet;

use coracle_api::certificates_v1::ClusterTrustBundle;
use coracle_api::core_v1::ClusterTrustBundleProjection;
use coracle_api::meta_v1::LabelSelector;
use coracle_client::{Api, ListParams};
use coracle_meta::{ObjectKey, Resource};

use super::certificate_blocks::{blocks_of, certificates};

/// The trust anchors of a source, PEM, or why there are none.
pub(crate) async fn trust_anchors(
    api: &Api<ClusterTrustBundle>,
    source: &ClusterTrustBundleProjection,
) -> Result<String, String> {
    let is_optional = source.optional.unwrap_or(false);
    let bundles = match (&source.name, &source.signer_name) {
        (Some(name), _) => match api.find(&ObjectKey::cluster(name.as_str())).await {
            Ok(Some(bundle)) => vec![bundle],
            Ok(None) if is_optional => return Ok(String::new()),
            Ok(None) => {
                let why = format!("clustertrustbundle.certificates.k8s.io {name:?} not found");
                return Err(format!("while getting ClusterTrustBundle: {why}"));
            }
            Err(error) => return Err(format!("while getting ClusterTrustBundle: {error}")),
        },
        (None, Some(signer)) => {
            let listed = api.list_all(&ListParams::fields(format!("spec.signerName={signer}"))).await;
            let found = listed.map_err(|error| format!("while listing ClusterTrustBundles: {error}"))?;
            let found = selected(found.items, source.label_selector.as_deref());
            if found.is_empty() && !is_optional {
                return Err("combination of signerName and labelSelector matched zero ClusterTrustBundles".to_owned());
            }
            found
        }
        (None, None) => {
            return Err("ClusterTrustBundle projection requires either name or signerName to be set".to_owned());
        }
    };
    Ok(normalized(&bundles))
}

/// The bundles with these labels: no selector selects nothing, and an empty one everything.
fn selected(bundles: Vec<ClusterTrustBundle>, selector: Option<&LabelSelector>) -> Vec<ClusterTrustBundle> {
    let selector = LabelSelector::of_object(selector);
    bundles.into_iter().filter(|bundle| selector.matches(&bundle.meta().labels)).collect()
}

/// The anchors of all bundles, each once. In Kubernetes: `normalizeTrustAnchors`.
fn normalized(bundles: &[ClusterTrustBundle]) -> String {
    let anchors: BTreeSet<_> = bundles.iter().flat_map(|bundle| blocks_of(&bundle.spec.trust_bundle)).collect();
    certificates(anchors)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bundle(label: &str, anchors: &[u8]) -> ClusterTrustBundle {
        let text = certificates(anchors.iter().map(|anchor| vec![*anchor]));
        let bundle = json!({"metadata": {"name": "b", "labels": {"l": label}}, "spec": {"trustBundle": text}});
        serde_json::from_value(bundle).unwrap()
    }

    #[test]
    fn anchors_are_merged_without_repetition_in_one_order() {
        let merged = certificates([vec![1], vec![2], vec![3]]);
        assert_eq!(normalized(&[bundle("a", &[3, 1]), bundle("b", &[2, 3])]), merged);
        assert_eq!(normalized(&[bundle("b", &[3, 2]), bundle("a", &[1])]), merged);
    }

    #[test]
    fn no_selector_selects_nothing_and_an_empty_one_everything() {
        let of = |selector: Option<LabelSelector>| {
            let found = selected(vec![bundle("a", &[1]), bundle("b", &[2])], selector.as_ref());
            found.into_iter().map(|bundle| bundle.metadata.labels["l"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(of(None), [""; 0]);
        assert_eq!(of(Some(LabelSelector::default())), ["a", "b"]);
        let one = serde_json::from_value(json!({"matchLabels": {"l": "b"}})).unwrap();
        assert_eq!(of(Some(one)), ["b"]);
    }
}
