use std::borrow::Cow;
use std::sync::Arc;

use coracle_journal::{Detail, Stage, subject};
use coracle_meta::{Object, Status};
use serde_json::Value;

use crate::{Admission, DeleteOptions, Kind, Operation, Registry, Request, Review};

impl Registry {
    /// The plug-ins that handle an operation, in their order.
    fn plugins(&self, operation: Operation) -> impl Iterator<Item = &Arc<dyn Admission>> {
        self.inner.admission.iter().filter(move |plugin| plugin.handles(operation))
    }

    /// Lets every plug-in change the object; returns whether one has.
    pub(crate) async fn mutate(
        &self,
        request: &Request,
        kind: &Kind,
        operation: Operation,
        object: Object,
        old: Option<&Object>,
    ) -> Result<(Object, bool), Status> {
        if operation == Operation::Create
            && let Some(why) = kind.strategy().refuses_new_objects()
        {
            return Err(Status::forbidden(&request.group_resource(), object.name(), why));
        }
        let mut review = Review::of_write(self, request, kind, operation, Cow::Owned(object), old);
        loop {
            self.mutate_once(&mut review).await?;
            if !review.reinvocation.begin_second_round() {
                review.restore_invalid_owners();
                return Ok(review.into_object());
            }
        }
    }

    /// Lets every plug-in refuse the object as it will be stored.
    pub(crate) async fn admit_stored(
        &self,
        request: &Request,
        kind: &Kind,
        operation: Operation,
        object: &Arc<Object>,
        old: Option<&Object>,
    ) -> Result<(), Status> {
        let served = self.planned(request, kind, || kind.served(object)).await?;
        self.admit(request, kind, operation, &served, old).await
    }

    /// Lets every plug-in refuse the object, which has the request's version.
    pub(crate) async fn admit(
        &self,
        request: &Request,
        kind: &Kind,
        operation: Operation,
        object: &Object,
        old: Option<&Object>,
    ) -> Result<(), Status> {
        let review = Review::of_write(self, request, kind, operation, Cow::Borrowed(object), old);
        self.validate(&review).await
    }

    /// Lets every plug-in refuse a connection, based on its options.
    pub(crate) async fn admit_connect(&self, request: &Request, kind: &Kind, options: Value) -> Result<(), Status> {
        let options = Object::from_value(options).map_err(Status::internal)?;
        let (options, _) = self.mutate(request, kind, Operation::Connect, options, None).await?;
        self.admit(request, kind, Operation::Connect, &options, None).await
    }

    /// Lets every plug-in refuse a deletion.
    pub(crate) async fn admit_delete(
        &self,
        request: &Request,
        kind: &Kind,
        options: &DeleteOptions,
        old: &Object,
    ) -> Result<(), Status> {
        let mut review = Review::of_deletion(self, request, kind, options, old);
        self.mutate_once(&mut review).await?;
        self.validate(&review).await
    }

    async fn mutate_once(&self, review: &mut Review<'_>) -> Result<(), Status> {
        for plugin in self.plugins(review.operation) {
            let done = plugin.mutate(review).await;
            let paths = review.take_change();
            if !paths.is_empty() {
                let changed = |detail: Detail| detail.with("plugin", plugin.name()).with("paths", paths);
                self.note(review, Stage::AdmissionChange, changed);
            }
            self.noted(review, &**plugin, done)?;
        }
        Ok(())
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        for plugin in self.plugins(review.operation) {
            self.noted(review, &**plugin, plugin.validate(review).await)?;
        }
        Ok(())
    }

    /// Records a rejection by a plug-in in the event log.
    fn noted(&self, review: &Review<'_>, plugin: &dyn Admission, done: Result<(), Status>) -> Result<(), Status> {
        if let Err(status) = &done {
            let refused = |detail: Detail| detail.with("plugin", plugin.name()).with("why", status.message.as_str());
            self.note(review, Stage::AdmissionRefuse, refused);
        }
        done
    }

    fn note(&self, review: &Review<'_>, stage: Stage, more: impl FnOnce(Detail) -> Detail) {
        let Request { at, cause, .. } = review.request;
        self.recorder().record("apiserver", stage, || {
            more(Detail::about(subject(&at.resource.resource, &at.namespace, &at.name)).caused_by(*cause))
        });
    }
}
