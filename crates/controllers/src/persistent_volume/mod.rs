//! Binds claims to volumes, and reclaims volumes whose claims are deleted.
//!
//! Claims and volumes have a queue and a worker each. A pending claim is also processed periodically, because the
//! changes that could unblock it are not tracked individually. The decision ([`claim`], [`volume`]) is a step;
//! [`binding`] carries it out, each write based on the result of the previous one. In Kubernetes:
//! `pkg/controller/volume/persistentvolume`. Unlike Kubernetes: volumes are never recycled by a pod, and deleting a
//! hostPath volume deletes nothing on a disk, because nodes are simulated.

mod binding;
mod claim;
mod claims;
mod matching;
mod reclaim;
mod volume;
mod volumes;

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::StorageClass;
use coracle_controller_runtime::{Controller, EventRecorder, Process, key_of};
use coracle_informer::Notification;
use coracle_meta::ObjectKey;
use futures_util::future::BoxFuture;

use self::claims::Claims;
use self::volumes::Volumes;
use crate::Config;
use crate::volumes::index_by_claim;

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let claims = process.informers.informer::<PersistentVolumeClaim>();
    let volumes = process.informers.informer::<PersistentVolume>();
    let classes = process.informers.informer::<StorageClass>();
    let pods = process.informers.informer::<Pod>();
    index_by_claim(&pods);
    let events = EventRecorder::new(process, "persistentvolume-controller");
    let of_claims = Controller::new(
        process,
        "persistentvolume-binder-claims",
        Claims {
            claims: claims.lister(),
            volumes: volumes.lister(),
            classes: classes.lister(),
            pods: pods.lister(),
            events: events.clone(),
            period: config.pv_claim_binder_sync_period,
        },
    )
    .client(config.client(process))
    .watches(&claims, key_of)
    .watches(&volumes, claim_of_deleted)
    .reads(&classes)
    .reads(&pods);
    let of_volumes = Controller::new(
        process,
        "persistentvolume-binder-volumes",
        Volumes { claims: claims.lister(), volumes: volumes.lister(), events, claim_queue: of_claims.queue() },
    )
    .client(config.client(process))
    .watches(&volumes, key_of)
    .watches(&claims, volume_of_deleted);
    Box::pin(async move {
        tokio::join!(of_claims.run(), of_volumes.run());
    })
}

/// The claim whose volume was deleted.
fn claim_of_deleted(notification: &Notification<PersistentVolume>) -> Vec<ObjectKey> {
    let Notification::Deleted { object, .. } = notification else { return Vec::new() };
    let claim = object.spec.claim_ref.iter();
    claim.map(|claim| ObjectKey::new(claim.namespace.as_str(), claim.name.as_str())).collect()
}

/// The volume whose claim was deleted.
fn volume_of_deleted(notification: &Notification<PersistentVolumeClaim>) -> Vec<ObjectKey> {
    let Notification::Deleted { object, .. } = notification else { return Vec::new() };
    let name = Some(object.spec.volume_name.as_str()).filter(|name| !name.is_empty());
    name.map(ObjectKey::cluster).into_iter().collect()
}
