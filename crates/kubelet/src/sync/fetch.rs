use std::collections::{BTreeMap, BTreeSet};

use coracle_api::certificates_v1::ClusterTrustBundle;
use coracle_api::core_v1::{ConfigMap, Pod, Secret};
use coracle_client::{Api, Error};
use coracle_meta::ObjectKey;

use coracle_container_programs::{ProjectedSource, Reference, SourceKind, Texts, text_of};

use crate::certificates::trust_anchors;

/// Fetches the ConfigMaps and Secrets that a pod refers to.
///
/// # Errors
/// The error of the API server, except not found.
pub(crate) async fn fetch(
    maps: &Api<ConfigMap>,
    secrets: &Api<Secret>,
    namespace: &str,
    wanted: BTreeSet<Reference>,
) -> Result<BTreeMap<Reference, Option<Texts>>, Error> {
    let mut found = BTreeMap::new();
    for reference in wanted {
        let key = ObjectKey::new(namespace, reference.1.as_str());
        let data = match reference.0 {
            SourceKind::ConfigMap => {
                maps.find(&key).await?.map(|map| map.data.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
            SourceKind::Secret => secrets
                .find(&key)
                .await?
                .map(|secret| secret.data.into_iter().map(|(key, value)| (key, text_of(&value).into())).collect()),
        };
        found.insert(reference, data);
    }
    Ok(found)
}

/// Fetches the trust bundles of the projected volumes of a pod.
pub(crate) async fn fetch_trust_bundles(
    bundles: &Api<ClusterTrustBundle>,
    pod: &Pod,
) -> BTreeMap<ProjectedSource, Result<Texts, String>> {
    let mut found = BTreeMap::new();
    for volume in &pod.spec.volumes {
        for (at, source) in volume.projected.iter().flat_map(|projected| &projected.sources).enumerate() {
            let Some(source) = source.cluster_trust_bundle.as_deref() else { continue };
            let anchors = trust_anchors(bundles, source).await;
            let files = anchors.map(|anchors| Texts::from([(source.path.clone(), anchors.into())]));
            found.insert((volume.name.clone(), at), files);
        }
    }
    found
}
