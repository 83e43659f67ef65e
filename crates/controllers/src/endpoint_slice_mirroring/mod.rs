//! Mirrors user-written Endpoints of Services without a selector to EndpointSlices.
//!
//! Watches Endpoints, their Services and the slices made of them.
//! In Kubernetes: `pkg/controller/endpointslicemirroring`.

mod decide;

use std::time::Duration;

use coracle_api::core_v1::{Endpoints, Service};
use coracle_api::discovery_v1::EndpointSlice;
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource};
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;

use self::decide::{MANAGER, is_mirrored};
use crate::Config;
use crate::service_endpoints::{SliceTracker, SliceWrites, index_by_service, slices_of};

/// A failed write is retried more slowly than elsewhere: there may be many writes.
fn limits() -> RateLimiter<ObjectKey> {
    RateLimiter::exponential(Duration::from_secs(1), Duration::from_secs(100))
}

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let services = process.informers.informer::<Service>();
    let endpoints = process.informers.informer::<Endpoints>();
    let slices = process.informers.informer::<EndpointSlice>();
    index_by_service(&slices);
    let tracker = SliceTracker::new(MANAGER);
    let reconciler = Mirror {
        services: services.lister(),
        endpoints: endpoints.lister(),
        slices: slices.lister(),
        tracker: tracker.clone(),
        max_addresses: config.mirroring_max_endpoints_per_subset,
        events: EventRecorder::new(process, "endpoint-slice-mirroring-controller"),
    };
    let name = "endpointslice-mirroring";
    let batch = config.mirroring_endpoint_slice_updates_batch_period;
    let controller = Controller::on_queue(process, name, process.queue(name, limits()), reconciler)
        .client(config.client(process))
        .watches(&endpoints, mirrored)
        .watches(&services, without_selector)
        .watches_after(batch, &slices, move |change| tracker.concerned_services(change))
        .workers(5)
        .max_retries(15);
    Box::pin(controller.run())
}

/// Endpoints that are mirrored, or were before the change.
fn mirrored(notification: &Notification<Endpoints>) -> Vec<ObjectKey> {
    let mut both = notification.old().into_iter().chain([notification.object()]);
    both.any(|endpoints| is_mirrored(endpoints)).then(|| notification.object().key()).into_iter().collect()
}

/// A Service without a selector that is added or deleted, and one whose selector is added or removed.
fn without_selector(notification: &Notification<Service>) -> Vec<ObjectKey> {
    let has_none = |service: &Service| service.spec.selector.is_empty();
    let concerned = match notification {
        Notification::Added { object, .. } | Notification::Deleted { object, .. } => has_none(object),
        Notification::Updated { old, new } => has_none(old) != has_none(new),
    };
    concerned.then(|| notification.object().key()).into_iter().collect()
}

struct Mirror {
    services: Lister<Service>,
    endpoints: Lister<Endpoints>,
    slices: Lister<EndpointSlice>,
    tracker: SliceTracker,
    max_addresses: usize,
    events: EventRecorder,
}

impl Reconciler for Mirror {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let slices = slices_of(&self.slices, MANAGER, key);
        let has_selector = self.services.get(key).is_none_or(|service| !service.spec.selector.is_empty());
        let endpoints = self.endpoints.get(key).filter(|endpoints| is_mirrored(endpoints) && !has_selector);
        let of = format!("Endpoints {}/{}", key.namespace, key.name);
        let Some(endpoints) = endpoints else {
            self.tracker.forget(key);
            if slices.is_empty() {
                return pass.done(|| "not to be mirrored: nothing to do");
            }
            pass.decided(|| format!("not to be mirrored: delete {}", slices.len()));
            let writes = SliceWrites { delete: slices, ..SliceWrites::default() };
            writes.carry_out(pass, &self.tracker, &of).await?;
            return Ok(Action::Done);
        };
        if self.tracker.misses_one(key, &slices) {
            pass.decided(|| "another owner has a slice: wait until it is released or deleted");
            return Err(ReconcileError::Object("EndpointSlice informer cache is out of date".to_owned()));
        }
        let plan = decide::plan(&endpoints, &slices, self.max_addresses);
        pass.decided(|| plan.writes.sentence());
        for (reason, message) in plan.warnings {
            self.events.in_pass(pass).event(endpoints.as_ref(), EventType::Warning, reason, message);
        }
        plan.writes.carry_out(pass, &self.tracker, &of).await?;
        Ok(Action::Done)
    }
}
