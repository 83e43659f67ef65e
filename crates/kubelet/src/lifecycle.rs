//! How a simulated pod goes from bound to gone.
//!
//! ```text
//! Starting --> Active: init containers one after the other, sidecars with them, then the others; each as `container` says
//!     |          |  \-- all have ended --> Stopping (sidecars) --> Ended
//!     |          v  asked to stop
//!     +------> Stopping ----------------------------------------> Ended
//! ```

use std::borrow::Cow;

use coracle_ambient::{TimeShift, Timestamp};
use coracle_api::core_v1::{Container, Pod};
use coracle_meta::parse_time;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::Delays;
use crate::container::{Change, ContainerRuntime, Exit, KILLED, Part, State, signed};
use crate::place::{Place, is_sidecar, part};
use crate::surroundings::Surroundings;
use crate::written;

/// How long a container that does not heed the request to stop is given where nothing else is said.
const DEFAULT_GRACE: i64 = 30;
/// What sidecars are given at the least. In Kubernetes: `minimumGracePeriodInSeconds`.
const LEAST_GRACE: i64 = 2;

/// Where on its way a pod is on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PodStage {
    /// Bound and seen; the sandbox is made.
    Starting,
    /// The sandbox is there, with its address; containers are made, run and end.
    Active,
    /// Containers have been asked to stop.
    Stopping,
    /// All containers have ended for good.
    Ended,
}

/// What a node knows of a pod that it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Runtime {
    pub(crate) stage: PodStage,
    /// Since when.
    #[serde(with = "written::time")]
    pub(crate) since: Timestamp,
    /// When the node first saw it.
    #[serde(with = "written::time")]
    pub(crate) seen: Timestamp,
    /// Its address, once it has a sandbox.
    pub(crate) ip: Option<String>,
    /// Its init containers and sidecars, in the order of the spec.
    pub(crate) init: Vec<ContainerRuntime>,
    pub(crate) main: Vec<ContainerRuntime>,
    pub(crate) ephemeral: Vec<ContainerRuntime>,
    /// Why the pod as a whole failed, where it is not for its containers: reason and message.
    pub(crate) failure: Option<(Cow<'static, str>, String)>,
    /// Whether the node did not take it.
    pub(crate) is_refused: bool,
    /// Whether the node let it go for its own sake.
    pub(crate) is_disrupted: bool,
}

/// What happens next to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It becomes this.
    Become(Box<Runtime>),
    /// This happens to one of its containers, and it becomes that.
    Changed(Place, Change, Box<Runtime>),
    /// Nothing before this long has passed, or at all until somebody changes the pod.
    Wait(Option<SignedDuration>),
    /// It is over, and its object can go.
    Remove,
}

/// What happens next to a pod of a node; `runtime` is none for one that the node has not seen yet.
pub(crate) fn next(
    pod: &Pod,
    runtime: Option<&Runtime>,
    around: &Surroundings,
    delays: &Delays,
    now: Timestamp,
) -> Step {
    let Some(runtime) = runtime else {
        return match (pod.is_finished(), pod.is_terminating()) {
            (true, true) => Step::Remove,
            (true, false) => Step::Wait(None),
            (false, _) => Step::Become(Box::new(Runtime::found(pod).unwrap_or_else(|| Runtime::seen_at(pod, now)))),
        };
    };
    match runtime.stage {
        // Asked for already: what still holds the object are finalizers.
        PodStage::Ended
            if pod.metadata.deletion_grace_period_seconds == Some(0) && !pod.metadata.finalizers.is_empty() =>
        {
            Step::Wait(None)
        }
        PodStage::Ended if pod.is_terminating() => Step::Remove,
        PodStage::Ended => Step::Wait(None),
        PodStage::Stopping => stop(pod, runtime, around, delays, now),
        _ if pod.is_terminating() && !runtime.has_run() => runtime.ended(now),
        _ if pod.is_terminating() => Step::Become(Box::new(runtime.at(PodStage::Stopping, now))),
        _ if around.leaves.is_some() => {
            let is_disrupted = around.leaves.as_ref().is_some_and(|leaving| leaving.is_disruption);
            let failure = around.leaves.as_ref().map(|leaving| (leaving.reason.into(), leaving.message.clone()));
            let going = Runtime { failure, is_disrupted, ..runtime.clone() };
            let is_graceful = around.leaves.as_ref().is_some_and(|leaving| leaving.is_graceful);
            if is_graceful && runtime.has_run() {
                Step::Become(Box::new(going.at(PodStage::Stopping, now)))
            } else {
                going.ended(now)
            }
        }
        _ if deadline(pod, runtime, now).is_some_and(|left| !left.is_positive()) => {
            let message = "Pod was active on the node longer than the specified deadline".to_owned();
            Runtime { failure: Some(("DeadlineExceeded".into(), message)), ..runtime.clone() }.ended(now)
        }
        _ if never_starts(pod, around) && !runtime.has_run() => Step::Wait(deadline(pod, runtime, now)),
        PodStage::Starting if around.waits_for_volumes => Step::Wait(deadline(pod, runtime, now)),
        PodStage::Starting => {
            let left = signed(delays.sandbox).saturating_sub(now.duration_since(runtime.since));
            match left.is_positive() {
                true => Step::Wait(Some(left)),
                false => Step::Become(Box::new(runtime.at(PodStage::Active, now))),
            }
        }
        PodStage::Active => act(pod, runtime.with_ephemeral(pod, now), around, delays, now),
    }
}

fn never_starts(pod: &Pod, around: &Surroundings) -> bool {
    pod.spec.containers.iter().any(|container| around.behaviour(pod, container, false).never_starts)
}

/// A pod that has its sandbox: what happens next to one of its containers, or to it as a whole.
fn act(pod: &Pod, runtime: Runtime, around: &Surroundings, delays: &Delays, now: Timestamp) -> Step {
    let init = runtime.init_outcome(pod);
    if let InitOutcome::Failed = init {
        return runtime.ended(now);
    }
    if runtime.main.iter().all(|container| container.state == State::Ended) {
        let goes_on = |container: &ContainerRuntime| matches!(container.state, State::Running | State::BackingOff);
        return match runtime.init.iter().chain(&runtime.ephemeral).any(goes_on) {
            true => Step::Become(Box::new(runtime.at(PodStage::Stopping, now))),
            false => runtime.ended(now),
        };
    }
    let begins = runtime.since.later(delays.start);
    let turn_of = |place: Place| match (place, init) {
        _ if around.waits_for_volumes => None,
        (Place::Init(index), InitOutcome::Waits { at, since }) if index <= at => Some(since.max(begins)),
        (Place::Init(_), InitOutcome::Passed { since }) | (Place::Main(_), InitOutcome::Passed { since }) => {
            Some(since.max(begins))
        }
        (Place::Ephemeral(_), _) => Some(begins),
        _ => None,
    };
    let due = runtime.places().filter_map(|place| {
        let wanted = around.wanted(pod, place)?;
        let (at, change) = wanted.next(runtime.container(place)?, turn_of(place), delays, now)?;
        Some((at, place, change))
    });
    let waits = deadline(pod, &runtime, now);
    match due.min_by_key(|(at, place, _)| (*at, *place)) {
        Some((at, place, change)) if at <= now => {
            let changed = runtime.changed(pod, place, &change, around, now);
            Step::Changed(place, change, Box::new(changed))
        }
        Some((at, ..)) => {
            let left = at.duration_since(now);
            Step::Wait(Some(waits.map_or(left, |deadline| deadline.min(left))))
        }
        None => Step::Wait(waits),
    }
}

/// How far the init containers of a pod are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InitOutcome {
    /// The one at this index has its turn, since then.
    Waits { at: usize, since: Timestamp },
    /// All that have to end have ended, and all that go on have started.
    Passed { since: Timestamp },
    /// One has ended badly for good.
    Failed,
}

fn stop(pod: &Pod, runtime: &Runtime, around: &Surroundings, delays: &Delays, now: Timestamp) -> Step {
    let granted = pod.metadata.deletion_grace_period_seconds.or(pod.spec.termination_grace_period_seconds);
    let grace = SignedDuration::from_secs(granted.unwrap_or(DEFAULT_GRACE));
    let mut stopped = runtime.clone();
    let mut last = SignedDuration::ZERO;
    let goes_on = |place: &Place| around.container(pod, *place).is_some_and(|own| part(own, *place) == Part::Sidecar);
    for place in runtime.places().filter(|place| !goes_on(place)) {
        if runtime.is_running(place) {
            let (after, code) = ends(pod, place, around, delays, grace);
            last = last.max(after);
            stopped.stop(place, code, runtime.since.later(after));
        }
    }
    // Sidecars are asked to stop after the others have, the last first, within what is left of the grace period.
    for place in runtime.places().filter(goes_on).collect::<Vec<_>>().into_iter().rev() {
        if runtime.is_running(place) {
            let left = grace.saturating_sub(last).max(SignedDuration::from_secs(LEAST_GRACE.min(grace.as_secs())));
            let (after, code) = ends(pod, place, around, delays, left);
            last = last.saturating_add(after);
            stopped.stop(place, code, runtime.since.later(last));
        }
    }
    let left = last.saturating_sub(now.duration_since(runtime.since));
    if left.is_positive() { Step::Wait(Some(left)) } else { stopped.ended(now) }
}

/// When a container has ended after it was asked to stop, and with which code.
fn ends(
    pod: &Pod,
    place: Place,
    around: &Surroundings,
    delays: &Delays,
    grace: SignedDuration,
) -> (SignedDuration, i32) {
    let Some(wanted) = around.wanted(pod, place) else { return (SignedDuration::ZERO, 0) };
    let sleeps = before_stop(wanted.container);
    let is_killed = wanted.behaviour.ignores_stop || sleeps.is_positive() && sleeps >= grace;
    if is_killed { (grace, KILLED) } else { (sleeps.saturating_add(signed(delays.stop)).min(grace), 0) }
}

/// How long a container sleeps before it is asked to stop; other hooks take no time.
fn before_stop(container: &Container) -> SignedDuration {
    let sleep = || Some(container.lifecycle.as_ref()?.pre_stop.as_ref()?.sleep.as_ref()?.seconds);
    SignedDuration::from_secs(sleep().unwrap_or(0))
}

/// How long until the pod's deadline, if it has one.
fn deadline(pod: &Pod, runtime: &Runtime, now: Timestamp) -> Option<SignedDuration> {
    let seconds = pod.spec.active_deadline_seconds?;
    Some(SignedDuration::from_secs(seconds).saturating_sub(now.duration_since(runtime.seen)))
}

impl Runtime {
    /// A pod that the node has just seen.
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

    /// A pod that the node does not take: it fails before anything of it is made.
    pub(crate) fn refused(pod: &Pod, reason: &'static str, message: String, now: Timestamp) -> Self {
        let mut refused = Self::seen_at(pod, now);
        refused.stage = PodStage::Ended;
        refused.failure = Some((reason.into(), message));
        refused.is_refused = true;
        refused
    }

    /// A pod whose containers run already, as its status says: the node was started again, and its machine was not.
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

    /// With the ephemeral containers that were put into the pod since it was last looked at.
    fn with_ephemeral(&self, pod: &Pod, now: Timestamp) -> Self {
        let mut runtime = self.clone();
        runtime.ephemeral.resize_with(pod.spec.ephemeral_containers.len(), || ContainerRuntime::new(now));
        runtime
    }

    fn ended(&self, now: Timestamp) -> Step {
        let mut ended = self.at(PodStage::Ended, now);
        for place in self.places().collect::<Vec<_>>() {
            // An init container whose turn never came says so for ever.
            let waits =
                matches!(place, Place::Init(_)) && self.container(place).is_some_and(|own| own.state == State::Waiting);
            if !waits {
                ended.stop(place, KILLED, now);
            }
        }
        Step::Become(Box::new(ended))
    }

    fn stop(&mut self, place: Place, code: i32, at: Timestamp) {
        if let Some(container) = self.container_mut(place) {
            *container = container.stopped(code, at);
        }
    }

    fn changed(&self, pod: &Pod, place: Place, change: &Change, around: &Surroundings, now: Timestamp) -> Self {
        let mut changed = self.clone();
        if let (Some(wanted), Some(container)) = (around.wanted(pod, place), changed.container_mut(place)) {
            *container = container.after(change, &wanted, pod, now);
        }
        changed
    }

    /// All containers, in the order in which they are looked at.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let (init, main, ephemeral) = (self.init.len(), self.main.len(), self.ephemeral.len());
        (0..init).map(Place::Init).chain((0..main).map(Place::Main)).chain((0..ephemeral).map(Place::Ephemeral))
    }

    pub(crate) fn container(&self, place: Place) -> Option<&ContainerRuntime> {
        match place {
            Place::Init(index) => self.init.get(index),
            Place::Main(index) => self.main.get(index),
            Place::Ephemeral(index) => self.ephemeral.get(index),
        }
    }

    /// Puts a container in the place of one.
    pub(crate) fn put(&mut self, place: Place, container: ContainerRuntime) {
        if let Some(own) = self.container_mut(place) {
            *own = container;
        }
    }

    fn container_mut(&mut self, place: Place) -> Option<&mut ContainerRuntime> {
        match place {
            Place::Init(index) => self.init.get_mut(index),
            Place::Main(index) => self.main.get_mut(index),
            Place::Ephemeral(index) => self.ephemeral.get_mut(index),
        }
    }

    pub(crate) fn has_run_at(&self, place: Place) -> bool {
        self.container(place).is_some_and(ContainerRuntime::has_run)
    }

    fn is_running(&self, place: Place) -> bool {
        self.container(place).is_some_and(|container| container.state == State::Running)
    }

    fn init_outcome(&self, pod: &Pod) -> InitOutcome {
        let mut since = self.since;
        for (index, (container, runtime)) in pod.spec.init_containers.iter().zip(&self.init).enumerate() {
            let passed = match (is_sidecar(container), &runtime.state) {
                (true, State::Running) if runtime.is_started => Some(runtime.since),
                // A sidecar that has started once holds nobody up when it is started again.
                (true, State::BackingOff) => Some(since),
                (true, State::Running) if runtime.restarts > 0 => Some(since),
                (false, State::Ended) if runtime.has_ended_well() => Some(runtime.since),
                (false, State::Ended) => return InitOutcome::Failed,
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

    /// Whether its init containers have all done what the others wait for.
    pub(crate) fn is_initialized(&self, pod: &Pod) -> bool {
        matches!(self.init_outcome(pod), InitOutcome::Passed { .. }) && self.stage != PodStage::Starting
            || self.main.iter().any(ContainerRuntime::has_run)
    }

    /// Whether the pod has come to its end, and well.
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

    /// Where the pod is, in a word, as the event log and stories tell it.
    pub(crate) fn word(&self, pod: &Pod) -> String {
        let any = |state: State| self.main.iter().any(|container| container.state == state);
        match self.stage {
            PodStage::Starting => "Starting".to_owned(),
            PodStage::Stopping => "Stopping".to_owned(),
            PodStage::Ended => "Ended".to_owned(),
            PodStage::Active if any(State::BackingOff) => "BackingOff".to_owned(),
            PodStage::Active if !any(State::Running) => {
                let running = self.init.iter().rposition(|container| container.state == State::Running);
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
            state: State::Running,
            since: time(&running.started_at).unwrap_or(seen),
            exit: exit(&status.last_state),
            is_started: status.started.unwrap_or(true),
            is_ready: status.ready,
            ..base
        },
        (None, Some(exit)) => ContainerRuntime { state: State::Ended, since: exit.at, exit: Some(exit), ..base },
        (None, None) => base,
    }
}

#[cfg(test)]
mod tests;
