//! Clears the condition `DisruptionTarget` of a pod that is not being deleted two minutes later.
//!
//! In Kubernetes: `DisruptionController.syncStalePodDisruption`.

use std::future::Future;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::core_v1::{Pod, PodCondition};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource, format_time};

use super::decide::stale_in;
use crate::Config;
use crate::conditions::put;

const NAME: &str = "stale-pod-disruption";

pub(super) fn start(process: &Process, config: &Config) -> impl Future<Output = ()> + use<> {
    let pods = process.informers.informer::<Pod>();
    let clock = process.ambient.clock.clone();
    let controller = Controller::new(process, NAME, Stale { pods: pods.lister(), clock: clock.clone() })
        .client(config.client(process))
        .reads(&pods);
    let queue = controller.queue();
    pods.add_handler(controller.actor(), move |notification, causes| {
        let (Notification::Added { object: pod, .. } | Notification::Updated { new: pod, .. }) = notification else {
            return;
        };
        if let Some(left) = stale_in(pod, clock.now()) {
            queue.add_after(pod.key(), Duration::try_from(left).unwrap_or_default(), causes);
        }
    });
    controller.run()
}

struct Stale {
    pods: Lister<Pod>,
    clock: Clock,
}

impl Reconciler for Stale {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(pod) = self.pods.get(key) else { return pass.gone() };
        let now = self.clock.now();
        match stale_in(&pod, now) {
            None => return pass.done(|| "it was not to be disrupted: nothing to do"),
            Some(left) if left.is_positive() => {
                pass.decided(|| format!("it may still go: look again in {left:#}"));
                return Ok(Action::RequeueAfter(Duration::try_from(left).unwrap_or_default()));
            }
            Some(_) => {}
        }
        pass.decided(|| "it was to be disrupted and is still there: it is not disrupted");
        let condition = PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "False".to_owned(),
            last_transition_time: Some(format_time(now)),
            observed_generation: pod.metadata.generation.unwrap_or(0),
            ..PodCondition::default()
        };
        pass.update_status(pod.as_ref(), |pod: &mut Pod| {
            if stale_in(pod, now).is_some_and(|left| left.is_zero()) {
                put(&mut pod.status.conditions, condition.clone());
            }
        })
        .await?;
        Ok(Action::Done)
    }
}
