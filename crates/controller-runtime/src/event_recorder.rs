use coracle_api::core_v1::{Event, EventSource, ObjectReference};
use coracle_journal::EntryId;
use coracle_meta::{Resource, format_time};

use crate::event_queue::{Queued, Waiting};
use crate::{Pass, Process, Speaker};

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// Information about normal operation.
    Normal,
    /// A problem that may need attention.
    Warning,
}

impl EventType {
    /// The value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Records what a component did to an object and why, as `v1` events. [`Process::run`] posts them later, in no
/// particular order with other writes.
///
/// In Kubernetes: `record.EventRecorder`.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::api::core_v1::{Event, Namespace};
/// use coracle::journal::Recorder;
/// use coracle::meta::ObjectKey;
/// use coracle::runtime::controller::{EventRecorder, EventType, Process};
/// use coracle::runtime::{Api, ListParams};
///
/// let client = cluster.api_client();
/// let process = Process::new("program", &client, cluster.ambient(), &Recorder::off());
/// let events = EventRecorder::new(&process, "gardener");
/// tokio::spawn(async move { process.run().await });
/// let namespace = Api::<Namespace>::of(&client).get(&ObjectKey::cluster("default")).await.unwrap();
/// events.event(&namespace, EventType::Normal, "Watered", "it was dry");
///
/// tokio::time::sleep(std::time::Duration::from_secs(1)).await;
/// let found = Api::<Event>::of(&client).list(&ListParams::fields("reason=Watered")).await.unwrap();
/// assert_eq!(found.items[0].message, "it was dry");
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct EventRecorder {
    process: Process,
    source: EventSource,
    speaker: Option<Speaker>,
    causes: Vec<EntryId>,
}

impl EventRecorder {
    /// A recorder of a component: `replicaset-controller`.
    pub fn new(process: &Process, component: &str) -> Self {
        let source = EventSource { component: component.to_owned(), ..EventSource::default() };
        Self { process: process.clone(), source, speaker: None, causes: Vec::new() }
    }

    /// The same, with the name of the host in its events, as for kubelets.
    #[must_use]
    pub fn on_host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.source.host);
        self
    }

    /// The same, on behalf of a speaker of the program.
    #[must_use]
    pub fn speaking_as(mut self, speaker: &Speaker) -> Self {
        self.speaker = Some(speaker.clone());
        self
    }

    /// The same, with a pass as the cause of its events in the event log.
    #[must_use]
    pub fn in_pass(&self, pass: &Pass) -> Self {
        Self { causes: pass.cause().into_iter().collect(), ..self.clone() }
    }

    /// Records an event of an object.
    pub fn event<K: Resource>(&self, object: &K, event_type: EventType, reason: &str, message: impl Into<String>) {
        self.event_on(reference_to(object), event_type, reason, message);
    }

    /// Records an event of the object that `reference` names.
    pub fn event_on(
        &self,
        reference: ObjectReference,
        event_type: EventType,
        reason: &str,
        message: impl Into<String>,
    ) {
        let now = self.process.ambient.clock.now();
        let time = Some(format_time(now));
        let namespace = if reference.namespace.is_empty() { "default" } else { &reference.namespace };
        let mut event = Event {
            reason: reason.to_owned(),
            message: message.into(),
            type_: event_type.as_str().to_owned(),
            count: 1,
            first_timestamp: time.clone(),
            last_timestamp: time,
            reporting_component: self.source.component.clone(),
            reporting_instance: self.source.host.clone(),
            source: self.source.clone(),
            ..Event::default()
        };
        event.metadata.namespace = Some(namespace.to_owned());
        event.metadata.name = Some(self.process.events.name(&self.process.ambient, &reference));
        event.involved_object = reference;
        let (speaker, causes) = (self.speaker.clone(), self.causes.clone());
        self.process.say(Waiting { event: Queued::Event(event), speaker, causes });
    }
}

/// The reference to an object in an event. In Kubernetes: `reference.GetReference`.
pub fn reference_to<K: Resource>(object: &K) -> ObjectReference {
    let meta = object.meta();
    ObjectReference {
        api_version: K::api_version(),
        kind: K::KIND.to_owned(),
        name: meta.name.clone().unwrap_or_default(),
        namespace: meta.namespace.clone().unwrap_or_default(),
        resource_version: meta.resource_version.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        ..ObjectReference::default()
    }
}
