use coracle_meta::{FieldRequirement, FieldSelector, GroupVersionResource, Status};
use coracle_registry::{ListOptions, Registry, Request, ServedWatch, Verb};

pub(crate) fn config_maps() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "configmaps")
}

/// A watch of one ConfigMap, which begins with the existing object.
pub(crate) async fn changes(registry: &Registry, namespace: &str, name: &str) -> Result<ServedWatch, Status> {
    let request = Request::new(Verb::Watch, config_maps(), registry.ambient().clock.now()).object(namespace, "");
    let named = FieldRequirement { field: "metadata.name".to_owned(), value: name.to_owned(), equal: true };
    let field_selector = FieldSelector { requirements: vec![named] };
    let options = ListOptions { field_selector, resource_version: "0".to_owned(), ..ListOptions::default() };
    registry.watch(&request, &options).await
}
