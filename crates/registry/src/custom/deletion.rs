use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use coracle_meta::{Object, Status};

use super::conditions::{is_established, set_condition};
use super::definition::{Definition, MANAGER, Version, resource};
use crate::{DeleteOptions, Derived, GetOptions, ListOptions, Lists, Registry, Request, Verb};

/// What keeps a definition until its objects are gone.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// How often the server looks whether the objects of a terminating definition are gone.
/// In Kubernetes: `CRDFinalizer.deleteInstances`.
const POLL: Duration = Duration::from_secs(5);

/// The condition that shows how far the deletion of a definition is.
pub(super) const TERMINATING: &str = "Terminating";

/// Deletes all objects of a kind whose definition is terminating, and then the definition. Reports whether objects are
/// left.
pub(super) async fn finish(registry: &Registry, request: &Request, definition: &Definition) -> Result<bool, Status> {
    match delete_objects(registry, request, definition).await {
        Ok(true) => Ok(true),
        // Another request has finished the same definition, and its objects can no longer be listed.
        Err(_) if served_version(registry, definition).is_none() => Ok(false),
        Err(status) => Err(status),
        Ok(false) => release(registry, request, &definition.name).await.map(|()| false),
    }
}

/// Deletes all objects of a kind. Reports whether some are left.
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

/// Removes the finalizer of a definition whose objects are gone.
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
        // The write that came between is seen by the next round.
        Err(status) if status.is_not_found() || status.is_conflict() => Ok(()),
        other => other.map(|_| ()),
    }
}

/// Whether a definition waits for its objects to go.
fn waits(object: &Object) -> bool {
    object.is_terminating() && object.finalizers().iter().any(|finalizer| finalizer == CLEANUP)
}

/// The names of the definitions that wait for their objects to go.
fn waiting(lists: &Lists, _before: &BTreeSet<String>) -> BTreeSet<String> {
    let waiting = lists.of(&resource()).filter(|object| waits(object));
    waiting.map(|object| object.name().to_owned()).collect()
}

/// One look at all definitions that wait; an error is the reason to look again.
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
    /// Deletes the objects of terminating definitions and, when none is left, the definitions: those whose objects wait
    /// for finalizers, and those that an API server that stopped has left. Runs until it is dropped.
    ///
    /// In Kubernetes: `CRDFinalizer`.
    pub async fn finish_custom_kinds(&self) -> Infallible {
        Derived::new(|_| vec![resource()], waiting).retried_after(POLL).follow(self, look).await
    }
}
