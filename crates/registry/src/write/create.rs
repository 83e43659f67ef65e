use std::sync::Arc;

use coracle_meta::{GroupVersionKind, Object, Status};
use coracle_schema::Trait;
use coracle_storage::Stored;

use super::intent::{AdmissionScope, IntendedObject, Intent};
use super::plan::Plan;
use crate::{Generation, Kind, Planned, Registry, Request, findings, object_meta};

/// How often a new name is generated if the last one exists. In Kubernetes: `maxNameGenerationCreateAttempts`.
const NAME_ATTEMPTS: usize = 8;

/// A POST.
struct Create<'a> {
    request: &'a Request,
    kind: &'a Kind,
    /// The object after mutating plug-ins, in the stored version.
    object: Object,
}

impl Intent for Create<'_> {
    fn is_creation(&self) -> bool {
        true
    }

    fn admission(&self) -> AdmissionScope<'_> {
        AdmissionScope::OfWrites
    }

    fn wanted(&mut self, _registry: &Registry, live: Option<&Object>) -> Planned<IntendedObject> {
        match live {
            Some(live) => Err(already_exists(self.request, live).into()),
            None if is_named_by_server(&self.object) => Ok(IntendedObject::Mutated(self.object.clone())),
            // A name from the client is tried once.
            None => Ok(IntendedObject::Mutated(std::mem::take(&mut self.object))),
        }
    }

    fn complete(&self, registry: &Registry, wanted: &mut Object, _existing: Option<&Object>) -> Result<(), Status> {
        complete(registry, self.request, wanted);
        if self.kind.spec().is_named_by_uuid && wanted.name().is_empty() {
            let name = self.request.random(registry.ambient(), "name", "").uuid();
            wanted.set("metadata.name", name);
        }
        Ok(())
    }

    fn plan(&self, wanted: Option<Object>, _existing: Option<&Arc<Object>>) -> Planned<Plan> {
        let wanted = wanted.unwrap_or_default();
        let is_versioned = wanted.resource_version().parse().is_ok_and(|version: u64| version != 0);
        let plan = plan(self.kind, self.request, wanted)?;
        // In Kubernetes the store refuses it, which a dry run does not reach.
        if is_versioned && !self.request.dry_run {
            return Err(Status::failure(500, "", "resourceVersion should not be set on objects to be created").into());
        }
        Ok(plan)
    }
}

impl Registry {
    /// Creates an object, or runs a subresource that is an action. `object` is decoded, in the version of the request.
    ///
    /// In Kubernetes: `createHandler` and `Store.Create`.
    pub async fn create(&self, request: &Request, object: Object) -> Result<Stored, Status> {
        let kind = self.kind_of(request)?;
        if !request.at.subresource.is_empty() {
            return self.act(request, &kind, object).await;
        }
        let mut object = object;
        check_kind(&object, kind.gvk())?;
        object_meta::wipe_system_fields(&mut object);
        object_meta::ensure_namespace(&mut object, &request.at.namespace, kind.is_namespaced())?;
        if let Some(computed) = kind.computed() {
            return self.compute(request, &kind, object, computed).await;
        }
        object_meta::deduplicate_owners(&mut object, request, false);
        kind.strategy().drop_nulls(&mut object);
        kind.strategy().set_defaults_at(&mut object, request.now);
        let object = self.book_create(request, &kind, object, &kind.spec().all_reset_fields()).await?;
        // Plug-ins change the object once, however many names are tried.
        let mut mutated = self.mutated(request, &kind, object, None).await?;
        let object = self.planned(request, &kind, || kind.to_ruled(kind.for_run(&mut mutated))).await?;
        let attempts = if is_named_by_server(&object) { NAME_ATTEMPTS } else { 1 };
        let mut create = Create { request, kind: &kind, object };
        let mut attempt = 1;
        loop {
            match self.commit(request, &kind, &mut create).await {
                Err(status) if attempts > 1 && status.is_already_exists() => match attempt {
                    NAME_ATTEMPTS => return Err(name_conflict(status)),
                    _ => attempt += 1,
                },
                committed => return self.answer(request, &kind, committed?.stored).await,
            }
        }
    }
}

fn is_named_by_server(object: &Object) -> bool {
    object.name().is_empty() && !object.text("metadata.generateName").is_empty()
}

/// Sets the fields of a new object that only the API server sets: the uid, the creation time and a generated name.
pub(super) fn complete(registry: &Registry, request: &Request, object: &mut Object) {
    object_meta::fill_system_fields(object, request, registry.ambient());
    object_meta::generate_name(object, request, registry.ambient());
}

/// Prepares and validates a new object. In Kubernetes: `BeforeCreate`.
pub(super) fn plan(kind: &Kind, request: &Request, object: Object) -> Planned<Plan> {
    prepare(kind, request, object).map(Plan::put)
}

fn prepare(kind: &Kind, request: &Request, mut object: Object) -> Planned<Object> {
    let strategy = kind.ruling();
    let spec = strategy.spec();
    object_meta::ensure_namespace(&mut object, &request.at.namespace, kind.is_namespaced())?;
    if !request.dry_run {
        object.remove("metadata.resourceVersion");
    }
    if kind.has_status() && !spec.takes_new_status {
        object.remove("status");
    }
    (spec.prepare_create)(&mut object, request, &spec.release);
    // A kind without the trait in its row counts changes, but starts without a generation.
    if spec.generation != Generation::None && spec.row.has(Trait::Generation) {
        object.set("metadata.generation", 1);
    }
    let mut errors = object_meta::validate_new(&object, kind.is_namespaced(), spec);
    errors.extend(kind.with_rules(strategy.validate(&object), &object, None)?);
    if kind.is_converted() {
        errors = (kind.spec().review)(&object, None, errors);
    }
    if spec.declares_rules {
        errors = findings::of_declared_rules(errors);
    }
    if !errors.is_empty() {
        return Err(Status::invalid(spec.gvk(), object.name(), &errors).into());
    }
    (spec.warnings)(&object, None, &spec.release).into_iter().for_each(|warning| request.warnings.add(warning));
    (spec.canonicalize)(&mut object);
    kind.normalize(object, None)
}

/// The kind of the body must be that of the URL, or missing.
pub(super) fn check_kind(object: &Object, expected: &GroupVersionKind) -> Result<(), Status> {
    let version = object.api_version();
    if !version.is_empty() && version != expected.api_version() {
        return Err(Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({})",
            expected.api_version()
        )));
    }
    Ok(())
}

fn already_exists(request: &Request, existing: &Object) -> Status {
    let mut status = Status::already_exists(&request.group_resource(), existing.name());
    if existing.is_terminating() {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}

/// 409 if all generated names exist. In Kubernetes: `NewGenerateNameConflict`.
fn name_conflict(mut status: Status) -> Status {
    status.message = format!("{}, the server was not able to generate a unique name for the object", status.message);
    status.with_retry_after(1)
}
