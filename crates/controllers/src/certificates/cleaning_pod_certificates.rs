//! Deletes pod certificate requests that are older than thirty minutes.
//!
//! In Kubernetes: `PCRCleanerController`. Unlike Kubernetes: each request is deleted when it is due. Kubernetes polls all
//! requests every five minutes.

use coracle_ambient::Clock;
use coracle_api::certificates_v1::PodCertificateRequest;
use coracle_client::DeleteParams;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle_informer::Lister;
use coracle_meta::{ObjectKey, parse_time};
use futures_util::future::BoxFuture;
use jiff::SignedDuration;

use crate::Config;

const KEPT: SignedDuration = SignedDuration::from_mins(30);

/// The controller.
pub(crate) fn cleaning_pod_certificates(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let requests = process.informers.informer::<PodCertificateRequest>();
    let cleaning = Cleaning { requests: requests.lister(), clock: process.ambient.clock.clone() };
    let controller = Controller::new(process, "podcertificaterequest-cleaner", cleaning)
        .client(config.client(process))
        .watches(&requests, key_of);
    Box::pin(controller.run())
}

struct Cleaning {
    requests: Lister<PodCertificateRequest>,
    clock: Clock,
}

impl Reconciler for Cleaning {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(request) = self.requests.get(key) else { return pass.gone() };
        let created = request.metadata.creation_timestamp.as_deref().and_then(parse_time);
        let due = created.and_then(|created| created.checked_add(KEPT).ok());
        let Some(due) = due else { return pass.done(|| "nothing says when it was created: keep it") };
        let left = due.duration_since(self.clock.now());
        if left.is_positive() {
            pass.decided(|| format!("its time ends in {left:#}: keep it"));
            return Ok(Action::RequeueAfter(left.unsigned_abs()));
        }
        pass.decided(|| "older than thirty minutes: delete");
        let params = DeleteParams::default().with_uid(request.metadata.uid.clone().unwrap_or_default());
        pass.delete_if_there::<PodCertificateRequest>(key, &params).await?;
        Ok(Action::Done)
    }
}
