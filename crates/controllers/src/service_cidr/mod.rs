//! Sets ServiceCIDRs to ready, and keeps deleted ones until another range covers each of their allocated addresses.
//!
//! Watches ServiceCIDRs and IPAddresses; a new range concerns those that it overlaps, an address those that contain
//! it.
//! In Kubernetes: `pkg/controller/servicecidrs`.

mod decide;

use coracle_ambient::Clock;
use coracle_api::meta_v1::Condition;
use coracle_api::networking_v1::{IPAddress, ServiceCIDR};
use coracle_client::{Patch, WriteParams};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, unless_gone,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource, format_time};
use futures_util::future::BoxFuture;
use serde_json::json;

use self::decide::{ServiceCidrStep, allocated, blocks};
use crate::Config;
use crate::conditions::find;

const NAME: &str = "service-cidr-controller";
const FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let ranges = process.informers.informer::<ServiceCIDR>();
    let addresses = process.informers.informer::<IPAddress>();
    let reconciler = ServiceCidrs {
        ranges: ranges.lister(),
        addresses: addresses.lister(),
        clock: process.ambient.clock.clone(),
        events: EventRecorder::new(process, NAME),
    };
    let (others, holders) = (ranges.lister(), ranges.lister());
    let controller = Controller::new(process, "service-cidr", reconciler)
        .client(config.client(process))
        .watches(&ranges, move |notification| concerned(notification, &others))
        .watches(&addresses, move |notification| held_by(notification, &holders))
        .workers(5)
        .max_retries(15);
    Box::pin(controller.run())
}

/// The range itself, and, if it is added, those that it overlaps: they may be deletable now.
fn concerned(notification: &Notification<ServiceCIDR>, all: &Lister<ServiceCIDR>) -> Vec<ObjectKey> {
    let range = notification.object();
    let mut keys = vec![range.key()];
    if matches!(notification, Notification::Added { initial: false, .. }) {
        let mine = blocks(range);
        let overlaps = |other: &ServiceCIDR| blocks(other).iter().any(|a| mine.iter().any(|b| a.overlaps(*b)));
        keys.extend(all.list().iter().filter(|other| overlaps(other)).map(|other| other.key()));
    }
    keys
}

/// The ranges that contain an added or deleted address.
fn held_by(notification: &Notification<IPAddress>, ranges: &Lister<ServiceCIDR>) -> Vec<ObjectKey> {
    if matches!(notification, Notification::Updated { .. }) {
        return Vec::new();
    }
    let Some(address) = allocated(notification.object()) else { return Vec::new() };
    let ranges = ranges.list();
    let holding = ranges.iter().filter(|range| blocks(range).iter().any(|block| block.has_host(address)));
    holding.map(|range| range.key()).collect()
}

struct ServiceCidrs {
    ranges: Lister<ServiceCIDR>,
    addresses: Lister<IPAddress>,
    clock: Clock,
    events: EventRecorder,
}

impl Reconciler for ServiceCidrs {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(range) = self.ranges.get(key) else { return pass.gone() };
        let has_finalizer = range.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER);
        let addresses = || self.addresses.list();
        let step = decide::step(&range, &self.ranges.list(), addresses, self.clock.now());
        pass.decided(|| decide::sentence(&step));
        let finalizers = async |patch| unless_gone(pass.api::<ServiceCIDR>().patch(key, &patch).await);
        match step {
            ServiceCidrStep::Ready => {
                if !has_finalizer {
                    finalizers(Patch::Strategic(json!({"metadata": {"finalizers": [FINALIZER]}}))).await?;
                }
                if let Err(error) = self.say(pass, &range, "True", "", "Kubernetes Service CIDR is ready").await {
                    let message = "The ServiceCIDR Status can not be set to Ready=True";
                    let events = self.events.in_pass(pass);
                    events.event(range.as_ref(), EventType::Warning, "KubernetesServiceCIDRError", message);
                    return Err(error);
                }
            }
            ServiceCidrStep::Keep => {
                let why = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new \
                           ServiceCIDR";
                self.say(pass, &range, "False", "Terminating", why).await?;
            }
            ServiceCidrStep::Wait(left) => return Ok(Action::RequeueAfter(left)),
            ServiceCidrStep::LetGo if has_finalizer => {
                let names = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}});
                finalizers(Patch::Strategic(names)).await?;
            }
            ServiceCidrStep::LetGo => {}
        }
        Ok(Action::Done)
    }
}

impl ServiceCidrs {
    /// Writes the condition `Ready`, if it differs.
    async fn say(
        &self,
        pass: &Pass,
        range: &ServiceCIDR,
        status: &str,
        reason: &str,
        message: &str,
    ) -> Result<(), ReconcileError> {
        let said = find::<Condition>(&range.status.conditions, "Ready");
        let same = |said: &Condition| {
            (said.status.as_str(), said.reason.as_str(), said.message.as_str()) == (status, reason, message)
        };
        if said.is_some_and(same) {
            return Ok(());
        }
        let key = range.key();
        let condition = json!({"type": "Ready", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": format_time(self.clock.now())});
        let object = json!({"apiVersion": ServiceCIDR::api_version(), "kind": ServiceCIDR::KIND,
            "metadata": {"name": key.name}, "status": {"conditions": [condition]}});
        let write = WriteParams { field_manager: NAME.to_owned(), ..WriteParams::default() };
        let ranges = pass.api::<ServiceCIDR>().writing(write);
        ranges.patch_status(&key, &Patch::Apply { object, force: true }).await?;
        Ok(())
    }
}
