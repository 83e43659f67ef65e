use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use coracle_api::coordination_v1::Lease;
use coracle_api::core_v1::{Node, ObjectReference};
use coracle_client::Client;
use coracle_controller_runtime::{EventRecorder, EventType, Process, Speaker};
use coracle_meta::KUBERNETES_VERSION;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::NodeSpec;
use crate::machine::Machine;
use crate::view::View;
use crate::volumes::VolumeManager;

/// What speaks for one machine, as long as it has power: it has the node's identity, and knows how far it is.
///
/// It has no task: [`Fleet`](crate::fleet::Fleet) works for all agents. In Kubernetes: the kubelet of one node.
pub(crate) struct Agent {
    pub(crate) name: Arc<str>,
    pub(crate) spec: Arc<NodeSpec>,
    pub(crate) machine: Arc<Machine>,
    /// The node itself: what registers and reports.
    pub(crate) voice: Speaker,
    /// The node at work on its pods.
    pub(crate) at_work: Speaker,
    pub(crate) events: EventRecorder,
    pub(crate) view: View,
    pub(crate) beat: Mutex<Beat>,
    pub(crate) volumes: VolumeManager,
    has_ended: Arc<AtomicBool>,
}

/// How far an agent is with saying that its node is alive.
pub(crate) struct Beat {
    /// Whether the Node of this name is there and its own.
    pub(crate) is_registered: bool,
    /// The Lease as it was last written; none before, and after somebody else has changed it.
    pub(crate) lease: Option<Lease>,
    /// When the Lease is to be renewed next.
    pub(crate) next: Instant,
    /// When the status was last reported.
    pub(crate) reported: Instant,
}

impl Agent {
    /// An agent that begins, of a node that calls as `client`; nothing of it arrives once it has ended, or while the
    /// machine is cut off.
    pub(crate) fn new(
        spec: &Arc<NodeSpec>,
        machine: &Arc<Machine>,
        client: Client,
        process: &Process,
        view: impl FnOnce(&Arc<str>) -> View,
    ) -> Self {
        let name: Arc<str> = spec.name.as_str().into();
        let has_ended = Arc::new(AtomicBool::new(false));
        let reaches = {
            // The machine keeps this client, for commands in its containers.
            let (has_ended, machine) = (has_ended.clone(), Arc::downgrade(machine));
            move || !has_ended.load(Ordering::Relaxed) && machine.upgrade().is_some_and(|machine| !machine.is_cut_off())
        };
        let client = client
            .with_user_agent(&format!("kubelet/{KUBERNETES_VERSION}"))
            .with_recorder(process.recorder.clone())
            .reaching_while(reaches);
        let speaker = |actor: String| Speaker { actor: actor.into(), client: client.clone() };
        let voice = speaker(format!("kubelet/{name}"));
        let events = EventRecorder::new(process, "kubelet").on_host(&name).speaking_as(&voice);
        let now = Instant::now();
        let view = view(&name);
        if machine.is_cut_off() {
            view.begin_blind();
        }
        Self {
            at_work: speaker(format!("kubelet/{name}/pods")),
            voice,
            events,
            view,
            beat: Mutex::new(Beat { is_registered: false, lease: None, next: now, reported: now }),
            has_ended,
            volumes: VolumeManager::begin(&machine.disk),
            spec: spec.clone(),
            machine: machine.clone(),
            name,
        }
    }

    /// It falls silent where it stands.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.volumes.end();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Whether it looks after pods: not before its Node is there.
    pub(crate) fn is_at_work(&self) -> bool {
        !self.has_ended() && self.beat.lock().is_registered
    }

    /// Names its Node in an event: without its uid, as kubelets do.
    pub(crate) fn reference(&self, node: &Node) -> ObjectReference {
        ObjectReference {
            uid: self.name.to_string(),
            resource_version: String::new(),
            ..coracle_controller_runtime::reference_to(node)
        }
    }

    /// What a kubelet says when it begins.
    pub(crate) fn tell(&self, node: &Node) {
        let reference = self.reference(node);
        let said = ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID", "NodeReady"];
        self.events.event_on(reference.clone(), EventType::Normal, "Starting", "Starting kubelet.");
        for reason in said {
            let message = format!("Node {} status is now: {reason}", self.name);
            self.events.event_on(reference.clone(), EventType::Normal, reason, message);
        }
    }
}
