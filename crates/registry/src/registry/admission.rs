use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{Object, Status};
use coracle_schema::apply;
use serde_json::Value;

use super::Reinvocation;
use super::changed_paths::changed_paths;
use crate::{DeleteOptions, Kind, Registry, Request, Strategy};

const OWNERS: &str = "metadata.managedFields";

/// The operation on an object. In Kubernetes: `admission.Operation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `CREATE`
    Create,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
    /// `CONNECT`
    Connect,
}

impl Operation {
    /// The operation in webhooks and policies.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// The input of an admission plug-in. In Kubernetes: `admission.Attributes`.
pub struct Review<'a> {
    /// For reads of other objects, and for the authorizer.
    pub registry: &'a Registry,
    /// The request. An update that creates is an [`Operation::Create`] with the verb update.
    pub request: &'a Request,
    /// The operation.
    pub operation: Operation,
    /// The kind of the object, in the version of the request; for a subresource, the parent's.
    pub strategy: &'a dyn Strategy,
    /// The existing object; `None` for a create.
    pub old: Option<&'a Object>,
    /// The options of a delete.
    pub delete_options: Option<&'a DeleteOptions>,
    /// The state that the two rounds of mutating plug-ins share.
    pub reinvocation: Reinvocation,
    kind: &'a Kind,
    object: Option<Cow<'a, Object>>,
    has_changed: bool,
    /// The object before the change of a plug-in, for the event log.
    before: Option<Object>,
    /// `metadata.managedFields` before the first change of a plug-in.
    owners_before: Option<Value>,
    /// Computed on first use.
    equivalents: OnceLock<Vec<Arc<Kind>>>,
}

impl<'a> Review<'a> {
    fn new(registry: &'a Registry, request: &'a Request, kind: &'a Kind, operation: Operation) -> Self {
        Self {
            registry,
            request,
            operation,
            strategy: &**kind.strategy(),
            old: None,
            delete_options: None,
            reinvocation: Reinvocation::default(),
            kind,
            object: None,
            has_changed: false,
            before: None,
            owners_before: None,
            equivalents: OnceLock::new(),
        }
    }

    pub(crate) fn of_write(
        registry: &'a Registry,
        request: &'a Request,
        kind: &'a Kind,
        operation: Operation,
        object: Cow<'a, Object>,
        old: Option<&'a Object>,
    ) -> Self {
        Self { object: Some(object), old, ..Self::new(registry, request, kind, operation) }
    }

    pub(crate) fn of_deletion(
        registry: &'a Registry,
        request: &'a Request,
        kind: &'a Kind,
        options: &'a DeleteOptions,
        old: &'a Object,
    ) -> Self {
        let delete_options = Some(options);
        Self { old: Some(old), delete_options, ..Self::new(registry, request, kind, Operation::Delete) }
    }

    /// The new object (for a subresource with its own kind, its body); `None` for a delete.
    pub fn object(&self) -> Option<&Object> {
        self.object.as_deref()
    }

    /// The same, mutable. Call it only for a change, because values that are computed from the object are then computed
    /// again.
    pub fn object_mut(&mut self) -> Option<&mut Object> {
        if !self.has_changed {
            self.owners_before = self.object().map(|object| object.at(OWNERS).clone());
        }
        self.has_changed = true;
        if self.before.is_none() && self.registry.recorder().is_on() {
            self.before = self.object.as_deref().cloned();
        }
        self.object.as_mut().map(Cow::to_mut)
    }

    /// Begins a turn of a plug-in that calls webhooks or policies: if the object has changed since its last turn, all
    /// that it may call again are due.
    pub fn begin_turn(&mut self, plugin: &'static str) {
        self.reinvocation.begin_turn(plugin, self.object.as_deref());
    }

    /// Ends that turn.
    pub fn end_turn(&mut self, plugin: &'static str) {
        self.reinvocation.end_turn(plugin, self.object.as_deref());
    }

    /// The changed paths since the last call, if the event log records them; empty if there are none.
    pub(crate) fn take_change(&mut self) -> Vec<String> {
        let (Some(before), Some(after)) = (self.before.take(), self.object.as_deref()) else { return Vec::new() };
        changed_paths(before.as_value(), after.as_value())
    }

    /// The kind of the object; for a subresource, the parent's.
    pub fn kind(&self) -> &'a Kind {
        self.kind
    }

    /// The other kinds in which the same objects are served.
    /// In Kubernetes: `EquivalentResourceMapper`.
    pub fn equivalents(&self) -> &[Arc<Kind>] {
        self.equivalents.get_or_init(|| {
            let versions = self.registry.kinds().versions_of(self.kind);
            let others = versions.iter().map(|(_, kind)| kind).filter(|other| other.gvr() != self.kind.gvr());
            others.map(|other| Arc::clone(other).beside(self.kind)).collect()
        })
    }

    /// Restores the managed fields if plug-ins have made them invalid, with a warning.
    /// In Kubernetes: `managedFieldsValidatingAdmissionController`.
    pub(crate) fn restore_invalid_owners(&mut self) {
        let (Some(before), Some(object)) = (self.owners_before.take(), &mut self.object) else { return };
        let after = object.at(OWNERS);
        if *after == before {
            return;
        }
        if let Err(why) = apply::decode(Some(after)) {
            let what = ".metadata.managedFields was in an invalid state after admission; this could be caused by an \
                outdated mutating admission controller; please fix your requests";
            self.request.warnings.add(format!("{what}: {why}"));
            object.to_mut().set(OWNERS, before);
        }
    }

    /// The object, and whether it was changed.
    pub(crate) fn into_object(self) -> (Object, bool) {
        (self.object.map(Cow::into_owned).unwrap_or_default(), self.has_changed)
    }

    /// Whether the request is for `resource` of `group`, without a subresource.
    pub fn is_about(&self, group: &str, resource: &str) -> bool {
        self.request.at.subresource.is_empty() && self.is_about_any_part(group, resource)
    }

    /// Whether the request is for `resource` of `group` or one of its subresources.
    pub fn is_about_any_part(&self, group: &str, resource: &str) -> bool {
        self.request.at.resource.group == group && self.request.at.resource.resource == resource
    }
}

/// A plug-in that can change or refuse writes. First all plug-ins mutate, in order, then all validate.
///
/// In Kubernetes: `admission.MutationInterface` and `admission.ValidationInterface`.
#[async_trait]
pub trait Admission: Send + Sync + 'static {
    /// The name in `--disable-admission-plugins`.
    fn name(&self) -> &'static str;

    /// Whether the plug-in handles this operation.
    fn handles(&self, _operation: Operation) -> bool {
        true
    }

    /// Changes `review.object`, or refuses.
    async fn mutate(&self, _review: &mut Review<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Refuses or admits.
    async fn validate(&self, _review: &Review<'_>) -> Result<(), Status> {
        Ok(())
    }
}
