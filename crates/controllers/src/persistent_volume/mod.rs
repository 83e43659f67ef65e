//! Binds claims to volumes, and says what becomes of volumes whose claims are gone.
//!
//! Claims and volumes have a queue and a worker each. A claim that waits is looked at again from time to time, because
//! what it waits for is not told apart from what it does not. What is decided ([`claim`], [`volume`]) is a step;
//! [`binding`] carries it out, each write on what the one before gave.
//! In Kubernetes: `pkg/controller/volume/persistentvolume`. Unlike there, volumes are never recycled by a pod of ours, and
//! nothing on a disk is deleted with a hostPath volume: nodes are simulated.

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

/// The claim whose volume is gone.
fn claim_of_deleted(notification: &Notification<PersistentVolume>) -> Vec<ObjectKey> {
    let Notification::Deleted { object, .. } = notification else { return Vec::new() };
    let claim = object.spec.claim_ref.iter();
    claim.map(|claim| ObjectKey::new(claim.namespace.as_str(), claim.name.as_str())).collect()
}

/// The volume whose claim is gone.
fn volume_of_deleted(notification: &Notification<PersistentVolumeClaim>) -> Vec<ObjectKey> {
    let Notification::Deleted { object, .. } = notification else { return Vec::new() };
    let name = Some(object.spec.volume_name.as_str()).filter(|name| !name.is_empty());
    name.map(ObjectKey::cluster).into_iter().collect()
}
