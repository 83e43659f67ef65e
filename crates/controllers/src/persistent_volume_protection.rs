//! Keeps deleted volumes until they are not bound any more.
//!
//! In Kubernetes: `pkg/controller/volume/pvprotection`.

use coracle_api::core_v1::PersistentVolume;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource};
use futures_util::future::BoxFuture;

use crate::Config;
use crate::volumes::{is_concerned, protect};

const FINALIZER: &str = "kubernetes.io/pv-protection";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let volumes = process.informers.informer::<PersistentVolume>();
    let reconciler = Protection { volumes: volumes.lister() };
    let controller = Controller::new(process, "persistentvolume-protection", reconciler)
        .client(config.client(process))
        .watches(&volumes, concerned);
    Box::pin(controller.run())
}

fn concerned(notification: &Notification<PersistentVolume>) -> Vec<ObjectKey> {
    let volume = notification.object();
    let is_there = !matches!(notification, Notification::Deleted { .. });
    let concerned = is_there && is_concerned(&volume.metadata, FINALIZER);
    concerned.then(|| volume.key()).into_iter().collect()
}

struct Protection {
    volumes: Lister<PersistentVolume>,
}

impl Reconciler for Protection {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(volume) = self.volumes.get(key) else { return pass.gone() };
        let is_bound = volume.status.phase == "Bound";
        protect(pass, volume.as_ref(), FINALIZER, async move { Ok(is_bound) }).await?;
        Ok(Action::Done)
    }
}
