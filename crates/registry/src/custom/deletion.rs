use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use coracle_meta::{Object, Status};

use super::conditions::{is_established, set_condition};
use super::definition::{Definition, MANAGER, Version, resource};
use crate::{DeleteOptions, Derived, GetOptions, ListOptions, Lists, Registry, Request, Verb};

/// The finalizer that keeps a definition until its objects are deleted.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The interval of checks whether the objects of a terminating definition are deleted.
/// In Kubernetes: `CRDFinalizer.deleteInstances`.
const POLL: Duration = Duration::from_secs(5);

/// The condition with the progress of the deletion.
pub(super) const TERMINATING: &str = "Terminating";

/// Deletes all objects of a terminating definition, and then the definition. Returns whether objects are left.
pub(super) async fn finish(registry: &Registry, request: &Request, definition: &Definition) -> Result<bool, Status> {
    match delete_objects(registry, request, definition).await {
        Ok(true) => Ok(true),
        // Another request has finished the same definition, and its objects can no longer be listed.
        Err(_) if served_version(registry, definition).is_none() => Ok(false),
        Err(status) => Err(status),
        Ok(false) => release(registry, request, &definition.name).await.map(|()| false),
    }
}

/// Deletes all objects of a kind. Returns whether some are left.
async fn delete_objects(registry: &Registry, request: &Request, definition: &Definition) -> Result<bool, Status> {
    let Some(version) = served_version(registry, definition) else { return Ok(false) };
    let about = request.about(Verb::DeleteCollection, definition.resource(&version.name), "", "");
    registry.delete_collection(&about, &DeleteOptions::default(), &ListOptions::default()).await?;
    let about = request.about(Verb::List, definition.resource(&version.name), "", "");
    let left = registry.list(&about, &ListOptions { limit: 1, ..ListOptions::default() }).await?;
    Ok(!left.items.is_empty())
}

/// A version in which objects of the definition are served. Built-in kinds of the same name have other objects.
fn served_version<'d>(registry: &Registry, definition: &'d Definition) -> Option<&'d Version> {
    let kinds = registry.kinds();
    definition.versions.iter().find(|version| {
        let resource = definition.resource(&version.name);
        !kinds.is_taken(&resource) && kinds.resource(&resource).is_some()
    })
}

/// Removes the finalizer of a definition without objects.
async fn release(registry: &Registry, request: &Request, name: &str) -> Result<(), Status> {
    let about = Request { field_manager: MANAGER.to_owned(), ..request.about(Verb::Get, resource(), "", name) };
    let Some(stored) = registry.find(&about, &GetOptions::default()).await? else { return Ok(()) };
    let mut object = Object::clone(&stored.object());
    if !waits(&object) {
        return Ok(());
    }
    let (reason, message) = if is_established(&object) {
        ("InstanceDeletionCompleted", "removed all instances")
    } else {
        ("NeverEstablished", "resource was never established")
    };
    set_condition(&mut object, TERMINATING, false, reason, message, request);
    object.set_finalizers(object.finalizers().into_iter().filter(|finalizer| finalizer != CLEANUP).collect());
    let about = Request { verb: Verb::Update, ..about }.subresource("status");
    match registry.update(&about, object).await {
        // The next round sees the conflicting write.
        Err(status) if status.is_not_found() || status.is_conflict() => Ok(()),
        other => other.map(|_| ()),
    }
}

/// Whether a definition waits for the deletion of its objects.
fn waits(object: &Object) -> bool {
    object.is_terminating() && object.finalizers().iter().any(|finalizer| finalizer == CLEANUP)
}

/// The names of the definitions that wait for the deletion of their objects.
fn waiting(lists: &Lists, _before: &BTreeSet<String>) -> BTreeSet<String> {
    let waiting = lists.of(&resource()).filter(|object| waits(object));
    waiting.map(|object| object.name().to_owned()).collect()
}

/// One check of all waiting definitions; an error causes another check.
async fn look(registry: Registry, names: Arc<BTreeSet<String>>) -> Result<(), Status> {
    let mut left = Vec::new();
    for name in &*names {
        let request = Request::new(Verb::Get, resource(), registry.ambient().clock.now());
        let about = request.about(Verb::Get, resource(), "", name);
        let Some(stored) = registry.find(&about, &GetOptions::default()).await? else { continue };
        if finish(&registry, &request, &Definition::read(&stored.object())).await? {
            left.push(name.as_str());
        }
    }
    if left.is_empty() { Ok(()) } else { Err(Status::internal(format!("objects are left of {}", left.join(", ")))) }
}

impl Registry {
    /// Deletes the objects of terminating definitions and, when no objects are left, the definitions. This covers
    /// objects with finalizers, and definitions that a stopped API server has left behind. Runs until it is dropped.
    ///
    /// In Kubernetes: `CRDFinalizer`.
    pub async fn finish_custom_kinds(&self) -> Infallible {
        Derived::new(|_| vec![resource()], waiting).retried_after(POLL).follow(self, look).await
    }
}
