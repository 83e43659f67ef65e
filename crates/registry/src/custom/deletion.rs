use coracle_meta::{Object, Status};

use super::definition::{Definition, MANAGER, Version, resource};
use crate::{DeleteOptions, ListOptions, Registry, Request, Verb};

/// What keeps a definition until its objects are gone.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Deletes all objects of a kind whose definition goes, and then the definition.
pub(super) async fn delete_objects(
    registry: &Registry,
    request: &Request,
    definition: &Definition,
) -> Result<(), Status> {
    if let Some(version) = served_version(registry, definition) {
        let about = request.about(Verb::DeleteCollection, definition.resource(&version.name), "", "");
        registry.delete_collection(&about, &DeleteOptions::default(), &ListOptions::default()).await?;
    }
    finish_deletion(registry, request, &definition.name).await
}

fn served_version<'d>(registry: &Registry, definition: &'d Definition) -> Option<&'d Version> {
    definition.versions.iter().find(|version| registry.kind(&definition.resource(&version.name)).is_some())
}

/// Lets a definition go whose objects are gone. Called whenever one of them went.
pub(super) async fn finish_deletion(registry: &Registry, request: &Request, name: &str) -> Result<(), Status> {
    let about = Request { field_manager: MANAGER.to_owned(), ..request.about(Verb::Get, resource(), "", name) };
    let stored = match registry.get(&about, &crate::GetOptions::default()).await {
        Ok(stored) => stored,
        Err(status) if status.is_not_found() => return Ok(()),
        Err(status) => return Err(status),
    };
    let mut object = Object::clone(&stored.object());
    if !object.is_terminating() {
        return Ok(());
    }
    let definition = Definition::read(&object);
    if let Some(version) = served_version(registry, &definition) {
        let about = request.about(Verb::List, definition.resource(&version.name), "", "");
        let left = registry.list(&about, &ListOptions { limit: 1, ..ListOptions::default() }).await?;
        if !left.items.is_empty() {
            return Ok(());
        }
    }
    object.set_finalizers(object.finalizers().into_iter().filter(|finalizer| finalizer != CLEANUP).collect());
    let about = Request { verb: Verb::Update, ..about };
    match registry.update(&about, object).await {
        // Whoever came between has seen to it, or will.
        Err(status) if status.is_not_found() || status.is_conflict() => Ok(()),
        other => other.map(|_| ()),
    }
}
