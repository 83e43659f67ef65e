//! Evicts pods that use devices with a `NoExecute` taint which their claims do not tolerate, at once or after the
//! toleration time.
//!
//! ```text
//! Pod, ResourceClaim, ResourceSlice --> Pod keys:  evicted, when the earliest toleration of a taint has ended
//! DeviceTaintRule                   --> Pod keys, and its Rule key: the condition EvictionInProgress
//! a pod with an eviction            --> Rule keys of its taints, after ten seconds
//! ```
//! Start at `decide`: an allocated claim, slices and rules in, the time of the eviction out. In Kubernetes:
//! `pkg/controller/devicetainteviction`. Unlike Kubernetes: a pass computes the time of a pod's eviction from the
//! caches, which do not keep it; PodGroups, which a release has behind a gate that is off, reserve no claims.

mod caches;
mod condition;
mod decide;
mod handlers;
mod pods;
mod rules;
mod timers;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_api::resource_v1::{DeviceTaintRule, ResourceClaim, ResourceSlice};
use coracle_controller_runtime::{Action, Controller, EventRecorder, Pass, Process, ReconcileError, Reconciler};
use coracle_meta::ObjectKey;
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;

use self::caches::{Caches, index_by_pool};
use self::handlers::Handlers;
use self::pods::Pods;
use self::rules::Rules;
use self::timers::{EvictedPods, Timers};
use crate::Config;

/// The name of the component in events, and its field manager.
const NAME: &str = "device-taint-eviction-controller";
/// The minimum time between two writes of the condition of a rule. In Kubernetes: `ruleStatusPeriod`.
const STATUS_PERIOD: Duration = Duration::from_secs(10);

/// A queue key: a pod that may have to be evicted, or a rule with its condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Pod(ObjectKey),
    Rule(String),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(key) => write!(f, "pod:{key}"),
            Self::Rule(name) => write!(f, "rule:{name}"),
        }
    }
}

/// The device taint eviction controller.
pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let pods = process.informers.informer::<Pod>();
    let claims = process.informers.informer::<ResourceClaim>();
    let slices = process.informers.informer::<ResourceSlice>();
    let has_rules = config.release.enabled("DRADeviceTaintRules");
    let rules = has_rules.then(|| process.informers.informer::<DeviceTaintRule>());
    index_by_pool(&slices, &claims);
    let caches = Caches {
        pods: pods.lister(),
        claims: claims.lister(),
        slices: slices.lister(),
        rules: rules.as_ref().map(|rules| rules.lister()),
    };
    let (timers, evicted) = (Arc::new(Timers::default()), Arc::new(EvictedPods::default()));
    let queue = process.queue("device-taint-eviction", RateLimiter::default());
    let clock = process.ambient.clock.clone();
    let reconciler = DeviceTaintEviction {
        of_pods: Pods {
            caches: caches.clone(),
            timers: Arc::clone(&timers),
            evicted: Arc::clone(&evicted),
            events: EventRecorder::new(process, NAME),
            clock: clock.clone(),
            queue: queue.clone(),
        },
        of_rules: Rules { caches: caches.clone(), evicted: Arc::clone(&evicted), clock },
    };
    let handlers = Handlers { caches, timers, evicted };
    let [of_pod, of_claim, of_slice, of_rule] = [(); 4].map(|()| handlers.clone());
    let delay = |key: &Key| if matches!(key, Key::Rule(_)) { STATUS_PERIOD } else { Duration::ZERO };
    let mut controller = Controller::on_queue(process, "device-taint-eviction", queue, reconciler)
        .client(config.client(process))
        .watches_by(&pods, move |change| of_pod.of_pod(change), move |_, key| delay(key))
        .watches_by(&claims, move |change| of_claim.of_claim(change), move |_, key| delay(key))
        .watches_by(&slices, move |change| of_slice.of_slice(change), move |_, key| delay(key))
        .workers(10);
    if let Some(rules) = rules {
        // The condition states what the rule will evict before that happens.
        controller = controller.watches(&rules, move |change| of_rule.of_rule(change));
    }
    Box::pin(controller.run())
}

struct DeviceTaintEviction {
    of_pods: Pods,
    of_rules: Rules,
}

impl Reconciler<Key> for DeviceTaintEviction {
    async fn reconcile(&self, pass: &Pass, key: &Key) -> Result<Action, ReconcileError> {
        match key {
            Key::Pod(key) => self.of_pods.sync(pass, key).await,
            Key::Rule(name) => self.of_rules.sync(pass, name).await,
        }
    }
}
