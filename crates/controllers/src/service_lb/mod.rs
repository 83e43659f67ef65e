//! Allocates addresses to Services of type LoadBalancer, where no cloud provider does.
//!
//! Off without a range. An address is allocated as long as the Service's status lists it; recent allocations, which
//! the cache may not show yet, are remembered. A Service with a load balancer class is left to the controller of that
//! class. Not in Kubernetes, where cloud providers do this; events are those of `k8s.io/cloud-provider`'s service
//! controller.

mod decide;

use std::collections::BTreeMap;
use std::net::IpAddr;

use coracle_api::core_v1::{LoadBalancerIngress, Service};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{Cidr, ObjectKey, Resource};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use self::decide::{LoadBalancerStep, addresses, wants_one};
use crate::Config;

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let Some(range) = config.service_lb_range else { return std::future::ready(()).boxed() };
    let services = process.informers.informer::<Service>();
    let reconciler = Balancers {
        services: services.lister(),
        range,
        given: Mutex::default(),
        events: EventRecorder::new(process, "service-controller"),
    };
    let all = services.lister();
    let controller = Controller::new(process, "service-lb", reconciler)
        .client(config.client(process))
        .watches(&services, move |notification| concerned(notification, &all));
    controller.run().boxed()
}

/// The Service; if one releases an address, also those that wait for one.
fn concerned(notification: &Notification<Service>, all: &Lister<Service>) -> Vec<ObjectKey> {
    let service = notification.object();
    let had_one = notification.old().is_some_and(|old| wants_one(old)) || !addresses(service).is_empty();
    if !wants_one(service) && !had_one {
        return Vec::new();
    }
    let gives_back = matches!(notification, Notification::Deleted { .. }) || !wants_one(service);
    let all = if gives_back { all.list() } else { Vec::new() };
    let waiting = all.iter().filter(|other| wants_one(other) && addresses(other).is_empty());
    [service.key()].into_iter().chain(waiting.map(|other| other.key())).collect()
}

struct Balancers {
    services: Lister<Service>,
    range: Cidr,
    given: Mutex<BTreeMap<ObjectKey, IpAddr>>,
    events: EventRecorder,
}

impl Reconciler for Balancers {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(service) = self.services.get(key) else {
            self.given.lock().remove(key);
            return pass.gone();
        };
        let step = {
            let mut given = self.given.lock();
            let others = self.services.list();
            let others = others.iter().filter(|other| other.key() != *key).flat_map(|other| addresses(other));
            let remembered = given.iter().filter(|(other, _)| *other != key).map(|(_, address)| *address);
            let step = decide::step(&service, self.range, &others.chain(remembered).collect());
            match step {
                LoadBalancerStep::Give(address) => drop(given.insert(key.clone(), address)),
                _ => drop(given.remove(key)),
            }
            step
        };
        pass.decided(|| decide::sentence(&step));
        let tell = |event_type, reason, message: &str| {
            self.events.in_pass(pass).event(service.as_ref(), event_type, reason, message);
        };
        match step {
            LoadBalancerStep::Keep => {}
            LoadBalancerStep::Give(address) => {
                tell(EventType::Normal, "EnsuringLoadBalancer", "Ensuring load balancer");
                let ingress = LoadBalancerIngress { ip: address.to_string(), ..LoadBalancerIngress::default() };
                let give = |service: &mut Service| service.status.load_balancer.ingress = vec![ingress.clone()];
                pass.update_status(service.as_ref(), give).await?;
                tell(EventType::Normal, "EnsuredLoadBalancer", "Ensured load balancer");
            }
            LoadBalancerStep::TakeBack => {
                let take = |service: &mut Service| service.status.load_balancer.ingress.clear();
                pass.update_status(service.as_ref(), take).await?;
            }
            LoadBalancerStep::Refuse(why) => {
                let message = format!("Error syncing load balancer: failed to ensure load balancer: {why}");
                tell(EventType::Warning, "SyncLoadBalancerFailed", &message);
                return Err(ReconcileError::Object(why));
            }
        }
        Ok(Action::Done)
    }
}
