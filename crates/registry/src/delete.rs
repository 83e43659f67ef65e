use coracle_ambient::Timestamp;
use coracle_meta::{FieldError, GroupResource, Object, ObjectKey, Status, StatusDetails, format_time, parse_time};
use coracle_storage::{Attempt, Draft, Freshness, List, Stored};

use crate::create::invalid_options;
use crate::object_meta::{FOREGROUND, ORPHAN};
use crate::{DeleteOptions, Kind, ListOptions, Propagation, Registry, Request};

/// How many objects one page of a deletion of a collection has. In Kubernetes: `deleteCollectionPageSize`.
const COLLECTION_PAGE: i64 = 10_000;

/// What a delete answers.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// The object: it stays for now, or its kind answers so.
    Object(Stored),
    /// Success, and what was deleted.
    Status(Status),
}

/// What is to become of an object that somebody deletes.
#[derive(Clone, Debug, PartialEq)]
enum Decision {
    /// It goes now.
    Now,
    /// It stays, changed to this. If `then_now` is set, it goes right afterwards.
    Stay { object: Object, then_now: bool },
    /// Its deletion is on its way already, and this one does not hasten it.
    Pending,
}

impl Registry {
    /// Deletes an object, or begins to.
    ///
    /// In Kubernetes: `Store.Delete` and `updateForGracefulDeletionAndFinalizers`.
    pub async fn delete(&self, request: &Request, options: &DeleteOptions) -> Result<Deleted, Status> {
        let kind = self.kind_of(request)?;
        if !request.at.subresource.is_empty() {
            return Err(Status::method_not_supported(&request.group_resource(), "delete"));
        }
        validate_options(options)?;
        kind.hub().delete_warnings(options).into_iter().for_each(|warning| request.warnings.add(warning));
        let key =
            ObjectKey::new(if kind.is_namespaced() { &*request.at.namespace } else { "" }, request.at.name.as_str());
        let mut current = self.inner.storage.get(&kind.store, &key, Freshness::Newest).await?;
        loop {
            let Some(stored) = current else {
                return Err(Status::not_found(&request.group_resource(), &request.at.name));
            };
            match self.delete_once(request, &kind, options, &key, &stored).await? {
                Ok(deleted) => return Ok(deleted),
                Err(now) => current = now,
            }
        }
    }

    /// One attempt; the inner error is what is there instead of what was looked at.
    async fn delete_once(
        &self,
        request: &Request,
        kind: &Kind,
        options: &DeleteOptions,
        key: &ObjectKey,
        current: &Stored,
    ) -> Result<Result<Deleted, Option<Stored>>, Status> {
        let existing = current.object();
        check_preconditions(kind, options, &existing)?;
        let served = kind.from_hub(Object::clone(&existing))?;
        let decision = decide(kind, request, options, &existing);
        if decision == Decision::Pending {
            return Ok(Ok(self.answer_deleted(request, kind, current)?));
        }
        self.admit_delete(request, kind, options, &served).await?;
        kind.hub().check_delete(&existing, request)?;
        match decision {
            Decision::Stay { object, then_now } => {
                let draft = Draft::new(object);
                let stayed = if request.dry_run || draft.value() == current.value() {
                    draft.as_of(current.revision())
                } else {
                    let storage = &self.inner.storage;
                    let expected = current.revision();
                    match storage.put(&kind.store, key, expected, &draft, None, request.cause).await? {
                        Attempt::Done(stored) => {
                            kind.hub().after(self, request, Some(draft.object()), Some(&existing)).await?;
                            stored
                        }
                        Attempt::Stale(now) => return Ok(Err(now)),
                    }
                };
                if then_now {
                    return self.remove(request, kind, key, &stayed).await;
                }
                Ok(Ok(Deleted::Object(kind.answer(stayed)?)))
            }
            _ => self.remove(request, kind, key, current).await,
        }
    }

    async fn remove(
        &self,
        request: &Request,
        kind: &Kind,
        key: &ObjectKey,
        current: &Stored,
    ) -> Result<Result<Deleted, Option<Stored>>, Status> {
        if request.dry_run {
            return Ok(Ok(self.answer_deleted(request, kind, current)?));
        }
        match self.inner.storage.delete(&kind.store, key, current, request.cause).await? {
            Attempt::Done(gone) => {
                kind.hub().after(self, request, None, Some(&gone.object())).await?;
                Ok(Ok(self.answer_deleted(request, kind, &gone)?))
            }
            Attempt::Stale(now) => Ok(Err(now)),
        }
    }

    fn answer_deleted(&self, request: &Request, kind: &Kind, gone: &Stored) -> Result<Deleted, Status> {
        if kind.row().has(coracle_schema::Trait::ReturnsDeleted) {
            return Ok(Deleted::Object(kind.answer(gone.clone())?));
        }
        let resource = request.group_resource();
        let object = gone.object();
        Ok(Deleted::Status(Status::success().with_details(StatusDetails {
            name: object.name().to_owned(),
            group: resource.group,
            kind: resource.resource,
            uid: object.uid().to_owned(),
            ..StatusDetails::default()
        })))
    }

    /// Deletes all objects of a selection; answers with what was there.
    ///
    /// In Kubernetes: `Store.DeleteCollection`.
    pub async fn delete_collection(
        &self,
        request: &Request,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<List, Status> {
        validate_options(options)?;
        let mut page_options = ListOptions { allow_watch_bookmarks: false, ..selection.clone() };
        if selection.limit == 0 {
            page_options.limit = COLLECTION_PAGE;
        }
        let mut all: Option<List> = None;
        loop {
            let page = self.list(request, &page_options).await?;
            for stored in &page.items {
                let object = stored.object();
                let one = request.clone().object(object.namespace(), object.name());
                match self.delete(&one, options).await {
                    Err(status) if !status.is_not_found() => return Err(status),
                    _ => {}
                }
            }
            let token = page.continue_token.clone();
            match &mut all {
                None => all = Some(page),
                Some(all) => all.items.extend(page.items),
            }
            if selection.limit > 0 || token.is_empty() {
                let mut all = all.unwrap_or_default();
                if selection.limit == 0 {
                    (all.continue_token, all.remaining) = (String::new(), None);
                }
                return Ok(all);
            }
            page_options.continue_token = token;
            page_options.resource_version = String::new();
            page_options.resource_version_match = String::new();
        }
    }
}

/// Whether the options contradict themselves.
fn validate_options(options: &DeleteOptions) -> Result<(), Status> {
    if let (Some(_), Some(policy)) = (options.orphan_dependents, options.propagation) {
        let what = "orphanDependents and deletionPropagation cannot be both set";
        let error = FieldError::invalid("propagationPolicy", policy.as_str(), what);
        return Err(invalid_options("DeleteOptions", &[error]));
    }
    Ok(())
}

fn check_preconditions(kind: &Kind, options: &DeleteOptions, existing: &Object) -> Result<(), Status> {
    // Kubernetes names the kind here where every other conflict names the resource.
    let resource = GroupResource::new(kind.gvk().group.clone(), kind.gvk().kind.clone());
    if let Some(uid) = &options.preconditions.uid
        && uid != existing.uid()
    {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            existing.uid()
        );
        return Err(Status::conflict(&resource, existing.name(), &why));
    }
    if let Some(version) = &options.preconditions.resource_version
        && version != existing.resource_version()
    {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
            existing.resource_version()
        );
        return Err(Status::conflict(&resource, existing.name(), &why));
    }
    Ok(())
}

/// What becomes of `existing`. In Kubernetes: `BeforeDelete`, then finalizers, then `markAsDeleting`.
fn decide(kind: &Kind, request: &Request, options: &DeleteOptions, existing: &Object) -> Decision {
    let strategy = kind.hub();
    let mut object = existing.clone();
    let requested = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let supports_grace = kind.row().has(coracle_schema::Trait::Graceful);
    let graceful = match supports_grace {
        false => None,
        true if existing.is_terminating() => match hasten(&mut object, requested, request.now) {
            Hastened::Over => None,
            Hastened::Pending => return Decision::Pending,
            Hastened::Shorter(seconds) => Some(seconds),
        },
        true => {
            let seconds = strategy.grace_period(existing, requested);
            if let Some(seconds) = seconds {
                begin(&mut object, request.now, seconds);
            }
            seconds
        }
    };
    object.set_finalizers(finalizers(kind, options, existing));
    if strategy.is_held(existing) {
        return hold(kind, request, existing, object);
    }
    let pending = !object.finalizers().is_empty();
    match graceful {
        Some(seconds) => Decision::Stay { object, then_now: !pending && seconds == 0 },
        None if pending => {
            mark_as_deleting(&mut object, request.now);
            strategy.begin_delete(&mut object, request);
            Decision::Stay { object, then_now: false }
        }
        None => Decision::Now,
    }
}

/// An object that stays for a reason of its own gets a time of deletion, but no grace period.
fn hold(kind: &Kind, request: &Request, existing: &Object, mut object: Object) -> Decision {
    if existing.is_terminating() {
        return Decision::Stay { object: existing.clone(), then_now: false };
    }
    object.set(&["metadata", "deletionTimestamp"], format_time(request.now));
    count(&mut object);
    kind.hub().begin_delete(&mut object, request);
    Decision::Stay { object, then_now: false }
}

enum Hastened {
    /// The grace period is over: the object can go.
    Over,
    /// No sooner than it was to go anyway.
    Pending,
    /// Sooner, after so many seconds.
    Shorter(i64),
}

/// Shortens the grace period of an object that is being deleted already.
fn hasten(object: &mut Object, requested: Option<i64>, now: Timestamp) -> Hastened {
    let granted = object.number(&["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0);
    let (granted, Some(mut period)) = (if granted < 0 { 1 } else { granted }, requested) else {
        return if granted == 0 { Hastened::Over } else { Hastened::Pending };
    };
    if granted == 0 {
        return Hastened::Over;
    }
    if period >= granted {
        return Hastened::Pending;
    }
    let until = object.deletion_timestamp().and_then(parse_time).unwrap_or(now);
    let shift = coracle_ambient::SignedDuration::from_secs(period - granted);
    let mut sooner = until.checked_add(shift).unwrap_or(now);
    if sooner < now {
        sooner = now;
        if period != 0 {
            period = 1;
        }
    }
    object.set(&["metadata", "deletionTimestamp"], format_time(sooner));
    object.set(&["metadata", "deletionGracePeriodSeconds"], period);
    Hastened::Shorter(period)
}

fn begin(object: &mut Object, now: Timestamp, seconds: i64) {
    let until = now.checked_add(coracle_ambient::SignedDuration::from_secs(seconds)).unwrap_or(now);
    object.set(&["metadata", "deletionTimestamp"], format_time(until));
    object.set(&["metadata", "deletionGracePeriodSeconds"], seconds);
    count(object);
}

/// What a deletion without grace does to an object that has finalizers.
fn mark_as_deleting(object: &mut Object, now: Timestamp) {
    if !object.is_terminating() {
        count(object);
    }
    let until = object.deletion_timestamp().and_then(parse_time);
    if until.is_none_or(|until| until > now) {
        object.set(&["metadata", "deletionTimestamp"], format_time(now));
    }
    object.set(&["metadata", "deletionGracePeriodSeconds"], 0);
}

/// The beginning of a deletion is a change of what is desired.
fn count(object: &mut Object) {
    let generation = object.generation();
    if generation > 0 {
        object.set(&["metadata", "generation"], generation + 1);
    }
}

/// The finalizers after the garbage collector's have been set as the options, the object or the kind say.
/// In Kubernetes: `deletionFinalizersForGarbageCollection`.
fn finalizers(kind: &Kind, options: &DeleteOptions, existing: &Object) -> Vec<String> {
    let own = existing.finalizers();
    let has = |name: &str| own.iter().any(|finalizer| finalizer == name);
    let (orphan, foreground) = match (options.orphan_dependents, options.propagation) {
        (Some(orphan), _) => (orphan, false),
        (None, Some(Propagation::Orphan)) => (true, false),
        (None, Some(Propagation::Foreground)) => (false, true),
        (None, Some(Propagation::Background)) => (false, false),
        (None, None) if has(ORPHAN) || has(FOREGROUND) => (has(ORPHAN), has(FOREGROUND) && !has(ORPHAN)),
        (None, None) => (kind.hub().orphans_by_default(), false),
    };
    if orphan == has(ORPHAN) && foreground == has(FOREGROUND) {
        return own;
    }
    let mut finalizers: Vec<_> = own.into_iter().filter(|name| name != ORPHAN && name != FOREGROUND).collect();
    finalizers.extend(orphan.then(|| ORPHAN.to_owned()));
    finalizers.extend(foreground.then(|| FOREGROUND.to_owned()));
    finalizers
}
