//! Scales a target by the resource usage of its pods and by other metrics.
//!
//! ```text
//! scale of the target --> metrics, proposals (the highest counts) --> bounds (how far, how fast) --> scale, status
//! ```
//! [`replicas`] and [`bounds`] are arithmetic; [`metrics`] reads the metrics, if a metrics server exists. Each
//! autoscaler is evaluated every 15 s, whether or not it changed; without autoscalers nothing runs. In Kubernetes:
//! `pkg/controller/podautoscaler`.

mod bounds;
mod metrics;
mod proposals;
mod replicas;
mod status;
mod zero;

use std::collections::BTreeMap;
use std::time::Duration;

use coracle_api::autoscaling_v1::Scale;
use coracle_api::autoscaling_v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus};
use coracle_api::core_v1::Pod;
use coracle_client::{Api, ApiResource, Error};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{GroupVersion, LabelSelector, Object, ObjectKey};
use coracle_release::Release;
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use parking_lot::Mutex;

use self::bounds::{Bounds, Memory};
use self::proposals::MetricsReader;
use self::replicas::{Target, Tolerances};
use self::status::{ABLE, ACTIVE, Draft, LIMITED};
use self::zero::{SCALED_TO_ZERO, Zero};
use crate::Config;
use crate::config::Autoscaling;
use crate::scaled_kinds::ScaledKinds;
use crate::stale_pods::wait_or_ignore;

const BELOW_MIN: &str = "Current number of replicas below Spec.MinReplicas";
const NAME: &str = "horizontal-pod-autoscaler";
/// How often the write of a scale is tried when other clients write it at the same time. In Kubernetes:
/// `retry.DefaultRetry`.
const TRIES: usize = 5;

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let autoscalers = process.informers.informer::<HorizontalPodAutoscaler>();
    let pods = process.informers.informer::<Pod>();
    let reconciler = Autoscalers {
        autoscalers: autoscalers.lister(),
        pods: pods.lister(),
        kinds: ScaledKinds::default(),
        known: Mutex::default(),
        events: EventRecorder::new(process, "horizontal-pod-autoscaler"),
        clock: process.ambient.clock.clone(),
        settings: config.autoscaling,
        release: config.release.clone(),
    };
    let (period, release) = (config.autoscaling.sync_period, config.release.clone());
    let controller = Controller::new(process, NAME, reconciler)
        .client(config.client(process))
        .stale_caches(wait_or_ignore(&config.release, "StaleControllerConsistencyHPA"))
        .watches_by(
            &autoscalers,
            key_of,
            move |change, _| if at_once(change, &release) { Duration::ZERO } else { period },
        )
        .reads(&pods)
        .workers(5);
    Box::pin(controller.run())
}

/// Whether a change is acted upon at once, and not with the next period: a new autoscaler, or a new spec, in a release
/// in which that counts.
fn at_once(change: &Notification<HorizontalPodAutoscaler>, release: &Release) -> bool {
    match change {
        Notification::Added { .. } => release.has("HPAActsOnCreation"),
        Notification::Updated { old, new } => {
            release.enabled("HPAGeneration") && old.metadata.generation != new.metadata.generation
        }
        Notification::Deleted { .. } => false,
    }
}

struct Autoscalers {
    autoscalers: Lister<HorizontalPodAutoscaler>,
    pods: Lister<Pod>,
    kinds: ScaledKinds,
    known: Mutex<BTreeMap<ObjectKey, Known>>,
    events: EventRecorder,
    clock: coracle_ambient::Clock,
    settings: Autoscaling,
    release: Release,
}

/// What is remembered about an autoscaler between its passes.
#[derive(Debug)]
struct Known {
    memory: Memory,
    /// The selector of the target's pods.
    selector: LabelSelector,
}

impl Default for Known {
    fn default() -> Self {
        Self { memory: Memory::default(), selector: LabelSelector::nothing() }
    }
}

impl Reconciler for Autoscalers {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(autoscaler) = self.autoscalers.get(key) else {
            self.known.lock().remove(key);
            return pass.gone();
        };
        let mut draft = Draft::new(&autoscaler, self.clock.now(), &self.release);
        let round = Round { all: self, pass, key, autoscaler: &autoscaler, events: self.events.in_pass(pass) };
        let done = round.run(&mut draft).await;
        pass.decided(|| done.unwrap_or_else(|why| why));
        round.write(draft.status).await;
        // Failures, too, are retried with the next period, and not sooner.
        Ok(Action::RequeueAfter(self.settings.sync_period))
    }
}

/// One evaluation of one autoscaler.
struct Round<'a> {
    all: &'a Autoscalers,
    pass: &'a Pass,
    key: &'a ObjectKey,
    autoscaler: &'a HorizontalPodAutoscaler,
    events: EventRecorder,
}

impl Round<'_> {
    /// Scales the target if necessary; returns what was done, or why nothing could be done.
    async fn run(&self, draft: &mut Draft) -> Result<String, String> {
        let spec = &self.autoscaler.spec;
        let (kind, scale) = match self.scale().await {
            Ok(found) => found,
            Err(why) => {
                self.warn("FailedGetScale", &why);
                let message = format!("the HPA controller was unable to get the target's current scale: {why}");
                draft.set(ABLE, "False", "FailedGetScale", &message);
                return Err(why);
            }
        };
        let message = "the HPA controller was able to get the target's current scale";
        draft.set(ABLE, "True", "SucceededGetScale", message);
        let current = scale.spec.replicas;
        let min = spec.min_replicas.unwrap_or(1);
        let bounds = Bounds {
            min,
            max: spec.max_replicas,
            current,
            behavior: spec.behavior.as_deref(),
            stabilization: signed(self.all.settings.downscale_stabilization),
            now: self.all.clock.now(),
        };
        self.remember(|known| known.memory.begin(current, bounds.now));
        let (wanted, reason) = self.wanted(&scale, &bounds, draft).await?;
        if wanted == current {
            draft.sized(current, Some(wanted));
            return Ok(format!("want {wanted}, see {current}: nothing to do"));
        }
        if let Err(error) = self.rescale(&kind, scale, wanted).await {
            self.warn("FailedRescale", &format!("New size: {wanted}; reason: {reason}; error: {error}"));
            let message = format!("the HPA controller was unable to update the target scale: {error}");
            draft.set(ABLE, "False", "FailedUpdateScale", &message);
            draft.sized(current, None);
            return Err(error.to_string());
        }
        let message = format!("the HPA controller was able to update the target scale to {wanted}");
        draft.set(ABLE, "True", "SucceededRescale", &message);
        let message = format!("New size: {wanted}; reason: {reason}");
        self.events.event(self.autoscaler, EventType::Normal, "SuccessfulRescale", message);
        self.record_zero(wanted, &bounds, draft);
        self.remember(|known| known.memory.scaled(wanted, &bounds));
        draft.sized(current, Some(wanted));
        draft.rescaled();
        Ok(format!("want {wanted}, see {current}: {reason}"))
    }

    /// Records whether this scaling went to zero.
    fn record_zero(&self, wanted: i32, bounds: &Bounds<'_>, draft: &mut Draft) {
        if self.all.release.enabled("HPAScaleToZero") {
            let (status, reason, message) = Zero::of(self.autoscaler).after(wanted, bounds);
            draft.set(SCALED_TO_ZERO, status, reason, message);
        } else {
            draft.unset(SCALED_TO_ZERO);
        }
    }

    /// The size that the target should have, and why.
    async fn wanted(&self, scale: &Scale, bounds: &Bounds<'_>, draft: &mut Draft) -> Result<(i32, String), String> {
        let current = bounds.current;
        let zero = self.all.release.enabled("HPAScaleToZero").then(|| Zero::of(self.autoscaler));
        let is_measured = current != 0 || zero.is_some_and(|zero| zero.is_measured(bounds.min));
        if !is_measured {
            let message = "scaling is disabled since the replica count of the target is zero";
            draft.set(ACTIVE, "False", "ScalingDisabled", message);
            Ok((current, String::new()))
        } else if current != 0 && current > bounds.max {
            Ok((bounds.max, "Current number of replicas above Spec.MaxReplicas".to_owned()))
        } else if current != 0 && current < bounds.min {
            Ok((bounds.min, BELOW_MIN.to_owned()))
        } else {
            let asked = self.asked(scale, draft).await;
            let (asked, name) = asked.inspect_err(|why| {
                draft.sized(current, None);
                self.warn("FailedComputeMetricsReplicas", why);
            })?;
            let bounded = self.remember(|known| known.memory.bound(asked, bounds));
            draft.set(ABLE, "True", bounded.able.0, bounded.able.1);
            let limited = if bounded.limited { "True" } else { "False" };
            draft.set(LIMITED, limited, bounded.limit.0, bounded.limit.1);
            let reason = match asked.cmp(&current) {
                std::cmp::Ordering::Greater => format!("{name} above target"),
                std::cmp::Ordering::Less => "All metrics below target".to_owned(),
                std::cmp::Ordering::Equal => String::new(),
            };
            match zero.and_then(|zero| zero.raised(bounded.replicas, bounds)) {
                Some(least) if reason.is_empty() => Ok((least, BELOW_MIN.to_owned())),
                Some(least) => Ok((least, reason)),
                None => Ok((bounded.replicas, reason)),
            }
        }
    }

    /// The scale of the target, and the kind that it was found under.
    async fn scale(&self) -> Result<(ApiResource, Scale), String> {
        let target = &self.autoscaler.spec.scale_target_ref;
        let version = GroupVersion::parse(&target.api_version)
            .ok_or_else(|| format!("unexpected GroupVersion string: {}", target.api_version))?;
        let kinds = self.all.kinds.of(self.pass.client(), &version.group, &target.kind).await;
        let kinds = kinds.map_err(|error| error.to_string())?;
        let mut first = None;
        for kind in kinds {
            match self.target(&kind).get_subresource(&self.target_key(), "scale").await {
                Ok(scale) => return Ok((kind, scale)),
                Err(error) => first = first.or(Some(error.to_string())),
            }
        }
        Err(first.unwrap_or_else(|| format!("no matches for kind {:?} in group {:?}", target.kind, version.group)))
    }

    fn target(&self, kind: &ApiResource) -> Api<Object> {
        Api::dynamic(self.pass.client(), kind.resource.clone())
    }

    fn target_key(&self) -> ObjectKey {
        ObjectKey::new(self.key.namespace.as_str(), self.autoscaler.spec.scale_target_ref.name.as_str())
    }

    async fn rescale(&self, kind: &ApiResource, mut scale: Scale, replicas: i32) -> Result<(), Error> {
        let (target, key) = (self.target(kind), self.target_key());
        for tries_left in (0..TRIES).rev() {
            scale.spec.replicas = replicas;
            let version = scale.metadata.resource_version.clone().unwrap_or_default();
            match target.update_subresource::<Scale>(&key, "scale", &scale, &version).await {
                Err(error) if error.is_conflict() && tries_left > 0 => {
                    scale = target.get_subresource(&key, "scale").await?;
                }
                written => return written.map(drop),
            }
        }
        Ok(())
    }

    /// The highest recommendation of all metrics, and the metric's name. If some metrics cannot be read, the target
    /// is not scaled down.
    async fn asked(&self, scale: &Scale, draft: &mut Draft) -> Result<(i32, String), String> {
        let selector = self.selector(scale, draft)?;
        let target = self.measured(scale, &selector);
        let source = MetricsReader {
            client: self.pass.client(),
            kinds: &self.all.kinds,
            namespace: &self.key.namespace,
            selector: &scale.status.selector,
            release: &self.all.release,
        };
        let metrics = &self.autoscaler.spec.metrics;
        let (mut most, mut name, mut statuses, mut failures) = (0, String::new(), Vec::new(), Vec::new());
        for metric in metrics {
            match source.ask(&target, metric).await {
                Ok(asked) => {
                    if most == 0 || asked.replicas > most {
                        (most, name) = (asked.replicas, asked.name);
                    }
                    statuses.push(asked.status);
                }
                Err(failure) => {
                    self.warn(failure.reason, &failure.why);
                    statuses.push(Default::default());
                    failures.push(failure);
                }
            }
        }
        draft.status.current_metrics = statuses;
        if let Some(first) = failures.first()
            && (failures.len() == metrics.len() || most < scale.spec.replicas)
        {
            let message = format!("the HPA was unable to compute the replica count: {}", first.why);
            draft.set(ACTIVE, "False", first.reason, &message);
            let (invalid, all) = (failures.len(), metrics.len());
            return Err(format!("invalid metrics ({invalid} invalid out of {all}), first error is: {}", first.message));
        }
        let message = format!("the HPA was able to successfully calculate a replica count from {name}");
        draft.set(ACTIVE, "True", "ValidMetricFound", &message);
        Ok((most, name))
    }

    fn measured(&self, scale: &Scale, selector: &LabelSelector) -> Target {
        let mut pods = self.all.pods.list_namespace(&self.key.namespace);
        pods.retain(|pod| selector.matches(&pod.metadata.labels));
        let settings = &self.all.settings;
        let behavior = self.autoscaler.spec.behavior.as_deref();
        let own = |rules: Option<&coracle_api::autoscaling_v2::HPAScalingRules>| {
            rules.and_then(|rules| rules.tolerance).map(|tolerance| tolerance.milli_value() as f64 / 1000.0)
        };
        let tolerances = Tolerances {
            down: own(behavior.and_then(|both| both.scale_down.as_deref())).unwrap_or(settings.tolerance),
            up: own(behavior.and_then(|both| both.scale_up.as_deref())).unwrap_or(settings.tolerance),
        };
        Target {
            current: scale.spec.replicas,
            running: scale.status.replicas,
            pods,
            tolerances,
            initialization: signed(settings.cpu_initialization_period),
            readiness_delay: signed(settings.initial_readiness_delay),
            now: self.all.clock.now(),
        }
    }

    /// The selector of the target's pods; it must not overlap with another autoscaler's.
    fn selector(&self, scale: &Scale, draft: &mut Draft) -> Result<LabelSelector, String> {
        let text = &scale.status.selector;
        let mut refuse = |event: &str, reason: &str, message: &str, why: String| {
            self.warn(event, &why);
            draft.set(ACTIVE, "False", reason, message);
            why
        };
        if text.is_empty() {
            let message = "the HPA target's scale is missing a selector";
            return Err(refuse("SelectorRequired", "InvalidSelector", message, "selector is required".to_owned()));
        }
        let selector = LabelSelector::parse(text).map_err(|error| {
            let why = format!("couldn't convert selector into a corresponding internal selector object: {error}");
            refuse("InvalidSelector", "InvalidSelector", &why.clone(), why)
        })?;
        self.remember(|known| known.selector = selector.clone());
        let mut pods = self.all.pods.list_namespace(&self.key.namespace);
        pods.retain(|pod| selector.matches(&pod.metadata.labels));
        let known = self.all.known.lock();
        let selecting = |(key, known): &(&ObjectKey, &Known)| {
            key.namespace == self.key.namespace && pods.iter().any(|pod| known.selector.matches(&pod.metadata.labels))
        };
        let selecting: Vec<_> =
            known.iter().filter(selecting).map(|(key, _)| format!("{{{} {}}}", key.name, key.namespace)).collect();
        drop(known);
        if selecting.len() > 1 {
            let why = if self.all.release.has("AmbiguousSelectorNamesTwo") {
                let two = selecting[..2].join(" ");
                format!("pods by selector {text} are controlled by more than one HPA (e.g. [{two}])")
            } else {
                format!("pods by selector {text} are controlled by multiple HPAs: [{}]", selecting.join(" "))
            };
            return Err(refuse("AmbiguousSelector", "AmbiguousSelector", &why.clone(), why));
        }
        Ok(selector)
    }

    fn remember<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        change(self.all.known.lock().entry(self.key.clone()).or_default())
    }

    fn warn(&self, reason: &str, message: &str) {
        self.events.event(self.autoscaler, EventType::Warning, reason, message);
    }

    /// Writes the status if it has changed.
    async fn write(&self, status: HorizontalPodAutoscalerStatus) {
        if status == self.autoscaler.status {
            return;
        }
        let written = HorizontalPodAutoscaler { status, ..self.autoscaler.clone() };
        match self.pass.api().update_status(&written).await {
            Err(error) if !error.is_not_found() => self.warn("FailedUpdateStatus", &error.to_string()),
            _ => {}
        }
    }
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}
