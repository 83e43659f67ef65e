//! The last stage of a sync: removes a pod that has ended, or decides when to look at it again.

use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_client::{DeleteParams, Error};
use coracle_controller_runtime::{Action, ReconcileError};

use crate::pod::container::{LOOKS_AGAIN, signed};
use crate::pod::lifecycle::PodStep;
use crate::sync::sync_pass::{Interrupted, SyncPass};

impl SyncPass<'_> {
    /// Removes a pod that has ended, or decides when to look at it again.
    pub(crate) async fn finish(&self) -> Result<Action, Interrupted> {
        let (volumes, bound) = (&self.volumes, self.bound);
        let waits = match self.step {
            // In Kubernetes: `SyncTerminatedPod` waits until they are unmounted.
            PodStep::Remove if !volumes.is_done => None,
            PodStep::Remove if bound.is_static => {
                self.pods.static_pod_ended(self.node, self.key);
                return Ok(self.pass.done(|| "it has ended, and no file asks for it")?);
            }
            PodStep::Remove => return Ok(self.delete().await?),
            PodStep::Wait(left) => left,
            PodStep::Become(_) | PodStep::Changed(..) => None,
        };
        let again = volumes.again.into_iter().chain(bound.again).min();
        // A missing ConfigMap or Secret is looked for again: a node does not watch them.
        let looks = (!self.context.lacks.is_empty()).then(|| signed(LOOKS_AGAIN));
        self.pass.decided(|| match (&waits, self.context.waits_for_volumes) {
            (_, true) => "its volumes are not there yet: wait for them".to_owned(),
            (Some(left), false) => format!("look again in {left:#}"),
            (None, false) => "nothing more to do".to_owned(),
        });
        let certificates = self.certificates_at.map(|at| at.duration_since(self.pods.clock.now()));
        Ok(match waits.into_iter().chain(looks).chain(again.map(signed)).chain(certificates).min() {
            Some(left) => Action::RequeueAfter(Duration::try_from(left).unwrap_or_default()),
            None => Action::Done,
        })
    }

    /// Deletes the pod from the API, without a grace period.
    async fn delete(&self) -> Result<Action, ReconcileError> {
        self.pass.decided(|| "it has ended and is to go: remove it");
        let uid = self.pod.metadata.uid.clone().unwrap_or_default();
        match self.pass.api::<Pod>().delete(self.key, &DeleteParams::now().with_uid(uid)).await {
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(Error::Transport { .. }) if self.node.machine.is_cut_off() => {}
            deleted => {
                deleted?;
            }
        }
        Ok(Action::Done)
    }
}
