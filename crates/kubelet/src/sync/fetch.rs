use std::collections::{BTreeMap, BTreeSet};

use coracle_api::core_v1::{ConfigMap, Secret};
use coracle_client::{Api, Error};
use coracle_meta::ObjectKey;

use coracle_container_programs::{Reference, SourceKind, Sources, text_of};

/// Fetches the ConfigMaps and Secrets that a pod refers to.
///
/// # Errors
/// The error of the API server, except not found.
pub(crate) async fn fetch(
    maps: &Api<ConfigMap>,
    secrets: &Api<Secret>,
    namespace: &str,
    wanted: BTreeSet<Reference>,
) -> Result<Sources, Error> {
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
    Ok(Sources(found))
}
