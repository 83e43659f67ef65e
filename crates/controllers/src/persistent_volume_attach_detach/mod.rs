//! Requests that drivers attach volumes to the nodes whose pods use them, and detach them again.
//!
//! The key is a volume: a pass reads the pods that use its claim, their nodes, and the VolumeAttachments with the
//! requests to drivers and their results. Changes of pods, claims, nodes, attachments and drivers queue the volumes
//! that they concern.
//! ```text
//! pods on managed nodes -> wanted --\
//!                                    decide -> VolumeAttachments, node.status.volumesAttached, events
//! VolumeAttachments     -> asked ---/
//! ```
//! In Kubernetes: `pkg/controller/volume/attachdetach`, which polls all of it every 100 ms. Unlike Kubernetes: only
//! volumes of CSI drivers are attached; `iscsi` and `fc` volumes need no attachment.

mod decide;
mod world;

use std::collections::BTreeMap;

use coracle_api::core_v1::{AttachedVolume, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::{CSIDriver, VolumeAttachment};
use coracle_client::{DeleteParams, Patch};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of, unless_gone,
};
use coracle_meta::{ObjectKey, Resource};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use self::decide::{Deed, attachment_name, deeds};
use self::world::World;
use crate::Config;

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let informers = &process.informers;
    let (world, concerned) = World::new(informers);
    let reconciler = AttachDetach {
        world,
        events: EventRecorder::new(process, "attachdetach-controller"),
        forces_on_timeout: !config.disable_force_detach_on_timeout,
        memory: Mutex::default(),
    };
    let [pods, claims, attachments, nodes, drivers] = [(); 5].map(|()| concerned.clone());
    let controller = Controller::new(process, "persistentvolume-attach-detach", reconciler)
        .client(config.client(process))
        .watches(&informers.informer::<Pod>(), move |change| pods.by_pod(change))
        .watches(&informers.informer::<PersistentVolumeClaim>(), move |change| claims.by_claim(change))
        .watches(&informers.informer::<PersistentVolume>(), key_of)
        .watches(&informers.informer::<VolumeAttachment>(), move |change| attachments.by_attachment(change))
        .watches(&informers.informer::<Node>(), move |change| nodes.by_node(change))
        .watches(&informers.informer::<CSIDriver>(), move |change| drivers.by_driver(change));
    Box::pin(controller.run())
}

/// What is remembered of a volume on a node.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Since when its detachment has been wanted.
    detach_wanted: Option<Instant>,
    /// Since when its attachment has been awaited.
    attach_asked: Option<Instant>,
    /// The failure that events have reported.
    reported: Option<String>,
}

struct AttachDetach {
    world: World,
    events: EventRecorder,
    /// Whether a volume is forcibly detached from a node that has been unreachable for long.
    forces_on_timeout: bool,
    /// By volume and node.
    memory: Mutex<BTreeMap<ObjectKey, BTreeMap<String, Memory>>>,
}

impl Reconciler for AttachDetach {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(volume) = self.world.observe(key) else {
            self.memory.lock().remove(key);
            return pass.done(|| "no driver attaches it, or it is not there: nothing to do");
        };
        let now = Instant::now();
        let memory = self.memory.lock().get(key).cloned().unwrap_or_default();
        let elapsed = |since: Option<Instant>| since.map(|since| now - since);
        let times = memory
            .iter()
            .map(|(node, memory)| (node.clone(), (elapsed(memory.detach_wanted), elapsed(memory.attach_asked))));
        let (deeds, again) = deeds(&volume, &times.collect(), self.forces_on_timeout);
        pass.decided(|| decide::sentence(&deeds));
        let mut after = BTreeMap::new();
        for deed in deeds {
            let node = deed.node().to_owned();
            let remembered = memory.get(&node).cloned().unwrap_or_default();
            let remembered = self.act(pass, &volume, deed, remembered, now).await?;
            after.insert(node, remembered);
        }
        if after.is_empty() {
            self.memory.lock().remove(key);
        } else {
            self.memory.lock().insert(key.clone(), after);
        }
        Ok(again.map_or(Action::Done, Action::RequeueAfter))
    }
}

impl AttachDetach {
    /// Carries out one action; returns what to remember of the node.
    async fn act(
        &self,
        pass: &Pass,
        volume: &decide::ObservedVolume,
        deed: Deed,
        memory: Memory,
        now: Instant,
    ) -> Result<Memory, ReconcileError> {
        let key = ObjectKey::cluster(attachment_name(&volume.handle, &volume.driver, deed.node()));
        match deed {
            Deed::Ask { node } => {
                let mut attachment = VolumeAttachment::default();
                attachment.metadata.name = Some(key.name);
                attachment.spec.attacher.clone_from(&volume.driver);
                attachment.spec.node_name = node;
                attachment.spec.source.persistent_volume_name = Some(volume.name.clone());
                pass.create_if_missing(&attachment).await?;
                Ok(Memory { attach_asked: Some(now), ..Memory::default() })
            }
            Deed::Wait { .. } => Ok(Memory { attach_asked: memory.attach_asked.or(Some(now)), ..memory }),
            Deed::Fail { node, why } => Ok(self.report_failure(pass, volume, &node, why, memory, now)),
            Deed::Refuse { node, why } => {
                if memory.reported.is_none() {
                    for (pod, why) in volume.wanted.get(&node).into_iter().flatten().zip(why) {
                        self.events.in_pass(pass).event(pod.as_ref(), EventType::Warning, "FailedAttachVolume", why);
                    }
                }
                Ok(Memory { reported: Some(String::new()), ..Memory::default() })
            }
            Deed::Attached { node } => {
                if self.report(pass, &node, &volume.unique_name, true).await? {
                    let message = format!("AttachVolume.Attach succeeded for volume {:?} ", volume.name);
                    self.event_of_pods(pass, volume, &node, EventType::Normal, "SuccessfulAttachVolume", &message);
                }
                Ok(Memory::default())
            }
            Deed::Keep { .. } => Ok(Memory { detach_wanted: memory.detach_wanted.or(Some(now)), ..Memory::default() }),
            Deed::Detach { node } => {
                self.report(pass, &node, &volume.unique_name, false).await?;
                pass.delete_if_there::<VolumeAttachment>(&key, &DeleteParams::default()).await?;
                Ok(Memory { detach_wanted: memory.detach_wanted.or(Some(now)), ..Memory::default() })
            }
        }
    }

    /// Reports a failed or overdue attachment to the pods, unless they have this message already.
    fn report_failure(
        &self,
        pass: &Pass,
        volume: &decide::ObservedVolume,
        node: &str,
        why: String,
        memory: Memory,
        now: Instant,
    ) -> Memory {
        let timed_out = memory.attach_asked.is_some_and(|since| now - since >= decide::ATTACH_TIMEOUT);
        if timed_out || memory.reported.as_ref() != Some(&why) {
            self.event_of_pods(pass, volume, node, EventType::Warning, "FailedAttachVolume", &why);
        }
        let attach_asked = if timed_out { Some(now) } else { memory.attach_asked.or(Some(now)) };
        Memory { attach_asked, reported: Some(why), detach_wanted: None }
    }

    /// Records an event of each pod on a node that uses the volume.
    fn event_of_pods(
        &self,
        pass: &Pass,
        volume: &decide::ObservedVolume,
        node: &str,
        type_: EventType,
        reason: &'static str,
        message: &str,
    ) {
        for pod in volume.wanted.get(node).into_iter().flatten() {
            self.events.in_pass(pass).event(pod.as_ref(), type_, reason, message);
        }
    }

    /// Records in the node's status whether a volume is attached; returns whether that changed anything.
    async fn report(&self, pass: &Pass, node: &str, volume: &str, attached: bool) -> Result<bool, ReconcileError> {
        let Some(node) = self.world.node(node) else { return Ok(false) };
        let is_named = |node: &Node| node.status.volumes_attached.iter().any(|one| one.name == volume);
        if is_named(&node) == attached {
            return Ok(false);
        }
        let mut all = node.status.volumes_attached.clone();
        all.retain(|one| one.name != volume);
        if attached {
            all.push(AttachedVolume { name: volume.to_owned(), ..AttachedVolume::default() });
        }
        // The list is written as a whole, so a concurrent change of the node makes this fail with a conflict.
        let metadata = json!({"resourceVersion": node.metadata.resource_version});
        let patch = json!({"metadata": metadata, "status": {"volumesAttached": all}});
        unless_gone(pass.api::<Node>().patch_status(&node.key(), &Patch::Merge(patch)).await)?;
        Ok(true)
    }
}
