//! Keeps the EndpointSlices of each Service with a selector: its pods, a hundred to a slice.
//!
//! Watches Services, pods, nodes and slices. A pod concerns the Services whose selectors match it, before and after a
//! change. A slice concerns its Service when another client changed it; those changes are batched for at least a
//! second.
//! ```text
//! decide (what is wanted) -> placing (which slice holds what) -> hints, zones (who should use what) -> writes
//! ```
//! In Kubernetes: `pkg/controller/endpointslice` and `k8s.io/endpointslice`.

mod decide;
mod hints;
mod placing;
mod zones;

use std::collections::BTreeMap;
use std::time::Duration;

use coracle_api::core_v1::{Node, Pod, Service};
use coracle_api::discovery_v1::EndpointSlice;
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource};
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;

use self::decide::{MANAGER, ObservedService};
use self::zones::Zones;
use crate::Config;
use crate::gathering::gathered;
use crate::selecting::Selecting;
use crate::service_endpoints::{
    SliceTracker, TriggerTimes, chosen_pods, concerned_services, count_of, index_by_service, is_filled, pod_selector,
    slices_of,
};

/// A Service whose slices could not be written is retried more slowly than other keys: there may be many writes.
fn limits() -> RateLimiter<ObjectKey> {
    RateLimiter::exponential(Duration::from_secs(1), Duration::from_secs(1000))
}

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let services = process.informers.informer::<Service>();
    let pods = process.informers.informer::<Pod>();
    let nodes = process.informers.informer::<Node>();
    let slices = process.informers.informer::<EndpointSlice>();
    index_by_service(&slices);
    let tracker = SliceTracker::new(MANAGER);
    let zones = Zones::default();
    let reconciler = Slices {
        services: services.lister(),
        pods: pods.lister(),
        nodes: nodes.lister(),
        slices: slices.lister(),
        max_endpoints: config.max_endpoints_per_slice,
        times: TriggerTimes::default(),
        tracker: tracker.clone(),
        zones: zones.clone(),
        events: EventRecorder::new(process, "endpoint-slice-controller"),
    };
    let name = "endpointslice";
    let selecting = Selecting::of(&services, &process.actor(name), pod_selector);
    let batch = config.endpoint_slice_updates_batch_period;
    let (known, sizes, max_endpoints) = (nodes.lister(), slices.lister(), config.max_endpoints_per_slice);
    let controller = Controller::on_queue(process, name, process.queue(name, limits()), reconciler)
        .client(config.client(process))
        .watches(&services, key_of)
        .watches_by(
            &pods,
            move |change| concerned_services(&selecting, change),
            move |_, service| batch.max(gathered(count_of(&sizes, MANAGER, service) * max_endpoints)),
        )
        .watches_after(SliceTracker::MIN_DELAY.max(batch), &slices, move |change| tracker.concerned_services(change))
        .watches(&nodes, move |change| if moves_zones(change) { zones.overloaded(&known.list()) } else { Vec::new() })
        .workers(5)
        .max_retries(15);
    Box::pin(controller.run())
}

/// Whether the capacity of zones changes.
fn moves_zones(notification: &Notification<Node>) -> bool {
    match notification {
        Notification::Added { .. } | Notification::Deleted { .. } => true,
        Notification::Updated { old, new } => {
            zones::is_ready(old) != zones::is_ready(new) || zones::zone_of(old) != zones::zone_of(new)
        }
    }
}

struct Slices {
    services: Lister<Service>,
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    slices: Lister<EndpointSlice>,
    max_endpoints: usize,
    times: TriggerTimes,
    tracker: SliceTracker,
    zones: Zones,
    events: EventRecorder,
}

impl Reconciler for Slices {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(service) = self.services.get(key) else {
            self.times.forget(key);
            self.tracker.forget(key);
            self.zones.forget(key);
            return pass.done(|| "the Service is gone: forget it");
        };
        if !is_filled(&service) {
            return pass.done(|| "it selects no pods: nothing to do");
        }
        let slices = slices_of(&self.slices, MANAGER, key);
        if self.tracker.misses_one(key, &slices) {
            pass.decided(|| "another owner has a slice: wait until it is released or deleted");
            return Err(ReconcileError::Object("EndpointSlice informer cache is out of date".to_owned()));
        }
        let pods = chosen_pods(&self.pods, &service);
        let trigger = self.times.observe(&service, &pods);
        let zone_of = |node: &str| {
            let node = self.nodes.get(&ObjectKey::cluster(node))?;
            Some((node.key().name, zones::zone_of(&node).map(str::to_owned)))
        };
        let nodes: BTreeMap<_, _> = pods.iter().filter_map(|pod| zone_of(&pod.spec.node_name)).collect();
        let observed =
            ObservedService { service: &service, pods: &pods, nodes: &nodes, max_endpoints: self.max_endpoints };
        let mut failures = Vec::new();
        for (address_type, slices) in decide::by_address_type(&service, &slices) {
            let mut plan = decide::plan(&observed, address_type, &slices);
            failures.append(&mut plan.failures);
            for (event_type, reason, message) in self.hint(&service, address_type, &mut plan, &slices) {
                self.events.in_pass(pass).event(service.as_ref(), event_type, reason, message);
            }
            let writes = plan.into_writes(&service, trigger);
            pass.decided(|| format!("see {} pods, {} slices: {}", pods.len(), slices.len(), writes.sentence()));
            let of = format!("Service {}/{}", key.namespace, key.name);
            failures.extend(writes.carry_out(pass, &self.tracker, &of).await.err().map(|error| error.to_string()));
        }
        if failures.is_empty() {
            return Ok(Action::Done);
        }
        let error = match failures.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("Error updating Endpoint Slices for Service {}/{}: {error}", key.namespace, key.name);
        self.events.in_pass(pass).event(service.as_ref(), EventType::Warning, "FailedToUpdateEndpointSlices", message);
        Err(ReconcileError::Object(error))
    }
}

impl Slices {
    /// Sets the hints of one family's endpoints, as the Service requests.
    fn hint(
        &self,
        service: &Service,
        address_type: &'static str,
        plan: &mut decide::Plan,
        slices: &[std::sync::Arc<EndpointSlice>],
    ) -> Vec<zones::ServiceEvent> {
        plan.consider_unchanged(slices);
        if hints::by_zone(service) {
            let nodes = self.nodes.list();
            return self.zones.hint(&service.key(), address_type, &nodes, plan);
        }
        let events = self.zones.stop(&service.key(), address_type);
        hints::prefer_close(hints::distribution(service), plan);
        events
    }
}
