//! The lifecycle of a simulated pod on its node, from bound to removed.
//!
//! ```text
//! Starting --> Active: init containers one after the other, sidecars with them, then the others; each as in `container`
//!     |          |  \-- all have ended --> Stopping (sidecars) --> Ended
//!     |          v  asked to stop
//!     +------> Stopping ----------------------------------------> Ended
//! ```

use std::borrow::Cow;

use coracle_ambient::{TimeShift, Timestamp};
use coracle_api::core_v1::{Container, Pod};
use coracle_kubelet_api::save_format;
use coracle_meta::parse_time;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::Delays;
use crate::pod::container::{ContainerChange, ContainerPhase, ContainerRole, ContainerRuntime, Exit, KILLED, signed};
use crate::pod::container_place::{ContainerPlace, is_sidecar, part};
use crate::pod::pod_context::PodContext;

/// The grace period of a container that sets none, in seconds.
const DEFAULT_GRACE: i64 = 30;
/// The shortest grace period of a sidecar. In Kubernetes: `minimumGracePeriodInSeconds`.
const LEAST_GRACE: i64 = 2;

/// The stage of a pod on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PodStage {
    /// The node has seen the pod; the sandbox is being created.
    Starting,
    /// The sandbox has its address; containers are created, run and end.
    Active,
    /// Containers were asked to stop.
    Stopping,
    /// All containers have ended for good.
    Ended,
}

/// What a node knows about a pod that it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Runtime {
    pub(crate) stage: PodStage,
    /// When the pod entered its stage.
    #[serde(with = "save_format::time")]
    pub(crate) since: Timestamp,
    /// When the node first saw it.
    #[serde(with = "save_format::time")]
    pub(crate) seen: Timestamp,
    /// The address of its sandbox.
    pub(crate) ip: Option<String>,
    /// Its init containers and sidecars, in the order of the spec.
    pub(crate) init: Vec<ContainerRuntime>,
    pub(crate) main: Vec<ContainerRuntime>,
    pub(crate) ephemeral: Vec<ContainerRuntime>,
    /// Why the pod as a whole failed, if not because of its containers: reason and message.
    pub(crate) failure: Option<(Cow<'static, str>, String)>,
    /// Whether the node rejected it.
    pub(crate) is_refused: bool,
    /// Whether the node terminated it for the node's own sake.
    pub(crate) is_disrupted: bool,
}

/// The next step of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PodStep {
    /// The pod gets this state.
    Become(Box<Runtime>),
    /// One of its containers changes, and the pod gets this state.
    Changed(ContainerPlace, ContainerChange, Box<Runtime>),
    /// No step before this much time has passed; none if it waits for a change of the pod.
    Wait(Option<SignedDuration>),
    /// The pod has ended, and its object can be deleted.
    Remove,
}

/// The next step of a pod; without a `runtime` the node has not seen the pod yet.
pub(crate) fn next(
    pod: &Pod,
    runtime: Option<&Runtime>,
    context: &PodContext,
    delays: &Delays,
    now: Timestamp,
) -> PodStep {
    let Some(runtime) = runtime else {
        return match (pod.is_finished(), pod.is_terminating()) {
            (true, true) => PodStep::Remove,
            (true, false) => PodStep::Wait(None),
            (false, _) => PodStep::Become(Box::new(Runtime::found(pod).unwrap_or_else(|| Runtime::seen_at(pod, now)))),
        };
    };
    match runtime.stage {
        // The deletion was requested already; only finalizers keep the object.
        PodStage::Ended
            if pod.metadata.deletion_grace_period_seconds == Some(0) && !pod.metadata.finalizers.is_empty() =>
        {
            PodStep::Wait(None)
        }
        PodStage::Ended if pod.is_terminating() => PodStep::Remove,
        PodStage::Ended => PodStep::Wait(None),
        PodStage::Stopping => stop(pod, runtime, context, delays, now),
        _ if pod.is_terminating() && !runtime.has_run() => runtime.ended(now),
        _ if pod.is_terminating() => PodStep::Become(Box::new(runtime.at(PodStage::Stopping, now))),
        _ if context.leaves.is_some() => {
            let is_disrupted = context.leaves.as_ref().is_some_and(|leaving| leaving.is_disruption);
            let failure = context.leaves.as_ref().map(|leaving| (leaving.reason.into(), leaving.message.clone()));
            let going = Runtime { failure, is_disrupted, ..runtime.clone() };
            let is_graceful = context.leaves.as_ref().is_some_and(|leaving| leaving.is_graceful);
            if is_graceful && runtime.has_run() {
                PodStep::Become(Box::new(going.at(PodStage::Stopping, now)))
            } else {
                going.ended(now)
            }
        }
        _ if deadline(pod, runtime, now).is_some_and(|left| !left.is_positive()) => {
            let message = "Pod was active on the node longer than the specified deadline".to_owned();
            Runtime { failure: Some(("DeadlineExceeded".into(), message)), ..runtime.clone() }.ended(now)
        }
        _ if never_starts(pod, context) && !runtime.has_run() => PodStep::Wait(deadline(pod, runtime, now)),
        PodStage::Starting if context.waits_for_volumes => PodStep::Wait(deadline(pod, runtime, now)),
        PodStage::Starting => {
            let left = signed(delays.sandbox).saturating_sub(now.duration_since(runtime.since));
            if left.is_positive() {
                PodStep::Wait(Some(left))
            } else {
                PodStep::Become(Box::new(runtime.at(PodStage::Active, now)))
            }
        }
        PodStage::Active => act(pod, runtime.with_ephemeral(pod, now), context, delays, now),
    }
}

fn never_starts(pod: &Pod, context: &PodContext) -> bool {
    pod.spec.containers.iter().any(|container| context.behaviour(pod, container, false).never_starts)
}

/// The next step of a pod that has its sandbox: of one of its containers, or of the pod as a whole.
fn act(pod: &Pod, runtime: Runtime, context: &PodContext, delays: &Delays, now: Timestamp) -> PodStep {
    let init = runtime.init_outcome(pod);
    if let InitOutcome::Failed = init {
        return runtime.ended(now);
    }
    if runtime.main.iter().all(|container| container.state == ContainerPhase::Ended) {
        let goes_on =
            |container: &ContainerRuntime| container.state == ContainerPhase::Running || container.is_restarting();
        return if runtime.init.iter().chain(&runtime.ephemeral).any(goes_on) {
            PodStep::Become(Box::new(runtime.at(PodStage::Stopping, now)))
        } else {
            runtime.ended(now)
        };
    }
    let begins = runtime.since.later(delays.start);
    let turn_of = |place: ContainerPlace| match (place, init) {
        _ if context.waits_for_volumes => None,
        (ContainerPlace::Init(index), InitOutcome::Waits { at, since }) if index <= at => Some(since.max(begins)),
        (ContainerPlace::Init(_), InitOutcome::Passed { since })
        | (ContainerPlace::Main(_), InitOutcome::Passed { since })
            if !runtime.pulls_before(place) =>
        {
            Some(since.max(begins))
        }
        (ContainerPlace::Ephemeral(_), _) => Some(begins),
        _ => None,
    };
    let due = runtime.places().filter_map(|place| {
        let wanted = context.wanted(pod, place)?;
        let (at, change) = wanted.next(runtime.container(place)?, turn_of(place), delays, now)?;
        Some((at, place, change))
    });
    let waits = deadline(pod, &runtime, now);
    match due.min_by_key(|(at, place, _)| (*at, *place)) {
        Some((at, place, change)) if at <= now => {
            let changed = runtime.changed(pod, place, &change, context, now);
            PodStep::Changed(place, change, Box::new(changed))
        }
        Some((at, ..)) => {
            let left = at.duration_since(now);
            PodStep::Wait(Some(waits.map_or(left, |deadline| deadline.min(left))))
        }
        None => PodStep::Wait(waits),
    }
}

/// The progress of the init containers of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InitOutcome {
    /// It is the turn of the container at this index, since then.
    Waits { at: usize, since: Timestamp },
    /// All init containers have completed, and all sidecars have started.
    Passed { since: Timestamp },
    /// One has failed for good.
    Failed,
}

fn stop(pod: &Pod, runtime: &Runtime, context: &PodContext, delays: &Delays, now: Timestamp) -> PodStep {
    let granted = pod.metadata.deletion_grace_period_seconds.or(pod.spec.termination_grace_period_seconds);
    let grace = SignedDuration::from_secs(granted.unwrap_or(DEFAULT_GRACE));
    let mut stopped = runtime.clone();
    let mut last = SignedDuration::ZERO;
    let goes_on = |place: &ContainerPlace| {
        context.container(pod, *place).is_some_and(|own| part(own, *place) == ContainerRole::Sidecar)
    };
    for place in runtime.places().filter(|place| !goes_on(place)) {
        if runtime.is_running(place) {
            let (after, code) = ends(pod, place, context, delays, grace);
            last = last.max(after);
            stopped.stop(place, code, runtime.since.later(after));
        }
    }
    // Sidecars are stopped after the other containers, in reverse order, within the rest of the grace period.
    for place in runtime.places().filter(goes_on).collect::<Vec<_>>().into_iter().rev() {
        if runtime.is_running(place) {
            let left = grace.saturating_sub(last).max(SignedDuration::from_secs(LEAST_GRACE.min(grace.as_secs())));
            let (after, code) = ends(pod, place, context, delays, left);
            last = last.saturating_add(after);
            stopped.stop(place, code, runtime.since.later(last));
        }
    }
    let left = last.saturating_sub(now.duration_since(runtime.since));
    if left.is_positive() { PodStep::Wait(Some(left)) } else { stopped.ended(now) }
}

/// How long a container takes to end after it was asked to stop, and its exit code.
fn ends(
    pod: &Pod,
    place: ContainerPlace,
    context: &PodContext,
    delays: &Delays,
    grace: SignedDuration,
) -> (SignedDuration, i32) {
    let Some(wanted) = context.wanted(pod, place) else { return (SignedDuration::ZERO, 0) };
    let sleeps = before_stop(wanted.container);
    let is_killed = wanted.behaviour.ignores_stop || sleeps.is_positive() && sleeps >= grace;
    if is_killed { (grace, KILLED) } else { (sleeps.saturating_add(signed(delays.stop)).min(grace), 0) }
}

/// The duration of the preStop sleep of a container; other hooks take no time.
fn before_stop(container: &Container) -> SignedDuration {
    let sleep = || Some(container.lifecycle.as_ref()?.pre_stop.as_ref()?.sleep.as_ref()?.seconds);
    SignedDuration::from_secs(sleep().unwrap_or(0))
}

/// How long until the active deadline of the pod, if it has one.
fn deadline(pod: &Pod, runtime: &Runtime, now: Timestamp) -> Option<SignedDuration> {
    let seconds = pod.spec.active_deadline_seconds?;
    Some(SignedDuration::from_secs(seconds).saturating_sub(now.duration_since(runtime.seen)))
}

impl Runtime {
    /// A pod that the node sees for the first time.
    pub(crate) fn seen_at(pod: &Pod, now: Timestamp) -> Self {
        let new = |count: usize| vec![ContainerRuntime::new(now); count];
        Self {
            stage: PodStage::Starting,
            since: now,
            seen: now,
            ip: None,
            init: new(pod.spec.init_containers.len()),
            main: new(pod.spec.containers.len()),
            ephemeral: new(pod.spec.ephemeral_containers.len()),
            failure: None,
            is_refused: false,
            is_disrupted: false,
        }
    }

    /// A pod that the node rejects: it fails before anything of it is created.
    pub(crate) fn refused(pod: &Pod, reason: &'static str, message: String, now: Timestamp) -> Self {
        let mut refused = Self::seen_at(pod, now);
        refused.stage = PodStage::Ended;
        refused.failure = Some((reason.into(), message));
        refused.is_refused = true;
        refused
    }

    /// A pod whose status shows running containers: the kubelet was restarted, and the machine was not.
    fn found(pod: &Pod) -> Option<Self> {
        let first = pod.status.container_statuses.iter().find_map(|status| status.state.running.as_ref())?;
        let started = first.started_at.as_deref().and_then(parse_time)?;
        let seen = pod.status.start_time.as_deref().and_then(parse_time).unwrap_or(started);
        let found = |name: &str, statuses: &[coracle_api::core_v1::ContainerStatus]| {
            let status = statuses.iter().find(|status| status.name == name);
            status.map_or_else(|| ContainerRuntime::new(seen), |status| found_container(status, seen))
        };
        let status = &pod.status;
        Some(Self {
            stage: PodStage::Active,
            since: seen,
            ip: Some(status.pod_ip.clone()).filter(|ip| !ip.is_empty()),
            init: pod
                .spec
                .init_containers
                .iter()
                .map(|own| found(&own.name, &status.init_container_statuses))
                .collect(),
            main: pod.spec.containers.iter().map(|own| found(&own.name, &status.container_statuses)).collect(),
            ephemeral: (pod.spec.ephemeral_containers.iter())
                .map(|own| found(&own.name, &status.ephemeral_container_statuses))
                .collect(),
            ..Self::seen_at(pod, seen)
        })
    }

    /// The same pod in another stage.
    fn at(&self, stage: PodStage, now: Timestamp) -> Self {
        Self { stage, since: now, ..self.clone() }
    }

    /// Adds the ephemeral containers that were added to the spec since the last pass.
    fn with_ephemeral(&self, pod: &Pod, now: Timestamp) -> Self {
        let mut runtime = self.clone();
        runtime.ephemeral.resize_with(pod.spec.ephemeral_containers.len(), || ContainerRuntime::new(now));
        runtime
    }

    fn ended(&self, now: Timestamp) -> PodStep {
        let mut ended = self.at(PodStage::Ended, now);
        for place in self.places().collect::<Vec<_>>() {
            // An init container that never started keeps the state `Waiting`.
            let waits = matches!(place, ContainerPlace::Init(_))
                && self.container(place).is_some_and(|own| own.state == ContainerPhase::Waiting);
            if !waits {
                ended.stop(place, KILLED, now);
            }
        }
        PodStep::Become(Box::new(ended))
    }

    fn stop(&mut self, place: ContainerPlace, code: i32, at: Timestamp) {
        if let Some(container) = self.container_mut(place) {
            *container = container.stopped(code, at);
        }
    }

    fn changed(
        &self,
        pod: &Pod,
        place: ContainerPlace,
        change: &ContainerChange,
        context: &PodContext,
        now: Timestamp,
    ) -> Self {
        let mut changed = self.clone();
        if let (Some(wanted), Some(container)) = (context.wanted(pod, place), changed.container_mut(place)) {
            *container = container.after(change, &wanted, pod, now);
        }
        changed
    }

    /// All containers, in the order in which the node works on them.
    pub(crate) fn places(&self) -> impl Iterator<Item = ContainerPlace> + use<> {
        let (init, main, ephemeral) = (self.init.len(), self.main.len(), self.ephemeral.len());
        (0..init)
            .map(ContainerPlace::Init)
            .chain((0..main).map(ContainerPlace::Main))
            .chain((0..ephemeral).map(ContainerPlace::Ephemeral))
    }

    pub(crate) fn container(&self, place: ContainerPlace) -> Option<&ContainerRuntime> {
        match place {
            ContainerPlace::Init(index) => self.init.get(index),
            ContainerPlace::Main(index) => self.main.get(index),
            ContainerPlace::Ephemeral(index) => self.ephemeral.get(index),
        }
    }

    /// Replaces the state of a container.
    pub(crate) fn put(&mut self, place: ContainerPlace, container: ContainerRuntime) {
        if let Some(own) = self.container_mut(place) {
            *own = container;
        }
    }

    fn container_mut(&mut self, place: ContainerPlace) -> Option<&mut ContainerRuntime> {
        match place {
            ContainerPlace::Init(index) => self.init.get_mut(index),
            ContainerPlace::Main(index) => self.main.get_mut(index),
            ContainerPlace::Ephemeral(index) => self.ephemeral.get_mut(index),
        }
    }

    pub(crate) fn has_run_at(&self, place: ContainerPlace) -> bool {
        self.container(place).is_some_and(ContainerRuntime::has_run)
    }

    fn is_running(&self, place: ContainerPlace) -> bool {
        self.container(place).is_some_and(|container| container.state == ContainerPhase::Running)
    }

    /// Whether the node pulls the image of a container that it starts before this one.
    fn pulls_before(&self, place: ContainerPlace) -> bool {
        self.places().take_while(|before| *before != place).any(|before| self.pulls(before))
    }

    fn pulls(&self, place: ContainerPlace) -> bool {
        self.container(place).is_some_and(|own| matches!(own.state, ContainerPhase::Pulling { .. }))
    }

    fn init_outcome(&self, pod: &Pod) -> InitOutcome {
        let mut since = self.since;
        for (index, (container, runtime)) in pod.spec.init_containers.iter().zip(&self.init).enumerate() {
            let passed = match (is_sidecar(container), &runtime.state) {
                (true, ContainerPhase::Running) if runtime.is_started => Some(runtime.since),
                // A sidecar that has started once does not block the others when it is restarted.
                (true, _) if runtime.is_restarting() => Some(since),
                (true, ContainerPhase::Running) if runtime.restarts > 0 => Some(since),
                (false, ContainerPhase::Ended) if runtime.has_ended_well() => Some(runtime.since),
                (false, ContainerPhase::Ended) => return InitOutcome::Failed,
                _ => None,
            };
            match passed {
                Some(at) => since = since.max(at),
                None => return InitOutcome::Waits { at: index, since },
            }
        }
        InitOutcome::Passed { since }
    }

    /// Whether any of its containers has ever run.
    pub(crate) fn has_run(&self) -> bool {
        self.init.iter().chain(&self.main).any(ContainerRuntime::has_run)
    }

    /// Whether all init containers have done what the main containers wait for.
    pub(crate) fn is_initialized(&self, pod: &Pod) -> bool {
        matches!(self.init_outcome(pod), InitOutcome::Passed { .. }) && self.stage != PodStage::Starting
            || self.main.iter().any(ContainerRuntime::has_run)
    }

    /// Whether the pod has ended successfully.
    pub(crate) fn succeeded(&self) -> bool {
        self.stage == PodStage::Ended
            && self.failure.is_none()
            && self.main.iter().all(|container| container.exit.as_ref().is_some_and(|exit| exit.code == 0))
            && !self.main.is_empty()
    }

    /// The names of the containers that are not ready: sidecars first.
    pub(crate) fn unready<'p>(&self, pod: &'p Pod) -> Vec<&'p str> {
        let sidecars = pod.spec.init_containers.iter().zip(&self.init).filter(|(container, _)| is_sidecar(container));
        let all = sidecars.chain(pod.spec.containers.iter().zip(&self.main));
        all.filter(|(_, runtime)| !runtime.is_ready).map(|(container, _)| container.name.as_str()).collect()
    }

    /// The state of the pod in one word, for the event log.
    pub(crate) fn word(&self, pod: &Pod) -> String {
        let any = |state: ContainerPhase| self.main.iter().any(|container| container.state == state);
        match self.stage {
            PodStage::Starting => "Starting".to_owned(),
            PodStage::Stopping => "Stopping".to_owned(),
            PodStage::Ended => "Ended".to_owned(),
            PodStage::Active if any(ContainerPhase::BackingOff) => "BackingOff".to_owned(),
            PodStage::Active if !any(ContainerPhase::Running) && self.places().any(|place| self.pulls(place)) => {
                "Pulling".to_owned()
            }
            PodStage::Active if !any(ContainerPhase::Running) => {
                let running = self.init.iter().rposition(|container| container.state == ContainerPhase::Running);
                running.map_or_else(|| "Sandbox".to_owned(), |index| format!("Initializing({index})"))
            }
            PodStage::Active if self.unready(pod).is_empty() => "Ready".to_owned(),
            PodStage::Active => "Running".to_owned(),
        }
    }
}

fn found_container(status: &coracle_api::core_v1::ContainerStatus, seen: Timestamp) -> ContainerRuntime {
    let time = |text: &Option<String>| text.as_deref().and_then(parse_time);
    let exit = |state: &coracle_api::core_v1::ContainerState| {
        state.terminated.as_ref().map(|ended| Exit {
            code: ended.exit_code,
            started: time(&ended.started_at),
            at: time(&ended.finished_at).unwrap_or(seen),
            reason: Some(ended.reason.clone()).filter(|reason| !matches!(reason.as_str(), "Completed" | "Error" | "")),
        })
    };
    let base = ContainerRuntime { restarts: status.restart_count, ..ContainerRuntime::new(seen) };
    match (&status.state.running, exit(&status.state)) {
        (Some(running), _) => ContainerRuntime {
            state: ContainerPhase::Running,
            since: time(&running.started_at).unwrap_or(seen),
            exit: exit(&status.last_state),
            is_started: status.started.unwrap_or(true),
            is_ready: status.ready,
            ..base
        },
        (None, Some(exit)) => {
            ContainerRuntime { state: ContainerPhase::Ended, since: exit.at, exit: Some(exit), ..base }
        }
        (None, None) => base,
    }
}

#[cfg(test)]
mod tests;
