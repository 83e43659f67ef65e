use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{GroupVersionResource, Object, Status};
use serde_json::{Value, json};

use super::check::{check, check_status, check_update, warnings};
use super::conditions::{is_established, set_condition};
use super::custom_kind::CustomKind;
use super::definition::{Definition, MANAGER, list, resource};
use super::deletion::{self, CLEANUP, TERMINATING};
use super::former_version;
use crate::{Former, Hooks, KindSpec, ListOptions, Registry, Request, Verb};

/// CustomResourceDefinitions: they define kinds, which are served as soon as they are stored.
pub fn definitions() -> KindSpec {
    KindSpec {
        store_directory: "apiextensions.k8s.io/customresourcedefinitions".to_owned(),
        former_versions: &[("apiextensions.k8s.io/v1beta1", Former::Json(former_version::to_v1))],
        set_defaults,
        takes_any_finalizer: true,
        prepare_create: |object, _| {
            let names = json!({"kind": "", "plural": ""});
            object.set("status", json!({"acceptedNames": names, "conditions": null, "storedVersions": null}));
            remember_stored_version(object);
        },
        prepare_update: |new, _, _| remember_stored_version(new),
        validate_create: check,
        validate_change: check_update,
        validate_status: check_status,
        warnings,
        disowned_by_status: &["metadata"],
        begin_delete: |object, request| {
            let mut finalizers = object.finalizers();
            finalizers.push(CLEANUP.to_owned());
            object.set_finalizers(finalizers);
            let message = "CustomResource deletion is in progress";
            set_condition(object, TERMINATING, true, "InstanceDeletionInProgress", message, request);
        },
        is_held: |object| !object.is_terminating() || object.finalizers().iter().any(|finalizer| finalizer == CLEANUP),
        hooks: Arc::new(ServeDefined),
        ..KindSpec::built_in("apiextensions.k8s.io", "v1", "customresourcedefinitions")
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

/// Serves what definitions define, and stops when they go.
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
                if let Some(old) = old {
                    registry.stop_serving(&Definition::read(old));
                }
                Ok(())
            }
            Some(new) if new.is_terminating() => {
                let definition = Definition::read(new);
                // Before the objects are deleted, so that none is created after that.
                if is_established(new) {
                    registry.serve(&definition);
                }
                match old.is_some_and(Object::is_terminating) {
                    true => Ok(()),
                    false => deletion::finish(registry, request, &definition).await.map(drop),
                }
            }
            Some(new) => registry.establish(request, new).await,
        }
    }
}

/// Keeps in mind in which versions objects may be stored.
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

impl Registry {
    /// Serves the kinds that the stored definitions define. To be called once, before the first request.
    ///
    /// # Errors
    /// The definitions cannot be read.
    pub async fn load_custom_kinds(&self) -> Result<(), Status> {
        let now = self.ambient().clock.now();
        let request = Request::new(Verb::List, resource(), now);
        if self.kind(&resource()).is_none() {
            return Ok(());
        }
        for stored in self.list(&request, &ListOptions::default()).await?.items {
            let object = stored.object();
            if is_established(&object) {
                self.serve(&Definition::read(&object));
            } else {
                self.establish(&request.about(Verb::Update, resource(), "", object.name()), &object).await?;
            }
        }
        Ok(())
    }

    /// Accepts the names of a definition, serves its kinds, and says so in its status.
    async fn establish(&self, request: &Request, object: &Object) -> Result<(), Status> {
        let definition = Definition::read(object);
        let taken = self.taken_names(&definition);
        let mut changed = object.clone();
        let is_changed = match &taken {
            None => {
                let names = object.field("spec.names").cloned().unwrap_or_default();
                let renamed = object.field("status.acceptedNames") != Some(&names);
                changed.set("status.acceptedNames", names);
                let accepted = ("NoConflicts", "no conflicts found");
                let accepted = set_condition(&mut changed, "NamesAccepted", true, accepted.0, accepted.1, request);
                let established = ("InitialNamesAccepted", "the initial names have been accepted");
                let established =
                    set_condition(&mut changed, "Established", true, established.0, established.1, request);
                renamed || accepted || established
            }
            Some((reason, message)) => {
                let accepted = set_condition(&mut changed, "NamesAccepted", false, reason, message, request);
                let not = ("NotAccepted", "not all names are accepted");
                !is_established(object) && set_condition(&mut changed, "Established", false, not.0, not.1, request)
                    || accepted
            }
        };
        if taken.is_none() || is_established(object) {
            self.serve(&definition);
        }
        if !is_changed {
            return Ok(());
        }
        let about = request.about(Verb::Update, resource(), "", object.name()).subresource("status");
        let about = Request { field_manager: MANAGER.to_owned(), ..about };
        match self.update(&about, changed).await {
            // The write that came between establishes the definition itself.
            Err(status) if status.is_conflict() || status.is_not_found() => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Why the names of a definition cannot be accepted: a reason and a message.
    fn taken_names(&self, definition: &Definition) -> Option<(&'static str, String)> {
        let kinds = self.kinds();
        let mut others = kinds
            .iter()
            .filter(|kind| kind.gvk().group == definition.group && kind.row().plural != definition.names.plural);
        let names = &definition.names;
        others.find_map(|kind| {
            let row = kind.row();
            let resources = || {
                [row.plural.as_str(), row.singular.as_str()]
                    .into_iter()
                    .chain(row.short_names.iter().map(String::as_str))
            };
            let is_taken = |name: &str| resources().any(|taken| taken == name);
            let in_use = |name: &str| format!("{name:?} is already in use");
            if is_taken(&names.plural) {
                return Some(("PluralConflict", in_use(&names.plural)));
            }
            if is_taken(&names.singular) {
                return Some(("SingularConflict", in_use(&names.singular)));
            }
            if let Some(short) = names.short_names.iter().find(|short| is_taken(short)) {
                return Some(("ShortNamesConflict", in_use(short)));
            }
            if row.kind.kind == names.kind || row.list_kind == names.kind {
                return Some(("KindConflict", in_use(&names.kind)));
            }
            (row.list_kind == names.list_kind || row.kind.kind == names.list_kind)
                .then(|| ("ListKindConflict", in_use(&names.list_kind)))
        })
    }

    /// Serves the kinds of a definition, and no longer the versions that it serves no more.
    pub(super) fn serve(&self, definition: &Definition) {
        let versions = CustomKind::all(definition);
        versions.iter().for_each(|strategy| self.add_kind(strategy));
        let is_served = |resource: &GroupVersionResource| {
            versions.iter().any(|strategy| strategy.spec().row.kind.version == resource.version)
        };
        for kind in self.kinds().iter() {
            let gvr = kind.gvr();
            let is_own = gvr.group == definition.group && gvr.resource == definition.names.plural;
            if is_own && !is_served(&gvr) {
                self.remove_kind(&gvr);
            }
        }
    }

    pub(super) fn stop_serving(&self, definition: &Definition) {
        for version in &definition.versions {
            self.remove_kind(&definition.resource(&version.name));
        }
    }
}
