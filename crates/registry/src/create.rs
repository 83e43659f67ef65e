use std::sync::Arc;

use coracle_meta::{FieldError, GroupResource, GroupVersionKind, Object, ObjectKey, Status, format_time};
use coracle_schema::apply::{Versions, managed_fields};
use coracle_schema::{Table, Trait};
use coracle_storage::{Attempt, Draft, Stored};
use serde_json::Value;

use crate::versions::{KindVersions, OneVersion, all_but};
use crate::{Generation, Kind, Operation, Registry, Request, Subresource, object_meta};

/// How often a name is made anew when it is taken. In Kubernetes: `maxNameGenerationCreateAttempts`.
const NAME_ATTEMPTS: usize = 8;

impl Registry {
    /// Creates an object, or asks a subresource that is an action. `object` is decoded, in the version of the request.
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
        kind.strategy().set_defaults(&mut object);
        let object = self.book_update(request, &kind, &Object::default(), object, &kind.strategy().reset_fields());
        let request = &with_name(request, object.name());
        let mut object = self.mutate(request, &kind, Operation::Create, object, None).await?;
        object_meta::deduplicate_owners(&mut object, request, true);
        kind.strategy().set_defaults(&mut object);
        let object = kind.to_hub(object)?;
        if !object.resource_version().is_empty() && object.resource_version() != "0" {
            return Err(Status::failure(500, "", "resourceVersion should not be set on objects to be created"));
        }
        let generated = object.name().is_empty() && !object.text(&["metadata", "generateName"]).is_empty();
        if !generated {
            return self.insert(request, &kind, object).await.and_then(|stored| kind.answer(stored));
        }
        let mut taken = None;
        for _ in 0..NAME_ATTEMPTS {
            match self.insert(request, &kind, object.clone()).await {
                Err(status) if status.is_already_exists() => taken = Some(status),
                created => return created.and_then(|stored| kind.answer(stored)),
            }
        }
        Err(name_conflict(taken.expect("the loop ran, and every other outcome returned")))
    }

    /// One attempt to create: names, prepares, validates, stores. In Kubernetes: `Store.create`, `BeforeCreate`.
    pub(crate) async fn insert(&self, request: &Request, kind: &Kind, mut object: Object) -> Result<Stored, Status> {
        let strategy = kind.hub();
        object_meta::fill_system_fields(&mut object, request.now, &self.inner.ambient);
        object_meta::generate_name(&mut object, &self.inner.ambient);
        let reservation = strategy.begin_create(self, request, &mut object).await?;
        let stored = self.insert_reserved(request, kind, object).await;
        if let Some(reservation) = reservation {
            match &stored {
                Ok(_) if !request.dry_run => reservation.commit().await,
                _ => reservation.release().await,
            }
        }
        let stored = stored?;
        if !request.dry_run {
            strategy.after(self, request, Some(&stored.object()), None).await?;
        }
        Ok(stored)
    }

    async fn insert_reserved(&self, request: &Request, kind: &Kind, mut object: Object) -> Result<Stored, Status> {
        let strategy = kind.hub();
        object_meta::ensure_namespace(&mut object, &request.at.namespace, kind.is_namespaced())?;
        object.remove(&["metadata", "resourceVersion"]);
        if kind.has_status() && !strategy.keeps_new_status() {
            object.remove(&["status"]);
        }
        strategy.prepare_create(&mut object, request);
        // A kind whose row does not list it counts its changes, but begins without a number.
        if strategy.generation() != Generation::None && strategy.row().has(Trait::Generation) {
            object.set(&["metadata", "generation"], 1);
        }
        let mut errors = object_meta::validate_new(&object, kind.is_namespaced(), &**strategy);
        errors.extend(strategy.validate(&object));
        if kind.is_converted() {
            errors = kind.strategy().review(&object, errors);
        }
        if !errors.is_empty() {
            return Err(Status::invalid(&strategy.row().kind, object.name(), &errors));
        }
        strategy.warnings(&object, None).into_iter().for_each(|warning| request.warnings.add(warning));
        strategy.canonicalize(&mut object);
        let object = kind.normalize(object)?;
        let named = with_name(request, object.name());
        let object = self.admit_stored(&named, kind, Operation::Create, object, None).await?;
        self.store_new(request, kind, object).await
    }

    async fn store_new(&self, request: &Request, kind: &Kind, object: Object) -> Result<Stored, Status> {
        let key = ObjectKey::new(object.namespace(), object.name());
        let resource = request.group_resource();
        let mut draft = Draft::new(object);
        let storage = &self.inner.storage;
        if request.dry_run {
            let current = storage.get(&kind.store, &key, coracle_storage::Freshness::Newest).await?;
            return match current {
                Some(current) => Err(already_exists(&resource, &key, Some(&current))),
                None => Ok(draft.as_of(0)),
            };
        }
        let ttl = kind.hub().time_to_live(draft.object());
        let mut attempt = storage.put(&kind.store, &key, 0, &draft, ttl, request.cause).await;
        if let Some(smaller) = attempt.as_ref().err().and_then(|status| without_owners(status, &draft)) {
            draft = smaller;
            attempt = storage.put(&kind.store, &key, 0, &draft, ttl, request.cause).await;
        }
        match attempt? {
            Attempt::Done(stored) => {
                storage.keep(&stored, draft);
                Ok(stored)
            }
            Attempt::Stale(current) => Err(already_exists(&resource, &key, current.as_ref())),
        }
    }

    /// Books the fields of a write that is no apply.
    pub(crate) fn book_update(
        &self,
        request: &Request,
        kind: &Kind,
        live: &Object,
        new: Object,
        reset: &[Vec<String>],
    ) -> Object {
        let versions = KindVersions::of(&self.kinds(), kind, all_but(reset));
        self.book(request, kind, live, new, &versions)
    }

    pub(crate) fn book(
        &self,
        request: &Request,
        kind: &Kind,
        live: &Object,
        new: Object,
        versions: &KindVersions,
    ) -> Object {
        book(request, &kind.gvk().api_version(), live, new, &versions)
    }

    async fn compute(
        &self,
        request: &Request,
        kind: &Kind,
        mut object: Object,
        computed: &dyn crate::Computed,
    ) -> Result<Stored, Status> {
        kind.strategy().set_defaults(&mut object);
        let object = self.book_update(request, kind, &Object::default(), object, &[]);
        let object = self.mutate(request, kind, Operation::Create, object, None).await?;
        let object = self.admit(request, kind, Operation::Create, object, None).await?;
        let answer = computed.create(self, request, object).await?;
        Ok(Stored::from_object(&Arc::new(answer), 0))
    }

    /// Creates a body at a subresource.
    async fn act(&self, request: &Request, kind: &Kind, mut body: Object) -> Result<Stored, Status> {
        let Some(Subresource::Action(action)) = kind.subresource(&request.at.subresource) else {
            return Err(crate::registry::not_served());
        };
        check_kind(&body, &action.kind())?;
        object_meta::wipe_system_fields(&mut body);
        object_meta::ensure_namespace(&mut body, &request.at.namespace, kind.is_namespaced())?;
        let body = book_body(request, &action.kind(), body);
        let body = self.mutate(request, kind, Operation::Create, body, None).await?;
        let body = self.admit(request, kind, Operation::Create, body, None).await?;
        let answer = action.create(self, request, body).await?;
        Ok(Stored::from_object(&Arc::new(answer), 0))
    }
}

fn book<V: Versions>(request: &Request, api_version: &str, live: &Object, new: Object, versions: &V) -> Object {
    let time = format_time(request.now);
    let write = managed_fields::Write {
        versions,
        api_version,
        manager: &request.field_manager,
        subresource: &request.at.subresource,
        time: &time,
    };
    let verbatim = new.verbatim().clone();
    let booked = managed_fields::update(&write, live.as_value(), new.into_value());
    Object::from_value(booked).expect("booking keeps an object an object").with_verbatim(verbatim)
}

/// Books the fields of a body whose kind has no resource of its own.
fn book_body(request: &Request, kind: &GroupVersionKind, body: Object) -> Object {
    let Some(schema) = Table::v1_35().kind(kind) else { return body };
    let api_version = kind.api_version();
    let versions = &OneVersion { api_version: api_version.clone(), schema };
    book(request, &api_version, &Object::default(), body, &versions)
}

/// The body has to be of the kind that the URL names; a body that says nothing is.
pub(crate) fn check_kind(object: &Object, expected: &GroupVersionKind) -> Result<(), Status> {
    let version = object.api_version();
    if !version.is_empty() && version != expected.api_version() {
        return Err(Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({})",
            expected.api_version()
        )));
    }
    Ok(())
}

pub(crate) fn with_name(request: &Request, name: &str) -> Request {
    match request.at.name.as_str() {
        "" => request.clone().object(&request.at.namespace, name),
        _ => request.clone(),
    }
}

/// What is tried next when the store has refused an object for its size: the same without the book-keeping of its owners.
pub(crate) fn without_owners(refusal: &Status, draft: &Draft) -> Option<Draft> {
    let is_too_large = refusal.reason == coracle_meta::reason::REQUEST_ENTITY_TOO_LARGE;
    if !is_too_large || draft.object().field(&["metadata", "managedFields"]).is_none() {
        return None;
    }
    let mut smaller = Object::clone(draft.object());
    smaller.remove(&["metadata", "managedFields"]);
    Some(Draft::new(smaller))
}

fn already_exists(resource: &GroupResource, key: &ObjectKey, current: Option<&Stored>) -> Status {
    let mut status = Status::already_exists(resource, &key.name);
    if current.is_some_and(|current| current.object().is_terminating()) {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}

/// 409 when eight names were all taken. In Kubernetes: `NewGenerateNameConflict`.
fn name_conflict(mut status: Status) -> Status {
    status.message = format!("{}, the server was not able to generate a unique name for the object", status.message);
    status.with_retry_after(1)
}

/// Counts a generation up where the part of the object that it counts has changed.
pub(crate) fn count_generation(rule: Generation, new: &mut Object, old: &Object) {
    let same = |name: &str| semantic(new.tree().get(name)) == semantic(old.tree().get(name));
    let same_at = |path: &str| {
        let path: Vec<&str> = path.split('.').collect();
        semantic(new.field(&path)) == semantic(old.field(&path))
    };
    let changed = match rule {
        Generation::None => return,
        Generation::Fields(paths) => paths.iter().any(|path| !same_at(path)),
        Generation::AllBut(fields) => {
            let counted = |name: &&String| !fields.contains(&name.as_str()) && !IDENTITY.contains(&name.as_str());
            let names = new.tree().keys().chain(old.tree().keys()).filter(counted);
            names.into_iter().any(|name| !same(name))
        }
    };
    if changed {
        let next = old.generation() + 1;
        new.set(&["metadata", "generation"], next);
    }
}

const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A part of an object for comparison: what is empty is as good as absent.
fn semantic(value: Option<&Value>) -> Option<Value> {
    let pruned = match value? {
        Value::Null => return None,
        Value::Object(map) => {
            let map: serde_json::Map<_, _> =
                map.iter().filter_map(|(name, value)| Some((name.clone(), semantic(Some(value))?))).collect();
            if map.is_empty() {
                return None;
            }
            Value::Object(map)
        }
        Value::Array(list) if list.is_empty() => return None,
        other => other.clone(),
    };
    Some(pruned)
}

/// 422 about options of a verb rather than about an object.
pub(crate) fn invalid_options(kind: &str, errors: &[FieldError]) -> Status {
    Status::invalid(&GroupVersionKind::new("meta.k8s.io", "v1", kind), "", errors)
}
