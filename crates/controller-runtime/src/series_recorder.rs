use coracle_api::core_v1::ObjectReference;
use coracle_api::events_v1::Event;
use coracle_journal::EntryId;
use coracle_meta::format_micro_time;

use crate::event_queue::{Queued, Waiting};
use crate::{EventType, Process};

/// Records what a component did and why, as `events.k8s.io/v1` events; [`Process::run`] posts them.
///
/// In Kubernetes: `events.EventRecorder`; of the components only the scheduler uses it.
#[derive(Clone, Debug)]
pub struct SeriesRecorder {
    process: Process,
    controller: String,
    causes: Vec<EntryId>,
}

/// The content of an event.
#[derive(Clone, Copy, Debug)]
pub struct Note<'a> {
    /// The type of the event.
    pub event_type: EventType,
    /// The reason, one word.
    pub reason: &'a str,
    /// The action, one word.
    pub action: &'a str,
    /// The message, a sentence.
    pub note: &'a str,
}

impl SeriesRecorder {
    /// A recorder of a component: `default-scheduler`.
    pub fn new(process: &Process, controller: &str) -> Self {
        Self { process: process.clone(), controller: controller.to_owned(), causes: Vec::new() }
    }

    /// The same, with entries of the event log as the cause of its events.
    #[must_use]
    pub fn caused_by(&self, causes: &[EntryId]) -> Self {
        Self { causes: causes.to_vec(), ..self.clone() }
    }

    /// Records an event of an object, optionally with a related one.
    pub fn event(&self, regarding: ObjectReference, related: Option<ObjectReference>, note: Note<'_>) {
        let namespace = if regarding.namespace.is_empty() { "default" } else { &regarding.namespace };
        let mut event = Event {
            action: note.action.to_owned(),
            event_time: Some(format_micro_time(self.process.ambient.clock.now())),
            note: note.note.to_owned(),
            reason: note.reason.to_owned(),
            related: related.map(Box::new),
            reporting_controller: self.controller.clone(),
            reporting_instance: format!("{}-{}", self.controller, self.process.host),
            type_: note.event_type.as_str().to_owned(),
            ..Event::default()
        };
        event.metadata.namespace = Some(namespace.to_owned());
        event.metadata.name = Some(self.process.events.name(&self.process.ambient, &regarding));
        event.regarding = regarding;
        self.process.say(Waiting { event: Queued::Series(event), speaker: None, causes: self.causes.clone() });
    }
}
