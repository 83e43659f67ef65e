use std::sync::Arc;

use coracle_ambient::{TimeShift, Timestamp};
use coracle_meta::{FieldError, GroupResource, Object, Status, StatusDetails, format_time, parse_time};
use coracle_storage::Stored;

use super::commit::{CommitOutcome, Committed};
use super::intent::{AdmissionScope, Intent};
use super::plan::Plan;
use crate::object_meta::{FOREGROUND, ORPHAN};
use crate::options::invalid_options;
use crate::{DeleteOptions, Kind, Planned, Propagation, Registry, Request};

/// The response to a delete.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// The object: it is terminating, or its kind returns deleted objects.
    Object(Stored),
    /// Success, with the details of the deleted object.
    Status(Status),
}

/// A DELETE.
struct Delete<'a> {
    request: &'a Request,
    kind: &'a Kind,
    options: &'a DeleteOptions,
    /// Whether plug-ins are called.
    is_admitted: bool,
}

impl Intent for Delete<'_> {
    fn admission(&self) -> AdmissionScope<'_> {
        if self.is_admitted { AdmissionScope::OfDeletions(self.options) } else { AdmissionScope::None }
    }

    fn plan(&self, _wanted: Option<Object>, existing: Option<&Arc<Object>>) -> Planned<Plan> {
        let existing = existing.ok_or_else(|| self.request.not_found())?;
        // Kubernetes names the kind here, while every other conflict names the resource.
        let resource = GroupResource::new(self.kind.gvk().group.clone(), self.kind.gvk().kind.clone());
        match self.options.preconditions.check(existing) {
            Ok(()) => Ok(plan(self.kind, self.request, self.options, existing)),
            Err(why) => {
                self.request.audit.not_met(self.options.preconditions.sentence());
                Err(Status::conflict(&resource, existing.name(), &why).into())
            }
        }
    }
}

impl Registry {
    /// Deletes an object, or starts its deletion.
    ///
    /// In Kubernetes: `Store.Delete` and `updateForGracefulDeletionAndFinalizers`.
    pub async fn delete(&self, request: &Request, options: &DeleteOptions) -> Result<Deleted, Status> {
        self.delete_and_answer(request, options, true).await
    }

    /// Deletes an object, or starts its deletion, after plug-ins have admitted the enclosing action: an eviction.
    ///
    /// # Errors
    /// As [`Registry::delete`], except those of plug-ins.
    pub async fn delete_as_admitted(&self, request: &Request, options: &DeleteOptions) -> Result<Deleted, Status> {
        self.delete_and_answer(request, options, false).await
    }

    async fn delete_and_answer(
        &self,
        request: &Request,
        options: &DeleteOptions,
        is_admitted: bool,
    ) -> Result<Deleted, Status> {
        let kind = self.kind_of(request)?;
        if !request.at.subresource.is_empty() {
            return Err(Status::method_not_supported(&request.group_resource(), "delete"));
        }
        validate_options(options)?;
        (kind.hub().spec().delete_warnings)(options).into_iter().for_each(|warning| request.warnings.add(warning));
        let committed = self.commit(request, &kind, &mut Delete { request, kind: &kind, options, is_admitted }).await?;
        answer(self, request, &kind, committed).await
    }
}

async fn answer(registry: &Registry, request: &Request, kind: &Kind, committed: Committed) -> Result<Deleted, Status> {
    let Committed { stored, fate, before } = committed;
    if fate == CommitOutcome::Changed || kind.row().has(coracle_schema::Trait::ReturnsDeleted) {
        return Ok(Deleted::Object(registry.answer(request, kind, stored).await?));
    }
    let resource = request.group_resource();
    let uid = before.as_ref().map_or("", |before| before.uid());
    Ok(Deleted::Status(Status::success().with_details(StatusDetails {
        name: request.at.name.clone(),
        group: resource.group,
        kind: resource.resource,
        uid: uid.to_owned(),
        ..StatusDetails::default()
    })))
}

/// Whether the options contradict themselves.
pub(super) fn validate_options(options: &DeleteOptions) -> Result<(), Status> {
    if let (Some(_), Some(policy)) = (options.orphan_dependents, options.propagation) {
        let what = "orphanDependents and deletionPropagation cannot be both set";
        let error = FieldError::invalid("propagationPolicy", policy.as_str(), what);
        return Err(invalid_options("DeleteOptions", &[error]));
    }
    Ok(())
}

/// The plan for `existing`. In Kubernetes: `BeforeDelete`, then finalizers, then `markAsDeleting`.
fn plan(kind: &Kind, request: &Request, options: &DeleteOptions, existing: &Arc<Object>) -> Plan {
    let spec = kind.hub().spec();
    let grace = grace(kind, request, options, existing);
    if grace == Grace::Pending {
        return Plan::Keep;
    }
    let finalizers = finalizers(kind, options, existing);
    if (spec.is_held)(existing) {
        return hold(kind, request, existing, finalizers);
    }
    if grace == Grace::None && finalizers.is_empty() {
        return Plan::Delete { shown: None };
    }
    let mut object = Object::clone(existing);
    let then_delete = match grace {
        Grace::Begins(seconds) => {
            begin(&mut object, request.now, seconds);
            seconds == 0
        }
        Grace::Ends { at, seconds } => {
            object.set("metadata.deletionTimestamp", format_time(at));
            object.set("metadata.deletionGracePeriodSeconds", seconds);
            seconds == 0
        }
        Grace::None | Grace::Pending => {
            mark_as_deleting(&mut object, request.now);
            false
        }
    };
    let is_pending = !finalizers.is_empty();
    object.set_finalizers(finalizers);
    if grace == Grace::None {
        (spec.begin_delete)(&mut object, request);
    }
    Plan::Put { object: object.into(), then_delete: then_delete && !is_pending }
}

/// An object that its kind holds gets a deletion timestamp, but no grace period.
fn hold(kind: &Kind, request: &Request, existing: &Arc<Object>, finalizers: Vec<String>) -> Plan {
    if existing.is_terminating() {
        return Plan::put(Arc::clone(existing));
    }
    let mut object = Object::clone(existing);
    object.set_finalizers(finalizers);
    object.set("metadata.deletionTimestamp", format_time(request.now));
    count(&mut object);
    (kind.hub().spec().begin_delete)(&mut object, request);
    Plan::put(object)
}

/// The effect of a deletion on the grace period of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grace {
    /// There is no grace period, or it is over.
    None,
    /// It is running, and this deletion does not shorten it.
    Pending,
    /// It begins, with this number of seconds.
    Begins(i64),
    /// It is running, and this deletion shortens it.
    Ends { at: Timestamp, seconds: i64 },
}

fn grace(kind: &Kind, request: &Request, options: &DeleteOptions, existing: &Object) -> Grace {
    let requested = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if !kind.row().has(coracle_schema::Trait::Graceful) {
        return Grace::None;
    }
    if existing.is_terminating() {
        return hasten(existing, requested, request.now);
    }
    (kind.hub().spec().grace_period)(existing, requested).map_or(Grace::None, Grace::Begins)
}

/// Shortens the grace period of a terminating object.
fn hasten(existing: &Object, requested: Option<i64>, now: Timestamp) -> Grace {
    let granted = existing.number("metadata.deletionGracePeriodSeconds").unwrap_or(0);
    let granted = if granted < 0 { 1 } else { granted };
    match requested {
        _ if granted == 0 => Grace::None,
        Some(seconds) if seconds < granted => {
            let until = existing.deletion_timestamp().and_then(parse_time).unwrap_or(now);
            let shift = coracle_ambient::SignedDuration::from_secs(seconds.saturating_sub(granted));
            let at = until.checked_add(shift).unwrap_or(now);
            if at < now { Grace::Ends { at: now, seconds: seconds.min(1) } } else { Grace::Ends { at, seconds } }
        }
        _ => Grace::Pending,
    }
}

fn begin(object: &mut Object, now: Timestamp, seconds: i64) {
    let until = now.later(coracle_ambient::SignedDuration::from_secs(seconds));
    object.set("metadata.deletionTimestamp", format_time(until));
    object.set("metadata.deletionGracePeriodSeconds", seconds);
    count(object);
}

/// Marks an object with finalizers as terminating, without a grace period.
fn mark_as_deleting(object: &mut Object, now: Timestamp) {
    if !object.is_terminating() {
        count(object);
    }
    let until = object.deletion_timestamp().and_then(parse_time);
    if until.is_none_or(|until| until > now) {
        object.set("metadata.deletionTimestamp", format_time(now));
    }
    object.set("metadata.deletionGracePeriodSeconds", 0);
}

/// The start of a deletion increments the generation.
fn count(object: &mut Object) {
    let generation = object.generation();
    if generation > 0 {
        object.set("metadata.generation", generation.wrapping_add(1));
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
        (None, None) => (kind.hub().spec().orphans_by_default, false),
    };
    if orphan == has(ORPHAN) && foreground == has(FOREGROUND) {
        return own;
    }
    let mut finalizers: Vec<_> = own.into_iter().filter(|name| name != ORPHAN && name != FOREGROUND).collect();
    finalizers.extend(orphan.then(|| ORPHAN.to_owned()));
    finalizers.extend(foreground.then(|| FOREGROUND.to_owned()));
    finalizers
}
