use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{Object, Status};
use coracle_release::Release;
use serde_json::{Value, json};

use super::check::{check, check_status, check_update, warnings};
use super::conditions::{holds, is_established, set_condition};
use super::custom_kind::CustomKind;
use super::definition::{Definition, MANAGER, list, resource};
use super::deletion::{self, CLEANUP, TERMINATING};
use super::former_version;
use super::names_acceptance::NamesInUse;
use crate::{Former, GetOptions, Hooks, KindSpec, ListOptions, Registry, Request, Verb};

/// CustomResourceDefinitions: the kinds that they define are served as soon as they are stored.
pub fn definitions(release: &Release) -> KindSpec {
    KindSpec {
        store_directory: "apiextensions.k8s.io/customresourcedefinitions".to_owned(),
        former_versions: &[("apiextensions.k8s.io/v1beta1", Former::Json(former_version::to_v1))],
        set_defaults: |object, _| set_defaults(object),
        takes_any_finalizer: true,
        prepare_create: |object, _, _| {
            let names = json!({"kind": "", "plural": ""});
            object.set("status", json!({"acceptedNames": names, "conditions": null, "storedVersions": null}));
            remember_stored_version(object);
        },
        prepare_update: |new, _, _, _| remember_stored_version(new),
        validate_create: |object, _| check(object),
        validate_change: |new, old, _| check_update(new, old),
        validate_status: |new, old, _| check_status(new, old),
        warnings,
        disowned_by_status: if release.has("DefinitionStatusesOwnMetadata") { &[] } else { &["metadata"] },
        begin_delete: |object, request| {
            let mut finalizers = object.finalizers();
            finalizers.push(CLEANUP.to_owned());
            object.set_finalizers(finalizers);
            let message = "CustomResource deletion is in progress";
            set_condition(object, TERMINATING, true, "InstanceDeletionInProgress", message, request);
        },
        is_held: |object| !object.is_terminating() || object.finalizers().iter().any(|finalizer| finalizer == CLEANUP),
        hooks: Arc::new(ServeDefined),
        ..KindSpec::built_in(release, "apiextensions.k8s.io", "v1", "customresourcedefinitions")
    }
}

fn set_defaults(object: &mut Object) {
    let kind = object.text("spec.names.kind").to_owned();
    if object.text("spec.names.singular").is_empty() && !kind.is_empty() {
        object.set("spec.names.singular", kind.to_lowercase());
    }
    if object.text("spec.names.listKind").is_empty() && !kind.is_empty() {
        object.set("spec.names.listKind", format!("{kind}List"));
    }
    if object.field("spec.conversion").is_none_or(Value::is_null) {
        object.set("spec.conversion.strategy", "None");
    }
    if object.texts("status.storedVersions").is_empty() {
        remember_stored_version(object);
    }
    if object.field("spec.conversion.webhook.clientConfig.service").is_some_and(|service| service.get("port").is_none())
    {
        object.set("spec.conversion.webhook.clientConfig.service.port", 443);
    }
}

/// Serves the kinds of definitions, and stops when these are deleted.
struct ServeDefined;

#[async_trait]
impl Hooks for ServeDefined {
    async fn after(
        &self,
        registry: &Registry,
        request: &Request,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), Status> {
        match new {
            None => {
                let Some(old) = old else { return Ok(()) };
                registry.stop_serving(&Definition::read(old));
                registry.accept_freed_names(request, old).await
            }
            Some(new) if new.is_terminating() => {
                let definition = Definition::read(new);
                // Before the objects are deleted, so that none is created after that.
                if is_established(new) {
                    registry.serve_while_stored(request, &definition).await?;
                }
                if old.is_some_and(Object::is_terminating) {
                    Ok(())
                } else {
                    deletion::finish(registry, request, &definition).await.map(drop)
                }
            }
            Some(new) => {
                registry.establish(request, new).await?;
                if old.is_some_and(|old| frees_names(new, old)) {
                    registry.accept_freed_names(request, new).await
                } else {
                    Ok(())
                }
            }
        }
    }
}

/// Adds the storage version to the stored versions in the status.
fn remember_stored_version(object: &mut Object) {
    let value = object.as_value();
    let storage = list(value, "/spec/versions").iter().find(|version| version["storage"] == true);
    let Some(name) = storage.and_then(|version| version["name"].as_str()) else { return };
    let mut stored = object.texts("status.storedVersions");
    if !stored.iter().any(|known| known == name) {
        stored.push(name.to_owned());
        object.set("status.storedVersions", stored);
    }
}

/// Whether a definition has lost accepted names.
fn frees_names(new: &Object, old: &Object) -> bool {
    let accepted = |object: &Object| object.field("status.acceptedNames").cloned().unwrap_or_default();
    let (new, old) = (accepted(new), accepted(old));
    let is_empty = |value: &Value| *value == "" || value.is_null();
    old.as_object().is_some_and(|old| old.iter().any(|(field, name)| !is_empty(name) && new.get(field) != Some(name)))
}

impl Registry {
    /// Serves the kinds of the stored definitions. Must be called once, before the first request.
    ///
    /// # Errors
    /// The definitions cannot be read.
    pub async fn load_custom_kinds(&self) -> Result<(), Status> {
        let now = self.ambient().clock.now();
        let request = Request::new(Verb::List, resource(), now);
        if self.kind(&resource()).is_none() {
            return Ok(());
        }
        for stored in self.list_readable(&request, &ListOptions::default()).await?.items {
            let object = stored.object();
            if is_established(&object) {
                self.serve(&Definition::read(&object));
            } else {
                self.establish(&request.about(Verb::Update, resource(), "", object.name()), &object).await?;
            }
        }
        Ok(())
    }

    /// Accepts the names of a definition, serves its kinds, and writes its status.
    async fn establish(&self, request: &Request, object: &Object) -> Result<(), Status> {
        let definition = Definition::read(object);
        let accepted = self.names_in_use(request, object).await?.accept(object);
        let mut changed = object.clone();
        let mut is_changed = object.field("status.acceptedNames") != Some(&accepted.names);
        changed.set("status.acceptedNames", accepted.names);
        let mut set = |kind: &str, holds: bool, reason: &str, message: &str| {
            is_changed |= set_condition(&mut changed, kind, holds, reason, message, request);
        };
        match &accepted.conflict {
            None => {
                set("NamesAccepted", true, "NoConflicts", "no conflicts found");
                set("Established", true, "InitialNamesAccepted", "the initial names have been accepted");
            }
            Some((reason, message)) => {
                set("NamesAccepted", false, reason, message);
                if !is_established(object) {
                    set("Established", false, "NotAccepted", "not all names are accepted");
                }
            }
        }
        if accepted.conflict.is_none() || is_established(object) {
            self.serve_while_stored(request, &definition).await?;
        }
        if !is_changed {
            return Ok(());
        }
        let about = request.about(Verb::Update, resource(), "", object.name()).subresource("status");
        let about = Request { field_manager: MANAGER.to_owned(), ..about };
        match self.update(&about, changed).await {
            // The conflicting write establishes the definition itself.
            Err(status) if status.is_conflict() || status.is_not_found() => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// The definitions of the group of a definition, without itself.
    async fn siblings(&self, request: &Request, definition: &Object) -> Result<Vec<Arc<Object>>, Status> {
        let about = request.about(Verb::List, resource(), "", "");
        let all = self.list(&about, &ListOptions::default()).await?.items;
        let (name, group) = (definition.name(), definition.text("spec.group"));
        let objects = all.iter().map(|stored| stored.object());
        Ok(objects.filter(|other| other.name() != name && other.text("spec.group") == group).collect())
    }

    async fn names_in_use(&self, request: &Request, definition: &Object) -> Result<NamesInUse, Status> {
        let mut used = NamesInUse::default();
        self.siblings(request, definition).await?.iter().for_each(|other| used.add(other));
        Ok(used)
    }

    /// Processes the definitions of a group that wait for names again, because another definition has lost some.
    async fn accept_freed_names(&self, request: &Request, definition: &Object) -> Result<(), Status> {
        for other in self.siblings(request, definition).await? {
            if !holds(&other, "NamesAccepted") && !other.is_terminating() {
                self.establish(&request.about(Verb::Update, resource(), "", other.name()), &other).await?;
            }
        }
        Ok(())
    }

    /// Serves the kinds of a definition that was just written. Another request may have deleted the definition in the
    /// meantime, and stopped serving its kinds before they were served.
    async fn serve_while_stored(&self, request: &Request, definition: &Definition) -> Result<(), Status> {
        let about = request.about(Verb::Get, resource(), "", &definition.name);
        self.serve(definition);
        if self.find(&about, &GetOptions::default()).await?.is_some() {
            return Ok(());
        }
        self.stop_serving(definition);
        // Another request may have created a definition of the same name between the two.
        match self.find(&about, &GetOptions::default()).await?.map(|stored| stored.object()) {
            Some(object) if is_established(&object) => self.serve(&Definition::read(&object)),
            _ => {}
        }
        Ok(())
    }

    /// Serves the kinds of a definition, and stops serving its unserved versions. Built-in kinds are never replaced.
    pub(super) fn serve(&self, definition: &Definition) {
        let kinds = self.kinds();
        let mut versions = CustomKind::all(self.release(), definition);
        versions.retain(|strategy| !kinds.is_taken(&strategy.spec().row.resource()));
        versions.iter().for_each(|strategy| self.add_kind(strategy));
        let served: BTreeSet<&str> =
            versions.iter().map(|strategy| strategy.spec().row.kind.version.as_str()).collect();
        for kind in kinds.iter() {
            let gvr = kind.gvr();
            let is_own = gvr.group == definition.group && gvr.resource == definition.names.plural;
            if is_own && !served.contains(gvr.version.as_str()) && !kinds.is_taken(&gvr) {
                self.remove_kind(&gvr);
            }
        }
    }

    pub(super) fn stop_serving(&self, definition: &Definition) {
        let kinds = self.kinds();
        for version in &definition.versions {
            let resource = definition.resource(&version.name);
            if !kinds.is_taken(&resource) {
                self.remove_kind(&resource);
            }
        }
    }
}
