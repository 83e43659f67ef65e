use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Status};
use coracle_registry::{DeleteOptions, GetOptions, Registry, Request, Verb};
use coracle_resources::create_if_missing;

use crate::manifests::{API_SERVICE, SIMULATED, manifests};

/// Creates the objects of the metrics server, or deletes the APIService that an earlier start created.
///
/// # Errors
/// If the API server refuses a write.
pub async fn settle(registry: &Registry, is_there: bool) -> Result<(), Status> {
    if is_there {
        for object in manifests() {
            create_if_missing(registry, object).await?;
        }
        return Ok(());
    }
    let api_services = GroupVersionResource::new("apiregistration.k8s.io", "v1", "apiservices");
    let about = |verb| Request::new(verb, api_services.clone(), registry.ambient().clock.now()).object("", API_SERVICE);
    match registry.get(&about(Verb::Get), &GetOptions::default()).await {
        Ok(found) if found.object().at("metadata.annotations").get(SIMULATED).is_some() => {
            registry.delete(&about(Verb::Delete), &DeleteOptions::default()).await.map(drop)
        }
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}
