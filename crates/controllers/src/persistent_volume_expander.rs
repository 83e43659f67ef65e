//! Annotates the driver that must resize a claim: CSI drivers resize all volumes.
//!
//! In Kubernetes: `pkg/controller/volume/expand`.

use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use coracle_client::Patch;
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, unless_gone,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Quantity, Resource};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::Config;
use crate::volumes::{STORAGE, csi_name, in_tree_name};

/// The annotation with the driver that must resize the claim's volume.
const RESIZER: &str = "volume.kubernetes.io/storage-resizer";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let claims = process.informers.informer::<PersistentVolumeClaim>();
    let volumes = process.informers.informer::<PersistentVolume>();
    let reconciler = Expander {
        claims: claims.lister(),
        volumes: volumes.lister(),
        events: EventRecorder::new(process, "volume_expand"),
    };
    let controller = Controller::new(process, "persistentvolume-expander", reconciler)
        .client(config.client(process))
        .watches(&claims, grown)
        .reads(&volumes)
        .workers(10);
    Box::pin(controller.run())
}

/// A bound claim that is added, or whose requested or actual size grows.
fn grown(notification: &Notification<PersistentVolumeClaim>) -> Vec<ObjectKey> {
    let claim = notification.object();
    let concerned = match notification {
        Notification::Added { .. } => true,
        Notification::Updated { old, new } => requested(new) > requested(old) || capacity(new) > capacity(old),
        Notification::Deleted { .. } => false,
    };
    (concerned && claim.status.phase == "Bound").then(|| claim.key()).into_iter().collect()
}

fn requested(claim: &PersistentVolumeClaim) -> Quantity {
    claim.spec.resources.requests.get(STORAGE).copied().unwrap_or_else(|| Quantity::of(0))
}

fn capacity(claim: &PersistentVolumeClaim) -> Quantity {
    claim.status.capacity.get(STORAGE).copied().unwrap_or_else(|| Quantity::of(0))
}

struct Expander {
    claims: Lister<PersistentVolumeClaim>,
    volumes: Lister<PersistentVolume>,
    events: EventRecorder,
}

impl Reconciler for Expander {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(claim) = self.claims.get(key) else { return pass.gone() };
        let name = claim.spec.volume_name.as_str();
        let volume = self.volumes.get(&ObjectKey::cluster(name));
        let volume = volume.ok_or_else(|| ReconcileError::Object(format!("failed to get PV {name:?}")))?;
        let is_its = volume.spec.claim_ref.as_ref().is_some_and(|reference| {
            reference.namespace == key.namespace && Some(&reference.uid) == claim.metadata.uid.as_ref()
        });
        if !is_its {
            let message = format!("persistent Volume is not bound to PVC being updated : {key}");
            return Err(ReconcileError::Object(message));
        }
        if requested(&claim) <= capacity(&claim) {
            return pass.done(|| format!("it has {}: nothing to do", capacity(&claim)));
        }
        pass.decided(|| format!("wants {}, has {}: say who resizes it", requested(&claim), capacity(&claim)));
        let plugin = in_tree_name(&volume.spec);
        let message = match plugin {
            Some(plugin) => {
                format!("CSI migration enabled for {plugin}; waiting for external resizer to expand the pvc")
            }
            None => "waiting for an external controller to expand this PVC".to_owned(),
        };
        self.events.in_pass(pass).event(claim.as_ref(), EventType::Normal, "ExternalExpanding", message);
        if let Some(driver) = plugin.and_then(csi_name)
            && claim.metadata.annotations.get(RESIZER).is_none_or(|known| known != driver)
        {
            let patch = Patch::Strategic(json!({"metadata": {"annotations": {RESIZER: driver}}}));
            unless_gone(pass.api::<PersistentVolumeClaim>().patch_status(key, &patch).await)?;
        }
        Ok(Action::Done)
    }
}
