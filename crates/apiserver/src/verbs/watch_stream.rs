use std::future::pending;
use std::pin::{Pin, pin};
use std::time::Duration;

use coracle_handover::Handed;
use coracle_journal::{Detail, EntryId, Recorder, Stage, subject};
use coracle_meta::{GroupVersionKind, INITIAL_EVENTS_END, Object, Status, WatchEvent, WatchEventType};
use coracle_registry::{ServedWatch, Stored};
use futures_util::future::{Either, select};
use tokio::time::Sleep;

use super::call::VerbCall;
use crate::answer::render::Rendering;
use crate::documents::metrics::{Label, OpenStream};
use crate::record::ACTOR;
use crate::shutdown::Shutdown;

/// The maximum size of a frame of available events, in bytes.
const FRAME: usize = 64 * 1024;

/// The events of a watch for a client.
pub(super) struct WatchStream {
    watch: ServedWatch,
    rendering: Rendering,
    kind: GroupVersionKind,
    resource: String,
    watcher: String,
    audit_id: String,
    recorder: Recorder,
    shutdown: Shutdown,
    /// The timeout; `None` if the watch runs as long as its client.
    over: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
    _open: OpenStream,
}

impl WatchStream {
    pub(super) fn new(call: &VerbCall, watch: ServedWatch, rendering: Rendering, timeout: Duration) -> Self {
        let product = call.request.user_agent.split('/').next().unwrap_or("");
        Self {
            watch,
            rendering,
            kind: call.kind.gvk().clone(),
            resource: call.request.at.resource.resource.clone(),
            watcher: format!("{} {product}", call.request.user.name),
            audit_id: call.request.audit_id.clone(),
            recorder: call.server.registry.recorder().clone(),
            shutdown: call.server.shutdown.clone(),
            over: Some(Box::pin(tokio::time::sleep(timeout))),
            has_ended: false,
            _open: call.server.metrics.open_stream(Label::of_resource("WATCH", &call.asked, Some(&call.kind))),
        }
    }

    /// Waits for one event. `None` at the end of the watch. Cancel-safe.
    pub(super) async fn next_one(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        let event = self.next_event().await?;
        let mut frame = Vec::new();
        self.push(event, &mut frame);
        Some(frame)
    }

    /// Waits for an event, and also takes the available ones. `None` at the end of the watch.
    pub(super) async fn next_frame(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        let first = self.next_event().await?;
        let mut frame = Vec::new();
        self.push(first, &mut frame);
        while frame.len() < FRAME && !self.has_ended {
            let Some(event) = self.watch.try_next() else { break };
            self.push(event, &mut frame);
        }
        Some(frame)
    }

    /// Whether a client in the same process can get the objects themselves.
    pub(super) fn can_be_handed_over(&self) -> bool {
        self.rendering.hands_over()
    }

    /// Removes the timeout and the bookmarks: the watch runs until the client ends or the server shuts down.
    pub(super) fn last(&mut self) {
        self.over = None;
        self.watch.stop_bookmarks();
    }

    /// Waits for an event and hands its object over. `None` at the end of the watch. Cancel-safe.
    pub(super) async fn next_handed(&mut self) -> Option<WatchEvent<Box<dyn Handed>>> {
        if self.has_ended {
            return None;
        }
        let event = self.next_event().await?;
        self.has_ended = matches!(event, WatchEvent::Error(_));
        self.record(&event);
        let handed = event.try_map(|object| self.rendering.handed(&object).ok_or(()));
        Some(handed.unwrap_or_else(|()| WatchEvent::Error(Status::internal("what is shown cannot be handed over"))))
    }

    /// The version up to which all events were returned; `None` while there are more events.
    pub(super) async fn progress(&mut self) -> Option<String> {
        self.watch.progress().await.map(|revision| revision.to_string())
    }

    /// Waits for an event. `None` at the end of the watch: it has ended, its timeout is over, or the server shuts down.
    async fn next_event(&mut self) -> Option<WatchEvent<Stored>> {
        let (news, going) = (pin!(self.watch.next()), pin!(self.shutdown.begun()));
        let over = async {
            match &mut self.over {
                Some(over) => over.as_mut().await,
                None => pending().await,
            }
        };
        // Events come first: those that are available at the timeout are still sent.
        match select(news, select(pin!(over), going)).await {
            Either::Left((event, _)) => event,
            Either::Right(_) => None,
        }
    }

    fn push(&mut self, event: WatchEvent<Stored>, frame: &mut Vec<u8>) {
        let kind = event.event_type();
        match &event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                self.rendering.push_event(kind, object, frame);
            }
            WatchEvent::Bookmark { resource_version, initial_events_end } => {
                let mut object = Object::of_kind(&self.kind);
                object.set_resource_version(resource_version.as_str());
                if *initial_events_end {
                    object.set(&["metadata", "annotations", INITIAL_EVENTS_END], "true");
                }
                self.rendering.push_object_event(kind, &object, frame);
            }
            WatchEvent::Error(status) => {
                self.rendering.push_error(status, frame);
                self.has_ended = true;
            }
        }
        self.record(&event);
    }

    fn record(&self, event: &WatchEvent<Stored>) {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
                self.record_sent(event.event_type(), object);
            }
            WatchEvent::Error(status) => {
                let entry = self.recorder.record(ACTOR, Stage::WatchExpired, || {
                    let detail = Detail::about(self.resource.as_str()).with("why", status.message.as_str());
                    detail.with("watch", self.audit_id.as_str())
                });
                self.remember(0, entry);
            }
            WatchEvent::Bookmark { .. } => {}
        }
    }

    fn record_sent(&self, kind: WatchEventType, object: &Stored) {
        let revision = object.revision();
        let entry = self.recorder.record(ACTOR, Stage::WatchSend, || {
            let commits = self.recorder.commit(revision);
            Detail::about(self.subject_of(object, &commits))
                .at(revision)
                .caused_by(commits)
                .with("type", kind.as_str())
                .with("watcher", self.watcher.as_str())
                .with("watch", self.audit_id.as_str())
        });
        self.remember(revision, entry);
    }

    /// The subject in the event log: the subject of the object's commit, because decoding the object is expensive. The
    /// object is decoded if its revision has several commits, or the commit is of another resource with the same key.
    fn subject_of(&self, object: &Stored, commits: &[EntryId]) -> String {
        let known = match commits {
            [one] => self.recorder.subject(*one).filter(|known| known.split('/').next() == Some(&*self.resource)),
            _ => None,
        };
        known.unwrap_or_else(|| {
            let parsed = object.object();
            subject(&self.resource, parsed.namespace(), parsed.name())
        })
    }

    /// Records the entry of a revision, so that the receiver can name it as a cause.
    fn remember(&self, revision: i64, entry: Option<EntryId>) {
        if let Some(entry) = entry {
            self.recorder.remember_sent(&self.audit_id, revision, entry);
        }
    }
}
