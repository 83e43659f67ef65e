use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use coracle_api::coordination_v1::Lease;
use coracle_api::core_v1::{Node, ObjectReference};
use coracle_client::Client;
use coracle_controller_runtime::{EventRecorder, EventType, Process, Speaker};
use coracle_volume_manager::VolumeManager;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::NodeSpec;
use crate::certificates::PodCertificates;
use crate::node::machine::Machine;
use crate::node::pod_view::PodView;

/// The kubelet process of one machine: it has the identity of the node, and knows how far its registration is.
///
/// It has no task: [`Fleet`](crate::fleet::Fleet) works for all agents. In Kubernetes: the kubelet of one node.
pub(crate) struct Agent {
    pub(crate) name: Arc<str>,
    pub(crate) spec: Arc<NodeSpec>,
    pub(crate) machine: Arc<Machine>,
    /// Registers the node and reports its status.
    pub(crate) speaker: Speaker,
    /// Works on the pods of the node.
    pub(crate) pod_speaker: Speaker,
    pub(crate) events: EventRecorder,
    pub(crate) pod_view: PodView,
    pub(crate) heartbeat: Mutex<Heartbeat>,
    pub(crate) volumes: VolumeManager,
    pub(crate) certificates: PodCertificates,
    has_ended: Arc<AtomicBool>,
}

/// The state of an agent's registration, Lease and status reports.
pub(crate) struct Heartbeat {
    /// Whether the Node of this name exists and belongs to this agent.
    pub(crate) is_registered: bool,
    /// The Lease as the agent wrote it last; none before that, and after another client has changed it.
    pub(crate) lease: Option<Lease>,
    /// When the agent renews the Lease next.
    pub(crate) next: Instant,
    /// When the agent last reported the status.
    pub(crate) reported: Instant,
}

impl Agent {
    /// A new agent for a node that calls the API as `client`. Its requests fail once it has ended, and while the
    /// machine is partitioned.
    pub(crate) fn new(
        spec: &Arc<NodeSpec>,
        machine: &Arc<Machine>,
        client: Client,
        process: &Process,
        pod_view: impl FnOnce(&Arc<str>) -> PodView,
    ) -> Self {
        let name: Arc<str> = spec.name.as_str().into();
        let has_ended = Arc::new(AtomicBool::new(false));
        let reaches = {
            // The machine keeps this client for commands in its containers, so the client must not own the machine.
            let (has_ended, machine) = (has_ended.clone(), Arc::downgrade(machine));
            move || !has_ended.load(Ordering::Relaxed) && machine.upgrade().is_some_and(|machine| !machine.is_cut_off())
        };
        let client = client.with_recorder(process.recorder.clone()).reaching_while(reaches);
        let speaker_as = |actor: String| Speaker { actor: actor.into(), client: client.clone() };
        let speaker = speaker_as(format!("kubelet/{name}"));
        let events = EventRecorder::new(process, "kubelet").on_host(&name).speaking_as(&speaker);
        let now = Instant::now();
        let pod_view = pod_view(&name);
        if machine.is_cut_off() {
            pod_view.begin_empty();
        }
        Self {
            pod_speaker: speaker_as(format!("kubelet/{name}/pods")),
            speaker,
            events,
            pod_view,
            heartbeat: Mutex::new(Heartbeat { is_registered: false, lease: None, next: now, reported: now }),
            has_ended,
            volumes: VolumeManager::begin(&machine.disk),
            certificates: PodCertificates::default(),
            spec: spec.clone(),
            machine: machine.clone(),
            name,
        }
    }

    /// Stops the agent immediately, without any further request.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.volumes.end();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Whether the agent works on pods: only after its Node is registered.
    pub(crate) fn is_at_work(&self) -> bool {
        !self.has_ended() && self.heartbeat.lock().is_registered
    }

    /// Refers to the Node in an event. The uid is the node's name, as kubelets write it.
    pub(crate) fn reference(&self, node: &Node) -> ObjectReference {
        ObjectReference {
            uid: self.name.to_string(),
            resource_version: String::new(),
            ..coracle_controller_runtime::reference_to(node)
        }
    }

    /// Records the events of a kubelet that starts.
    pub(crate) fn record_start(&self, node: &Node) {
        let reference = self.reference(node);
        let said = ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeReady"];
        self.events.event_on(reference.clone(), EventType::Normal, "Starting", "Starting kubelet.");
        for reason in said {
            let message = format!("Node {} status is now: {reason}", self.name);
            self.events.event_on(reference.clone(), EventType::Normal, reason, message);
        }
    }
}
