//! Keeps deleted VolumeAttributesClasses until no claim and no volume uses them.
//!
//! In Kubernetes: `pkg/controller/volume/vacprotection`.

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use coracle_api::storage_v1::VolumeAttributesClass;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ApiObject, ObjectKey, Resource};
use futures_util::future::BoxFuture;

use crate::Config;
use crate::volumes::{is_concerned, protect};

const FINALIZER: &str = "kubernetes.io/vac-protection";
/// The index of claims and volumes by their classes.
const BY_CLASS: &str = "volume-attributes-class";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let classes = process.informers.informer::<VolumeAttributesClass>();
    let claims = process.informers.informer::<PersistentVolumeClaim>();
    let volumes = process.informers.informer::<PersistentVolume>();
    claims.add_index(BY_CLASS, classes_of_claim);
    volumes.add_index(BY_CLASS, class_of_volume);
    let reconciler = Protection { classes: classes.lister(), claims: claims.lister(), volumes: volumes.lister() };
    let controller = Controller::new(process, "volumeattributesclass-protection", reconciler)
        .client(config.client(process))
        .watches(&classes, concerned)
        .watches(&claims, |notification| freed(notification, classes_of_claim))
        .watches(&volumes, |notification| freed(notification, class_of_volume));
    Box::pin(controller.run())
}

fn concerned(notification: &Notification<VolumeAttributesClass>) -> Vec<ObjectKey> {
    let class = notification.object();
    let is_there = !matches!(notification, Notification::Deleted { .. });
    let concerned = is_there && is_concerned(&class.metadata, FINALIZER);
    concerned.then(|| class.key()).into_iter().collect()
}

/// The classes that an object no longer uses.
fn freed<T: ApiObject>(notification: &Notification<T>, classes: fn(&T) -> Vec<String>) -> Vec<ObjectKey> {
    let freed = match notification {
        Notification::Added { .. } => Vec::new(),
        Notification::Deleted { object, .. } => classes(object),
        Notification::Updated { old, new } => {
            let (before, after) = (classes(old), classes(new));
            before.into_iter().filter(|class| !after.contains(class)).collect()
        }
    };
    freed.into_iter().map(ObjectKey::cluster).collect()
}

/// The classes of a claim: requested, current and target.
fn classes_of_claim(claim: &PersistentVolumeClaim) -> Vec<String> {
    let (spec, status) = (&claim.spec, &claim.status);
    let target = status.modify_volume_status.as_ref().map(|status| status.target_volume_attributes_class_name.clone());
    let all = [spec.volume_attributes_class_name.clone(), status.current_volume_attributes_class_name.clone(), target];
    let mut classes: Vec<_> = all.into_iter().flatten().filter(|class| !class.is_empty()).collect();
    classes.sort();
    classes.dedup();
    classes
}

fn class_of_volume(volume: &PersistentVolume) -> Vec<String> {
    volume.spec.volume_attributes_class_name.clone().filter(|class| !class.is_empty()).into_iter().collect()
}

struct Protection {
    classes: Lister<VolumeAttributesClass>,
    claims: Lister<PersistentVolumeClaim>,
    volumes: Lister<PersistentVolume>,
}

impl Reconciler for Protection {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(class) = self.classes.get(key) else { return pass.gone() };
        let is_used = !self.volumes.by_index(BY_CLASS, &key.name).is_empty()
            || !self.claims.by_index(BY_CLASS, &key.name).is_empty();
        protect(pass, class.as_ref(), FINALIZER, async move { Ok(is_used) }).await?;
        Ok(Action::Done)
    }
}
