//! How a simulated pod goes from bound to gone.
//!
//! ```text
//! Starting --> Sandbox --> Initializing(0..) --> Running <--> Ready
//!     |                                            |            |  containers end
//!     |  asked to stop                             v            v
//!     +----------------------------> Stopping   BackingOff --> Running      (restartPolicy)
//!                                        \--> Ended <--/
//! ```

use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;
use coracle_meta::parse_time;
use jiff::SignedDuration;

use crate::Delays;
use crate::behaviour::Behaviour;

/// The first pause before a restart; doubles with each up to [`LONGEST_BACKOFF`]. The first restart does not wait.
const FIRST_BACKOFF: Duration = Duration::from_secs(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(300);
/// A container that has run for so long counts as well again.
const WELL_AFTER: Duration = Duration::from_secs(600);
/// How long a container that does not heed the request to stop is given where nothing else is said.
const DEFAULT_GRACE: i64 = 30;

/// Where on its way a pod is on its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PodStage {
    /// Bound and seen; images are pulled, the sandbox is made.
    Starting,
    /// The sandbox is there, with its address.
    Sandbox,
    /// The init container of this index runs.
    Initializing(usize),
    /// The containers run and are not ready.
    Running,
    /// The containers run and are ready.
    Ready,
    /// The containers have ended and will be started again.
    BackingOff,
    /// The containers have been asked to stop.
    Stopping,
    /// The containers have ended for good.
    Ended,
}

impl std::fmt::Display for PodStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

/// How the containers of a pod ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// The exit code.
    pub code: i32,
    /// Since when they had run; none if they never did.
    pub started: Option<Timestamp>,
    /// When they ended.
    pub at: Timestamp,
}

/// What a node knows of a pod that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runtime {
    /// Where on its way the pod is.
    pub stage: PodStage,
    /// Since when.
    pub since: Timestamp,
    /// When the node first saw it.
    pub seen: Timestamp,
    /// Its address, once it has a sandbox.
    pub ip: Option<String>,
    /// Since when its containers run.
    pub running_since: Option<Timestamp>,
    /// How often its containers have been started again.
    pub restarts: i32,
    /// How many ends in a row the next restart has to make up for.
    pub crashes: u32,
    /// How its containers last ended.
    pub exit: Option<Exit>,
    /// Why the pod as a whole failed, where it is not for its containers: reason and message.
    pub failure: Option<(&'static str, &'static str)>,
}

/// What happens next to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It becomes this.
    Become(Box<Runtime>),
    /// Nothing before this long has passed, or at all until somebody changes the pod.
    Wait(Option<SignedDuration>),
    /// It is over, and its object can go.
    Remove,
}

/// What happens next to a pod of a node; `runtime` is none for one that the node has not seen yet.
pub(crate) fn next(pod: &Pod, runtime: Option<&Runtime>, delays: &Delays, now: Timestamp) -> Step {
    let Some(runtime) = runtime else {
        return match (pod.is_finished(), pod.is_terminating()) {
            (true, true) => Step::Remove,
            (true, false) => Step::Wait(None),
            (false, _) => Step::Become(Box::new(Runtime::found(pod).unwrap_or_else(|| Runtime::seen_at(now)))),
        };
    };
    let behaviour = Behaviour::of(pod);
    let waited = now.duration_since(runtime.since);
    let after = |delay: Duration, stage: PodStage| -> Step {
        let left = signed(delay) - waited;
        if left.is_positive() { Step::Wait(Some(left)) } else { Step::Become(Box::new(runtime.at(stage, now))) }
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
        PodStage::Stopping => stop(pod, runtime, &behaviour, delays, now),
        _ if pod.is_terminating() && runtime.running_since.is_none() => runtime.ended(137, now),
        _ if pod.is_terminating() => Step::Become(Box::new(runtime.at(PodStage::Stopping, now))),
        _ if deadline(pod, runtime, now).is_some_and(|left| !left.is_positive()) => {
            let failure = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline");
            let failed = Runtime { failure: Some(failure), ..runtime.clone() };
            failed.ended(137, now)
        }
        _ if behaviour.never_starts && runtime.running_since.is_none() => Step::Wait(deadline(pod, runtime, now)),
        PodStage::Starting => after(delays.sandbox, PodStage::Sandbox),
        PodStage::Sandbox if pod.spec.init_containers.is_empty() => after(delays.start, PodStage::Running),
        PodStage::Sandbox => after(delays.start, PodStage::Initializing(0)),
        PodStage::Initializing(index) if index + 1 < pod.spec.init_containers.len() => {
            after(delays.init, PodStage::Initializing(index + 1))
        }
        PodStage::Initializing(_) => after(delays.init, PodStage::Running),
        PodStage::BackingOff => after(back_off(runtime.crashes), PodStage::Running),
        PodStage::Running | PodStage::Ready => run(pod, runtime, &behaviour, delays, now),
    }
}

/// A pod whose containers run: they may end, or become ready, or stop being so.
fn run(pod: &Pod, runtime: &Runtime, behaviour: &Behaviour, delays: &Delays, now: Timestamp) -> Step {
    let running = runtime.running_since.map_or(SignedDuration::ZERO, |since| now.duration_since(since));
    let mut waits: Vec<SignedDuration> = deadline(pod, runtime, now).into_iter().collect();
    if let Some(code) = behaviour.exits {
        let left = signed(behaviour.exit_after) - running;
        if left.is_positive() {
            waits.push(left);
        } else if restarts(pod, code) {
            let crashes = if running >= signed(WELL_AFTER) { 1 } else { runtime.crashes + 1 };
            let exit = Exit { code, started: runtime.running_since, at: now };
            let ended = Runtime { crashes, exit: Some(exit), ..runtime.at(PodStage::BackingOff, now) };
            return Step::Become(Box::new(ended));
        } else {
            return runtime.ended(code, now);
        }
    }
    match (&runtime.stage, behaviour.not_ready) {
        (PodStage::Ready, true) => return Step::Become(Box::new(runtime.at(PodStage::Running, now))),
        (PodStage::Running, false) => {
            let left = signed(delays.ready + probe_delay(pod)) - running;
            if !left.is_positive() {
                return Step::Become(Box::new(runtime.at(PodStage::Ready, now)));
            }
            waits.push(left);
        }
        _ => {}
    }
    Step::Wait(waits.into_iter().min())
}

fn stop(pod: &Pod, runtime: &Runtime, behaviour: &Behaviour, delays: &Delays, now: Timestamp) -> Step {
    let granted = pod.metadata.deletion_grace_period_seconds.or(pod.spec.termination_grace_period_seconds);
    let grace = SignedDuration::from_secs(granted.unwrap_or(DEFAULT_GRACE));
    let sleeps = before_stop(pod);
    let is_killed = behaviour.ignores_stop || sleeps.is_positive() && sleeps >= grace;
    let (delay, code) = if is_killed { (grace, 137) } else { ((sleeps + signed(delays.stop)).min(grace), 0) };
    let left = delay - now.duration_since(runtime.since);
    if left.is_positive() { Step::Wait(Some(left)) } else { runtime.ended(code, now) }
}

/// How long the containers sleep before they are asked to stop; other hooks take no time.
fn before_stop(pod: &Pod) -> SignedDuration {
    let sleep = |container: &coracle_api::core_v1::Container| {
        container.lifecycle.as_ref()?.pre_stop.as_ref()?.sleep.as_ref().map(|sleep| sleep.seconds)
    };
    SignedDuration::from_secs(pod.spec.containers.iter().filter_map(sleep).max().unwrap_or(0))
}

/// How long until the pod's deadline, if it has one.
fn deadline(pod: &Pod, runtime: &Runtime, now: Timestamp) -> Option<SignedDuration> {
    let seconds = pod.spec.active_deadline_seconds?;
    Some(SignedDuration::from_secs(seconds) - now.duration_since(runtime.seen))
}

fn restarts(pod: &Pod, code: i32) -> bool {
    match pod.spec.restart_policy.as_str() {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

/// How long the readiness probes hold the pod back; simulated probes succeed when they are first asked.
fn probe_delay(pod: &Pod) -> Duration {
    let delay = |container: &coracle_api::core_v1::Container| {
        container.readiness_probe.as_ref().map_or(0, |probe| probe.initial_delay_seconds)
    };
    let seconds = pod.spec.containers.iter().map(delay).max().unwrap_or(0);
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

pub(crate) fn back_off(crashes: u32) -> Duration {
    match crashes {
        0 | 1 => Duration::ZERO,
        crashes => FIRST_BACKOFF.saturating_mul(1 << (crashes - 2).min(16)).min(LONGEST_BACKOFF),
    }
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

impl Runtime {
    /// A pod that the node has just seen.
    fn seen_at(now: Timestamp) -> Self {
        Self {
            stage: PodStage::Starting,
            since: now,
            seen: now,
            ip: None,
            running_since: None,
            restarts: 0,
            crashes: 0,
            exit: None,
            failure: None,
        }
    }

    /// A pod whose containers run already, as its status says: the node was started again, and its machine was not.
    fn found(pod: &Pod) -> Option<Self> {
        let status = pod.status.container_statuses.first()?;
        let running = status.state.running.as_ref()?;
        let started = running.started_at.as_deref().and_then(parse_time)?;
        let seen = pod.status.start_time.as_deref().and_then(parse_time).unwrap_or(started);
        Some(Self {
            stage: if status.ready { PodStage::Ready } else { PodStage::Running },
            since: started,
            ip: Some(pod.status.pod_ip.clone()).filter(|ip| !ip.is_empty()),
            running_since: Some(started),
            restarts: status.restart_count,
            ..Self::seen_at(seen)
        })
    }

    /// The same pod in another stage.
    fn at(&self, stage: PodStage, now: Timestamp) -> Self {
        let mut next = Self { since: now, ..self.clone() };
        match (&self.stage, &stage) {
            (PodStage::BackingOff, PodStage::Running) => {
                next.running_since = Some(now);
                next.restarts += 1;
            }
            (PodStage::Sandbox | PodStage::Initializing(_), PodStage::Running) => next.running_since = Some(now),
            (_, PodStage::BackingOff) => next.running_since = None,
            _ => {}
        }
        next.stage = stage;
        next
    }

    fn ended(&self, code: i32, now: Timestamp) -> Step {
        // A pod that waits for a restart has ended with what its containers ended with.
        let exit = match (&self.stage, &self.exit) {
            (PodStage::BackingOff, Some(exit)) => exit.clone(),
            _ => Exit { code, started: self.running_since, at: now },
        };
        Step::Become(Box::new(Self { exit: Some(exit), ..self.at(PodStage::Ended, now) }))
    }

    /// Whether the pod has come to its end, and well.
    pub(crate) fn succeeded(&self) -> bool {
        self.stage == PodStage::Ended && self.failure.is_none() && self.exit.as_ref().is_some_and(|exit| exit.code == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::Container;

    fn start() -> Timestamp {
        parse_time("2026-01-01T00:00:00Z").unwrap()
    }

    fn delays() -> Delays {
        let second = Duration::from_secs(1);
        Delays { sandbox: second, start: second, init: second, ready: second, stop: second }
    }

    fn pod(annotations: &[(&str, &str)]) -> Pod {
        let mut pod = Pod::default();
        pod.spec.containers = vec![Container::default()];
        pod.spec.restart_policy = "Always".to_owned();
        for (name, value) in annotations {
            pod.metadata.annotations.insert(format!("coracle.dev/{name}"), (*value).to_owned());
        }
        pod
    }

    /// Lets the pod live from `runtime` on until it rests or is removed; tells the stages and when they began.
    fn live(pod: &Pod, runtime: &mut Option<Runtime>, until: i64) -> Vec<(i64, PodStage)> {
        let mut now = runtime.as_ref().map_or(start(), |runtime| runtime.since);
        let mut stages = Vec::new();
        for _ in 0..100 {
            match next(pod, runtime.as_ref(), &delays(), now) {
                Step::Become(next) => {
                    stages.push((now.duration_since(start()).as_secs(), next.stage.clone()));
                    *runtime = Some(*next);
                }
                Step::Wait(Some(left)) if now.duration_since(start()).as_secs() < until => now += left,
                Step::Wait(_) | Step::Remove => break,
            }
        }
        stages
    }

    #[test]
    fn a_pod_starts_step_by_step_and_becomes_ready() {
        let mut pod = pod(&[]);
        pod.spec.init_containers = vec![Container::default(), Container::default()];
        assert_eq!(
            live(&pod, &mut None, 100),
            [
                (0, PodStage::Starting),
                (1, PodStage::Sandbox),
                (2, PodStage::Initializing(0)),
                (3, PodStage::Initializing(1)),
                (4, PodStage::Running),
                (5, PodStage::Ready),
            ]
        );
    }

    #[test]
    fn a_deleted_pod_stops_and_then_its_object_goes() {
        let mut pod = pod(&[]);
        let mut runtime = None;
        live(&pod, &mut runtime, 100);
        pod.metadata.deletion_timestamp = Some("2026-01-01T00:01:00Z".to_owned());
        pod.metadata.deletion_grace_period_seconds = Some(30);
        assert_eq!(live(&pod, &mut runtime, 100), [(3, PodStage::Stopping), (4, PodStage::Ended)]);
        assert!(runtime.as_ref().unwrap().succeeded());
        assert_eq!(next(&pod, runtime.as_ref(), &delays(), start()), Step::Remove);
    }

    #[test]
    fn a_pod_that_does_not_heed_the_request_is_killed_after_its_grace_period() {
        let mut pod = pod(&[("stop", "false")]);
        let mut runtime = None;
        live(&pod, &mut runtime, 100);
        pod.metadata.deletion_timestamp = Some("2026-01-01T00:01:00Z".to_owned());
        pod.metadata.deletion_grace_period_seconds = Some(30);
        assert_eq!(live(&pod, &mut runtime, 100), [(3, PodStage::Stopping), (33, PodStage::Ended)]);
        assert_eq!(runtime.unwrap().exit.unwrap().code, 137);
    }

    #[test]
    fn a_container_sleeps_before_it_is_asked_to_stop_but_not_beyond_the_grace_period() {
        for (sleeps, ends, code) in [(10, 14, 0), (60, 33, 137)] {
            let mut pod = pod(&[]);
            let hook = serde_json::json!({"preStop": {"sleep": {"seconds": sleeps}}});
            pod.spec.containers[0].lifecycle = serde_json::from_value(hook).unwrap();
            let mut runtime = None;
            live(&pod, &mut runtime, 100);
            pod.metadata.deletion_timestamp = Some("2026-01-01T00:01:00Z".to_owned());
            pod.metadata.deletion_grace_period_seconds = Some(30);
            assert_eq!(live(&pod, &mut runtime, 100), [(3, PodStage::Stopping), (ends, PodStage::Ended)]);
            assert_eq!(runtime.unwrap().exit.unwrap().code, code);
        }
    }

    #[test]
    fn a_container_that_ends_is_started_again_at_once_then_after_pauses_that_double() {
        let mut runtime = None;
        let stages = live(&pod(&[("exit-code", "1")]), &mut runtime, 60);
        let starts: Vec<i64> =
            stages.iter().filter(|(_, stage)| *stage == PodStage::Running).map(|(at, _)| *at).collect();
        assert_eq!(starts[..4], [2, 2, 12, 32]);
        assert_eq!(runtime.unwrap().exit.unwrap().code, 1);
    }

    #[test]
    fn the_restart_policy_decides_whether_an_end_is_for_good() {
        let ends = |policy: &str, code: &str| {
            let mut pod = pod(&[("exit-code", code), ("exit-after", "5s")]);
            pod.spec.restart_policy = policy.to_owned();
            let mut runtime = None;
            live(&pod, &mut runtime, 8);
            let runtime = runtime.unwrap();
            (runtime.stage == PodStage::Ended, runtime.succeeded())
        };
        assert_eq!(ends("Never", "0"), (true, true));
        assert_eq!(ends("Never", "2"), (true, false));
        assert_eq!(ends("OnFailure", "0"), (true, true));
        assert_eq!(ends("OnFailure", "2"), (false, false));
        assert_eq!(ends("Always", "0"), (false, false));
    }

    #[test]
    fn a_deadline_ends_a_pod_whatever_it_does() {
        let mut pod = pod(&[("start", "false")]);
        pod.spec.active_deadline_seconds = Some(20);
        let mut runtime = None;
        assert_eq!(live(&pod, &mut runtime, 100), [(0, PodStage::Starting), (20, PodStage::Ended)]);
        assert_eq!(runtime.unwrap().failure.unwrap().0, "DeadlineExceeded");
    }

    #[test]
    fn a_pod_that_runs_already_is_found_running() {
        let mut pod = pod(&[]);
        pod.status = serde_json::from_value(serde_json::json!({"phase": "Running", "podIP": "10.1.2.3", "containerStatuses": [
            {"name": "c", "ready": true, "restartCount": 2, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}))
        .unwrap();
        let mut runtime = None;
        assert_eq!(live(&pod, &mut runtime, 100), [(0, PodStage::Ready)]);
        let runtime = runtime.unwrap();
        assert_eq!((runtime.ip.as_deref(), runtime.restarts), (Some("10.1.2.3"), 2));
    }

    #[test]
    fn an_object_that_finalizers_hold_is_removed_once() {
        let mut pod = pod(&[]);
        pod.metadata.finalizers = vec!["example.com/hold".to_owned()];
        pod.metadata.deletion_timestamp = Some("2026-01-01T00:01:00Z".to_owned());
        let ended = Runtime { stage: PodStage::Ended, ..Runtime::seen_at(start()) };
        assert_eq!(next(&pod, Some(&ended), &delays(), start()), Step::Remove);
        pod.metadata.deletion_grace_period_seconds = Some(0);
        assert_eq!(next(&pod, Some(&ended), &delays(), start()), Step::Wait(None));
    }

    #[test]
    fn readiness_follows_the_annotation_and_waits_for_the_probe() {
        let mut runtime = None;
        live(&pod(&[("ready", "false")]), &mut runtime, 100);
        assert_eq!(runtime.as_ref().unwrap().stage, PodStage::Running);
        let mut probed = pod(&[]);
        probed.spec.containers[0].readiness_probe =
            Some(Box::new(coracle_api::core_v1::Probe { initial_delay_seconds: 7, ..Default::default() }));
        assert_eq!(live(&probed, &mut runtime, 100), [(10, PodStage::Ready)]);
    }
}
