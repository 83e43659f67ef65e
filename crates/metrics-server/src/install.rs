use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Status};
use coracle_registry::{DeleteOptions, GetOptions, Registry, Request, Verb};
use coracle_resources::create_if_missing;

use crate::manifests::{SIMULATED, api_service_name, manifests};
use crate::versions;

/// Creates the objects of the metrics server, and deletes each APIService that an earlier start created for a version
/// that is not served.
///
/// # Errors
/// If the API server refuses a write.
pub async fn settle(registry: &Registry, is_there: bool) -> Result<(), Status> {
    let served = if is_there { versions::of(registry) } else { &[] };
    if is_there {
        for object in manifests(served) {
            create_if_missing(registry, object).await?;
        }
    }
    for version in versions::ALL.iter().filter(|version| !served.contains(version)) {
        delete_own(registry, &api_service_name(version)).await?;
    }
    Ok(())
}

/// Deletes an APIService, unless another process serves it.
async fn delete_own(registry: &Registry, name: &str) -> Result<(), Status> {
    let api_services = GroupVersionResource::new("apiregistration.k8s.io", "v1", "apiservices");
    let about = |verb| Request::new(verb, api_services.clone(), registry.ambient().clock.now()).object("", name);
    match registry.get(&about(Verb::Get), &GetOptions::default()).await {
        Ok(found) if found.object().at("metadata.annotations").get(SIMULATED).is_some() => {
            registry.delete(&about(Verb::Delete), &DeleteOptions::default()).await.map(drop)
        }
        Err(status) if !status.is_not_found() => Err(status),
        _ => Ok(()),
    }
}
