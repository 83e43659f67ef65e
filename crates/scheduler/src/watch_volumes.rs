//! Informer handlers for volumes, claims, classes and drivers.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use coracle_api::storage_v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use coracle_informer::{InformerFactory, Notification};
use coracle_meta::Resource;

use crate::filters::ZONE_LABELS;
use crate::framework::ClusterEvent;
use crate::watch::Shared;

/// The volume limits of each driver on a node.
fn limits(node: &CSINode) -> BTreeMap<String, i64> {
    let drivers = node.spec.drivers.iter();
    drivers.filter_map(|one| Some((one.name.clone(), i64::from(one.allocatable.as_ref()?.count?)))).collect()
}

fn takes_more(old: &CSINode, new: &CSINode) -> bool {
    let before = limits(old);
    limits(new).iter().any(|(driver, limit)| *limit > before.get(driver).copied().unwrap_or(0))
}

/// The largest volume that can be provisioned.
pub(crate) fn largest(capacity: &CSIStorageCapacity) -> Option<i64> {
    capacity.maximum_volume_size.or(capacity.capacity).map(|size| size.value())
}

fn zones(volume: &PersistentVolume) -> [Option<&String>; 4] {
    ZONE_LABELS.map(|label| volume.metadata.labels.get(label))
}

/// Registers the scheduler's handlers.
pub(crate) fn watch_volumes(informers: &InformerFactory, shared: &Arc<Shared>) {
    watch_claims(informers, shared);
    watch_drivers(informers, shared);
}

fn watch_claims(informers: &InformerFactory, shared: &Arc<Shared>) {
    let (claims, volumes, classes) = (shared.clone(), shared.clone(), shared.clone());
    informers.informer::<PersistentVolumeClaim>().add_handler("scheduler", move |notification, _| {
        let (claim, gone) = (notification.object(), matches!(notification, Notification::Deleted { .. }));
        let known = (claim.spec.volume_name.clone(), claim.storage_class().to_owned());
        claims.lock().attachable_mut().set_claim(claim.key(), (!gone).then_some(known));
        if !gone {
            let is_new = matches!(notification, Notification::Added { .. });
            claims.happened(&ClusterEvent::Claim { key: claim.key(), is_new });
        }
    });
    informers.informer::<PersistentVolume>().add_handler("scheduler", move |notification, _| {
        let (volume, gone) = (notification.object(), matches!(notification, Notification::Deleted { .. }));
        let handle = volume.spec.csi.as_ref().map(|source| (source.driver.clone(), source.volume_handle.clone()));
        volumes.lock().attachable_mut().set_volume(&volume.key().name, (!gone).then_some(handle));
        if !gone {
            let zones_changed = notification.old().is_none_or(|old| zones(old) != zones(volume));
            volumes.happened(&ClusterEvent::Volume { zones_changed });
        }
    });
    informers.informer::<StorageClass>().add_handler("scheduler", move |notification, _| {
        let (class, gone) = (notification.object(), matches!(notification, Notification::Deleted { .. }));
        classes.lock().attachable_mut().set_class(&class.key().name, (!gone).then(|| class.provisioner.clone()));
        let old = notification.old();
        if !gone && old.is_none_or(|old| old.allowed_topologies != class.allowed_topologies) {
            let waits = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
            classes.happened(&ClusterEvent::StorageClass { is_new: old.is_none(), waits });
        }
    });
}

fn watch_drivers(informers: &InformerFactory, shared: &Arc<Shared>) {
    let (nodes, attachments, drivers, capacities) = (shared.clone(), shared.clone(), shared.clone(), shared.clone());
    informers.informer::<CSINode>().add_handler("scheduler", move |notification, _| {
        let (node, gone) = (notification.object(), matches!(notification, Notification::Deleted { .. }));
        nodes.lock().attachable_mut().set_limits(&node.key().name, (!gone).then(|| limits(node)));
        let old = notification.old();
        let takes_more = old.is_some_and(|old| takes_more(old, node));
        if !gone && (old.is_none() || takes_more) {
            nodes.happened(&ClusterEvent::CsiNode { is_new: old.is_none(), takes_more });
        }
    });
    informers.informer::<VolumeAttachment>().add_handler("scheduler", move |notification, _| {
        let (one, gone) = (notification.object(), matches!(notification, Notification::Deleted { .. }));
        let spec = &one.spec;
        let volume = spec.source.persistent_volume_name.clone().filter(|_| !gone && !spec.attacher.is_empty());
        let attachment = volume.map(|volume| (spec.node_name.clone(), (spec.attacher.clone(), volume)));
        attachments.lock().attachable_mut().set_attachment(&one.key().name, attachment);
        if gone {
            attachments.happened(&ClusterEvent::AttachmentGone);
        }
    });
    informers.informer::<CSIDriver>().add_handler("scheduler", move |notification, _| {
        let counts = |driver: &CSIDriver| driver.spec.storage_capacity == Some(true);
        if let Notification::Updated { old, new } = notification
            && counts(old)
            && !counts(new)
        {
            drivers.happened(&ClusterEvent::CsiDriver(new.key().name));
        }
    });
    informers.informer::<CSIStorageCapacity>().add_handler("scheduler", move |notification, _| {
        let more = match notification {
            Notification::Added { .. } => true,
            Notification::Updated { old, new } => largest(new) > largest(old),
            Notification::Deleted { .. } => false,
        };
        if more {
            capacities.happened(&ClusterEvent::StorageCapacity);
        }
    });
}
