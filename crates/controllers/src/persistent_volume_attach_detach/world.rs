//! The caches of the controller: which volumes a change concerns, and the observed state of a volume.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::{CSIDriver, VolumeAttachment};
use coracle_informer::{InformerFactory, Lister, Notification};
use coracle_meta::{ObjectKey, Resource};

use super::decide::{AttachmentState, NodeState, ObservedVolume};
use crate::index::{index_by_node, on_node};
use crate::volumes::{claims_of, index_by_claim, pods_using};

/// The annotation of a node whose volumes this controller attaches.
const MANAGED: &str = "volumes.kubernetes.io/controller-managed-attach-detach";
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// The indexes of attachments.
const BY_VOLUME: &str = "volume";
const BY_NODE: &str = "node";

/// The caches in which a volume is seen.
pub(super) struct World {
    pods: Lister<Pod>,
    claims: Lister<PersistentVolumeClaim>,
    volumes: Lister<PersistentVolume>,
    nodes: Lister<Node>,
    attachments: Lister<VolumeAttachment>,
    drivers: Lister<CSIDriver>,
}

/// Which volumes a change concerns.
#[derive(Clone)]
pub(super) struct Concerned {
    pods: Lister<Pod>,
    claims: Lister<PersistentVolumeClaim>,
    volumes: Lister<PersistentVolume>,
    attachments: Lister<VolumeAttachment>,
}

impl World {
    pub(super) fn new(informers: &InformerFactory) -> (Self, Concerned) {
        let pods = informers.informer::<Pod>();
        let attachments = informers.informer::<VolumeAttachment>();
        index_by_claim(&pods);
        index_by_node(&pods);
        attachments.add_index(BY_VOLUME, |attachment| {
            attachment.spec.source.persistent_volume_name.clone().into_iter().collect()
        });
        attachments.add_index(BY_NODE, |attachment| vec![attachment.spec.node_name.clone()]);
        let world = Self {
            pods: pods.lister(),
            claims: informers.informer().lister(),
            volumes: informers.informer().lister(),
            nodes: informers.informer().lister(),
            attachments: attachments.lister(),
            drivers: informers.informer().lister(),
        };
        let concerned = Concerned {
            pods: world.pods.clone(),
            claims: world.claims.clone(),
            volumes: world.volumes.clone(),
            attachments: world.attachments.clone(),
        };
        (world, concerned)
    }

    pub(super) fn node(&self, name: &str) -> Option<Arc<Node>> {
        self.nodes.get(&ObjectKey::cluster(name))
    }

    /// The observed state of a CSI volume; `None` for other volumes.
    pub(super) fn observe(&self, key: &ObjectKey) -> Option<ObservedVolume> {
        let volume = self.volumes.get(key)?;
        let source = volume.spec.csi.as_deref()?;
        let unique_name = format!("kubernetes.io/csi/{}^{}", source.driver, source.volume_handle);
        let modes = &volume.spec.access_modes;
        let attachments = self.attachments.by_index(BY_VOLUME, &key.name);
        let asked: BTreeMap<_, _> = attachments.iter().map(|one| (one.spec.node_name.clone(), asked(one))).collect();
        let wanted = if self.is_attached_by_nobody(&source.driver) { BTreeMap::new() } else { self.wanted(&volume) };
        let names = asked.keys().chain(wanted.keys());
        let nodes = names.filter_map(|name| Some((name.clone(), state(&*self.node(name)?, &unique_name))));
        Some(ObservedVolume {
            name: key.name.clone(),
            nodes: nodes.collect(),
            driver: source.driver.clone(),
            handle: source.volume_handle.clone(),
            is_shared: modes.is_empty() || modes.iter().any(|mode| mode == "ReadWriteMany" || mode == "ReadOnlyMany"),
            wanted,
            asked,
            unique_name,
        })
    }

    /// Whether the driver does not require attachment.
    fn is_attached_by_nobody(&self, driver: &str) -> bool {
        let driver = self.drivers.get(&ObjectKey::cluster(driver));
        driver.is_some_and(|driver| driver.spec.attach_required == Some(false))
    }

    /// The unfinished pods that use the volume, by node, on nodes whose volumes this controller attaches.
    fn wanted(&self, volume: &PersistentVolume) -> BTreeMap<String, Vec<Arc<Pod>>> {
        let mut wanted: BTreeMap<String, Vec<Arc<Pod>>> = BTreeMap::new();
        let Some(reference) = &volume.spec.claim_ref else { return wanted };
        let key = ObjectKey::new(reference.namespace.as_str(), reference.name.as_str());
        let is_bound = self.claims.get(&key).is_some_and(|claim| {
            claim.status.phase == "Bound"
                && claim.metadata.uid.as_ref() == Some(&reference.uid)
                && Some(&claim.spec.volume_name) == volume.metadata.name.as_ref()
        });
        if !is_bound {
            return wanted;
        }
        for pod in pods_using(&self.pods, &key) {
            let Some(node) = pod.node_name().filter(|_| !has_ended(&pod)).map(str::to_owned) else { continue };
            if self.node(&node).is_some_and(|node| node.metadata.annotations.contains_key(MANAGED)) {
                wanted.entry(node).or_default().push(pod);
            }
        }
        wanted
    }
}

impl Concerned {
    pub(super) fn by_pod(&self, notification: &Notification<Pod>) -> Vec<ObjectKey> {
        self.volumes_of(notification.object())
    }

    fn volumes_of(&self, pod: &Pod) -> Vec<ObjectKey> {
        let claims = claims_of(pod).into_iter().filter_map(|claim| self.claims.get(&claim));
        claims.filter_map(|claim| volume_of(&claim)).collect()
    }

    pub(super) fn by_claim(&self, notification: &Notification<PersistentVolumeClaim>) -> Vec<ObjectKey> {
        volume_of(notification.object()).into_iter().collect()
    }

    pub(super) fn by_attachment(&self, notification: &Notification<VolumeAttachment>) -> Vec<ObjectKey> {
        let name = notification.object().spec.source.persistent_volume_name.clone();
        name.map(ObjectKey::cluster).into_iter().collect()
    }

    pub(super) fn by_node(&self, notification: &Notification<Node>) -> Vec<ObjectKey> {
        let said = |node: &Node| {
            let taints: Vec<_> = node.spec.taints.iter().filter(|taint| taint.key == OUT_OF_SERVICE).cloned().collect();
            let is_managed = node.metadata.annotations.contains_key(MANAGED);
            (state(node, ""), is_managed, taints, node.status.volumes_in_use.clone())
        };
        let node = notification.object();
        if notification.old().is_some_and(|old| said(old) == said(node)) {
            return Vec::new();
        }
        let name = &node.key().name;
        let attached = self.attachments.by_index(BY_NODE, name);
        let attached = attached.iter().filter_map(|one| one.spec.source.persistent_volume_name.clone());
        let pods = on_node(&self.pods, name);
        attached.map(ObjectKey::cluster).chain(pods.iter().flat_map(|pod| self.volumes_of(pod))).collect()
    }

    pub(super) fn by_driver(&self, notification: &Notification<CSIDriver>) -> Vec<ObjectKey> {
        let name = notification.object().metadata.name.clone().unwrap_or_default();
        let volumes = self.volumes.list().into_iter();
        let its = volumes.filter(|volume| volume.spec.csi.as_ref().is_some_and(|source| source.driver == name));
        its.map(|volume| volume.key()).collect()
    }
}

fn volume_of(claim: &PersistentVolumeClaim) -> Option<ObjectKey> {
    Some(claim.spec.volume_name.as_str()).filter(|name| !name.is_empty()).map(ObjectKey::cluster)
}

/// Whether no container of the pod runs any more, or ever will. In Kubernetes: `volumeutil.IsPodTerminated`.
fn has_ended(pod: &Pod) -> bool {
    let runs = |status: &coracle_api::core_v1::ContainerStatus| {
        status.state.terminated.is_none() && status.state.waiting.is_none()
    };
    pod.is_finished() || (pod.is_terminating() && !pod.status.container_statuses.iter().any(runs))
}

fn asked(attachment: &VolumeAttachment) -> AttachmentState {
    AttachmentState {
        attached: attachment.status.attached,
        terminating: attachment.metadata.is_terminating(),
        error: attachment.status.attach_error.as_ref().map(|error| error.message.clone()),
    }
}

fn state(node: &Node, volume: &str) -> NodeState {
    NodeState {
        ready: node.status.conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"),
        in_use: node.status.volumes_in_use.iter().any(|name| name == volume),
        out_of_service: node.spec.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE),
    }
}
