//! Creates the claims of pods' ephemeral volumes; the claims are deleted with their pods.
//!
//! In Kubernetes: `pkg/controller/volume/ephemeral`.

use coracle_api::core_v1::{PersistentVolumeClaim, Pod, Volume};
use coracle_controller_runtime::ownership::controller_reference;
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource};
use futures_util::future::BoxFuture;

use crate::Config;
use crate::volumes::{ephemeral_claim, index_by_claim, pods_using};

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let pods = process.informers.informer::<Pod>();
    let claims = process.informers.informer::<PersistentVolumeClaim>();
    index_by_claim(&pods);
    let reconciler = EphemeralVolumes {
        pods: pods.lister(),
        claims: claims.lister(),
        events: EventRecorder::new(process, "ephemeral_volume"),
    };
    let known = pods.lister();
    let controller = Controller::new(process, "ephemeral-volume", reconciler)
        .client(config.client(process))
        .watches(&pods, |notification| match notification {
            Notification::Added { object, .. } => with_ephemeral(object),
            Notification::Updated { .. } | Notification::Deleted { .. } => Vec::new(),
        })
        .watches(&claims, move |notification| match notification {
            Notification::Deleted { object, .. } => {
                pods_using(&known, &object.key()).iter().flat_map(|pod| with_ephemeral(pod)).collect()
            }
            Notification::Added { .. } | Notification::Updated { .. } => Vec::new(),
        })
        .workers(5);
    Box::pin(controller.run())
}

/// The pod, if it is not being deleted and has an ephemeral volume.
fn with_ephemeral(pod: &Pod) -> Vec<ObjectKey> {
    let has_one = !pod.is_terminating() && pod.spec.volumes.iter().any(|volume| volume.ephemeral.is_some());
    has_one.then(|| pod.key()).into_iter().collect()
}

struct EphemeralVolumes {
    pods: Lister<Pod>,
    claims: Lister<PersistentVolumeClaim>,
    events: EventRecorder,
}

impl Reconciler for EphemeralVolumes {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(pod) = self.pods.get(key).filter(|pod| !pod.is_terminating()) else {
            return pass.done(|| "it is going, or not there: nothing to do");
        };
        for volume in pod.spec.volumes.iter().filter(|volume| volume.ephemeral.is_some()) {
            if let Err(why) = self.make(pass, &pod, volume).await {
                let message = format!("ephemeral volume {}: {why}", volume.name);
                self.events.in_pass(pass).event(pod.as_ref(), EventType::Warning, "FailedBinding", message.as_str());
                return Err(ReconcileError::Object(format!("pod {key}, {message}")));
            }
        }
        pass.done(|| "each of its volumes has its claim")
    }
}

impl EphemeralVolumes {
    /// Creates the claim, unless it exists.
    async fn make(&self, pass: &Pass, pod: &Pod, volume: &Volume) -> Result<(), String> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let name = ephemeral_claim(pod, volume);
        if let Some(claim) = self.claims.get(&ObjectKey::new(namespace, name.as_str())) {
            let is_mine = claim.metadata.controller().map(|owner| &owner.uid) == pod.metadata.uid.as_ref();
            let of = format!("{namespace}/{}", pod.name());
            let why = || format!("PVC {namespace}/{name} was not created for pod {of} (pod is not owner)");
            return if is_mine { Ok(()) } else { Err(why()) };
        }
        let template = volume.ephemeral.as_ref().and_then(|source| source.volume_claim_template.as_deref());
        let template = template.cloned().unwrap_or_default();
        let mut claim = PersistentVolumeClaim { spec: template.spec, ..PersistentVolumeClaim::default() };
        claim.metadata.namespace = Some(namespace.to_owned());
        claim.metadata.name = Some(name.clone());
        claim.metadata.labels = template.metadata.labels;
        claim.metadata.annotations = template.metadata.annotations;
        claim.metadata.owner_references = vec![controller_reference(pod)];
        pass.decided(|| format!("make the claim {name}"));
        match pass.api().create(&claim).await {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("create PVC {name}: {error}")),
        }
    }
}
