use coracle_journal::{Detail, EntryId, Recorder, Stage, subject};
use coracle_meta::{AnyObject, GroupVersionResource, parse_resource_version};

use crate::{DeltaType, Notification};

/// The event log entries of an informer: each stage between the watch and the handler, with the previous stage as its
/// cause.
#[derive(Clone, Debug, Default)]
pub struct Records {
    recorder: Recorder,
    actor: String,
    resource: String,
}

impl Records {
    /// The entries of the informer of `resource` in the process `actor`.
    pub fn new(recorder: Recorder, actor: &str, resource: &GroupVersionResource) -> Self {
        Self { recorder, actor: actor.to_owned(), resource: resource.resource.clone() }
    }

    fn about(&self, object: &dyn AnyObject) -> Detail {
        let key = object.object_key();
        let detail = Detail::about(subject(&self.resource, &key.namespace, &key.name));
        at_version(detail, object.resource_version())
    }

    /// The causes of a watch event: the entry of its sending or, if the server has a separate event log, the commits
    /// of its revision.
    pub(crate) fn sent(&self, audit_id: &str, object: &dyn AnyObject) -> Vec<EntryId> {
        if !self.recorder.is_on() {
            return Vec::new();
        }
        let Some(revision) = parse_resource_version(object.resource_version()) else { return Vec::new() };
        match self.recorder.sent(audit_id, revision) {
            Some(sent) => vec![sent],
            None => self.recorder.commit(revision),
        }
    }

    /// The entry of the end of the watch with this audit id.
    pub(crate) fn ended(&self, audit_id: &str) -> Option<EntryId> {
        self.recorder.is_on().then(|| self.recorder.sent(audit_id, 0)).flatten()
    }

    pub(crate) fn listed(
        &self,
        version: &str,
        count: usize,
        how: &str,
        why: &str,
        cause: Option<EntryId>,
    ) -> Option<EntryId> {
        self.recorder.record(&self.actor, Stage::ReflectorList, || {
            let detail = self.about_version(version).caused_by(cause);
            detail.with("count", count).with("how", how).with("why", why)
        })
    }

    pub(crate) fn watching(&self, version: &str, cause: Option<EntryId>) -> Option<EntryId> {
        self.recorder.record(&self.actor, Stage::ReflectorWatch, || self.about_version(version).caused_by(cause))
    }

    fn about_version(&self, version: &str) -> Detail {
        let detail = Detail::about(self.resource.as_str()).with("kind", self.resource.as_str());
        at_version(detail, version)
    }

    pub(crate) fn queued(
        &self,
        object: &dyn AnyObject,
        delta_type: DeltaType,
        depth: usize,
        causes: &[EntryId],
    ) -> Option<EntryId> {
        self.recorder.record(&self.actor, Stage::FifoAdd, || {
            let detail = self.about(object).caused_by(causes.iter().copied());
            detail.with("type", delta_type.as_str()).with("depth", depth)
        })
    }

    pub(crate) fn popped(
        &self,
        object: &dyn AnyObject,
        delta_type: DeltaType,
        cause: Option<EntryId>,
    ) -> Option<EntryId> {
        self.recorder.record(&self.actor, Stage::FifoPop, || {
            self.about(object).caused_by(cause).with("type", delta_type.as_str())
        })
    }

    pub(crate) fn applied(
        &self,
        notification: &Notification<dyn AnyObject>,
        cause: Option<EntryId>,
    ) -> Option<EntryId> {
        self.recorder.record(&self.actor, Stage::CacheApply, || {
            self.about(notification.object().as_ref()).caused_by(cause).with("type", notification.word())
        })
    }

    pub(crate) fn called(
        &self,
        handler: &str,
        notification: &Notification<dyn AnyObject>,
        cause: Option<EntryId>,
    ) -> Option<EntryId> {
        self.recorder.record(handler, Stage::HandlerCall, || {
            let detail = self.about(notification.object().as_ref()).caused_by(cause);
            detail.with("notification", notification.word()).with("handler", handler)
        })
    }
}

fn at_version(detail: Detail, version: &str) -> Detail {
    match parse_resource_version(version) {
        Some(revision) => detail.at(revision),
        None => detail,
    }
}
