//! The lifecycle of one container: waiting, held, running, backing off, ended.

use std::time::Duration;

use coracle_ambient::{TimeShift, Timestamp};
use coracle_api::core_v1::{Container, Pod, Probe};
use coracle_kubelet_api::save_format;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::Delays;
use crate::images::{Images, NodeImages, Pull};
use crate::pod::behaviour::Behaviour;
use crate::pod::image::{ImageStep, can_appear, image_step};
use crate::pod::probes::{Heard, next_at, verdict};
use crate::pod::waiting_reason::WaitingReason;

/// The first pause before a restart. It doubles with each restart up to [`LONGEST_BACKOFF`]. The first restart does not
/// wait.
const FIRST_BACKOFF: Duration = Duration::from_secs(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(300);
/// A container that has run for this long resets its back-off.
const WELL_AFTER: Duration = Duration::from_secs(600);
/// How soon a node retries a pod after a failed attempt. In Kubernetes: `workerBackOffPeriod`, with jitter.
pub(crate) const LOOKS_AGAIN: Duration = Duration::from_secs(10);
/// The exit code of a container that was killed.
pub(crate) const KILLED: i32 = 137;

/// The role of a container in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContainerRole {
    /// Has to end before the next container begins.
    Init,
    /// An init container that keeps running.
    Sidecar,
    Main,
    /// Added to a running pod.
    Ephemeral,
}

/// The state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ContainerPhase {
    /// It waits for its turn, or is being created.
    Waiting,
    /// Its image is being pulled: the pull is in the queue of the node, or begins at `begins`.
    Pulling {
        #[serde(with = "save_format::time")]
        begins: Timestamp,
        #[serde(with = "save_format::time")]
        ends: Timestamp,
    },
    /// It cannot be created; the node retries.
    Held(WaitingReason),
    /// It runs.
    Running,
    /// It has ended and will be started again.
    BackingOff,
    /// It has ended and will not be restarted.
    Ended,
}

/// How a run of a container ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    /// When the run began; none if the container never ran.
    #[serde(with = "save_format::maybe_time")]
    pub(crate) started: Option<Timestamp>,
    #[serde(with = "save_format::time")]
    pub(crate) at: Timestamp,
    /// The reason, if the exit code does not imply it.
    pub(crate) reason: Option<String>,
}

/// What a node knows about a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ContainerRuntime {
    pub(crate) state: ContainerPhase,
    /// When the container entered its state.
    #[serde(with = "save_format::time")]
    pub(crate) since: Timestamp,
    /// How often it has been restarted.
    pub(crate) restarts: i32,
    /// How many ends in a row, or failed pulls, count for the back-off.
    pub(crate) crashes: u32,
    /// How its last run ended.
    pub(crate) exit: Option<Exit>,
    /// Whether its startup probe has succeeded, or it has no startup probe.
    pub(crate) is_started: bool,
    pub(crate) is_ready: bool,
    pub(crate) startup: Heard,
    pub(crate) liveness: Heard,
    pub(crate) readiness: Heard,
}

/// The next change of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ContainerChange {
    /// The node asks for its image.
    Pulls(Pull),
    /// It starts, for the first time or again.
    Starts,
    /// The node finds that it cannot be created.
    IsHeld(WaitingReason),
    /// It exits by itself.
    Exits(i32),
    /// A probe has finished, successfully or not.
    Probed(Which, bool),
    /// It becomes ready or unready, without a probe.
    Readiness(bool),
}

/// The kinds of probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Startup,
    Liveness,
    Readiness,
}

/// The spec and the behaviour of a container.
pub(crate) struct DesiredContainer<'p> {
    pub(crate) container: &'p Container,
    pub(crate) part: ContainerRole,
    pub(crate) behaviour: Behaviour,
    /// The images of the registry.
    pub(crate) images: &'p Images,
    /// The images on the node.
    pub(crate) on_node: &'p NodeImages,
    /// Whether a ConfigMap, Secret or key that it refers to is missing.
    pub(crate) lacks_config: bool,
    /// What is known about its program: how long it runs and its exit code, or that it never ends.
    pub(crate) run: Option<Option<(Duration, i32)>>,
}

impl DesiredContainer<'_> {
    /// The next change of the container, and when it happens; `turn` is when it may be started.
    pub(crate) fn next(
        &self,
        runtime: &ContainerRuntime,
        turn: Option<Timestamp>,
        delays: &Delays,
        now: Timestamp,
    ) -> Option<(Timestamp, ContainerChange)> {
        match runtime.state {
            ContainerPhase::Waiting => turn.map(|turn| (turn, self.attempt(now))),
            ContainerPhase::Held(hold) => self.again(runtime, hold, now),
            ContainerPhase::Pulling { ends, .. } => Some((ends, self.create())),
            ContainerPhase::Running => self.while_running(runtime, delays, now),
            ContainerPhase::BackingOff => {
                let ended = runtime.exit.as_ref().map_or(runtime.since, |exit| exit.at);
                Some((ended + signed(back_off(runtime.crashes)), self.restart(now)))
            }
            ContainerPhase::Ended => None,
        }
    }

    /// The first step of an attempt to create the container.
    fn attempt(&self, now: Timestamp) -> ContainerChange {
        match self.image_step(now) {
            ImageStep::IsPresent => self.create(),
            ImageStep::Pull(pull) => ContainerChange::Pulls(pull),
            ImageStep::Refuse(reason) => ContainerChange::IsHeld(reason),
        }
    }

    fn image_step(&self, now: Timestamp) -> ImageStep {
        image_step(self.container, &self.behaviour, self.images, self.on_node, now)
    }

    /// The result of an attempt to create the container, after its image was asked for.
    fn create(&self) -> ContainerChange {
        if self.behaviour.has_no_image {
            ContainerChange::IsHeld(WaitingReason::ErrImagePull)
        } else if self.lacks_config {
            ContainerChange::IsHeld(WaitingReason::CreateContainerConfigError)
        } else {
            ContainerChange::Starts
        }
    }

    /// The first step of a restart. A container whose image the registry does not have any more restarts with what is on
    /// the node.
    fn restart(&self, now: Timestamp) -> ContainerChange {
        match self.image_step(now) {
            ImageStep::Pull(pull) if pull.succeeds => ContainerChange::Pulls(pull),
            _ => ContainerChange::Starts,
        }
    }

    /// The next attempt after one that failed.
    fn again(
        &self,
        runtime: &ContainerRuntime,
        hold: WaitingReason,
        now: Timestamp,
    ) -> Option<(Timestamp, ContainerChange)> {
        let at = match hold {
            WaitingReason::ErrImagePull if self.behaviour.has_no_image => {
                let back_off = ContainerChange::IsHeld(WaitingReason::ImagePullBackOff);
                return Some((runtime.since.later(LOOKS_AGAIN), back_off));
            }
            WaitingReason::ImagePullBackOff => runtime.since.later(pull_back_off(runtime.crashes)),
            // An attempt with the same result is skipped; a change of the pod enqueues it again.
            WaitingReason::CreateContainerConfigError if self.lacks_config => return None,
            _ => runtime.since.later(LOOKS_AGAIN),
        };
        let attempt = self.attempt(now);
        let is_same = matches!(attempt, ContainerChange::IsHeld(found) if found == hold);
        // Another pod may pull the image.
        let may_differ = hold == WaitingReason::ErrImageNeverPull && can_appear(self.container, self.images);
        (!is_same || may_differ).then_some((at, attempt))
    }

    fn while_running(
        &self,
        runtime: &ContainerRuntime,
        delays: &Delays,
        now: Timestamp,
    ) -> Option<(Timestamp, ContainerChange)> {
        let mut next: Vec<(Timestamp, ContainerChange)> = Vec::new();
        if let Some((after, code)) = self.run(delays) {
            next.push((runtime.since.later(after), ContainerChange::Exits(code)));
        }
        let ask = |probe: &Probe, heard, answer, which| {
            next_at(probe, heard, answer, runtime.since, now).map(|at| (at, ContainerChange::Probed(which, answer)))
        };
        let startup = self.container.startup_probe.as_deref();
        if let Some(probe) = startup.filter(|_| !runtime.is_started) {
            next.extend(ask(probe, runtime.startup, !self.behaviour.not_started, Which::Startup));
        } else {
            if let Some(probe) = self.container.liveness_probe.as_deref() {
                next.extend(ask(probe, runtime.liveness, !self.behaviour.not_live, Which::Liveness));
            }
            match self.container.readiness_probe.as_deref() {
                Some(probe) => {
                    next.extend(ask(probe, runtime.readiness, !self.behaviour.not_ready, Which::Readiness));
                }
                None if runtime.is_ready && self.behaviour.not_ready => {
                    next.push((now, ContainerChange::Readiness(false)))
                }
                None if !runtime.is_ready && !self.behaviour.not_ready && self.part != ContainerRole::Init => {
                    next.push((runtime.since.later(delays.ready), ContainerChange::Readiness(true)));
                }
                None => {}
            }
        }
        next.into_iter().min_by_key(|(at, _)| *at)
    }

    /// How long it runs and its exit code, if it ends.
    fn run(&self, delays: &Delays) -> Option<(Duration, i32)> {
        match (self.behaviour.exits, self.run) {
            (Some(code), _) => Some((self.behaviour.exit_after, code)),
            (None, Some(run)) => run,
            // An init container completes by default.
            (None, None) if self.part == ContainerRole::Init => Some((delays.init, 0)),
            (None, None) => None,
        }
    }

    /// Whether it is restarted after it exits with this code.
    ///
    /// In Kubernetes: `ShouldContainerBeRestarted` of `pkg/kubelet/container/helpers.go`.
    pub(crate) fn restarts(&self, pod: &Pod, code: i32) -> bool {
        let own = self.container.restart_policy.as_deref();
        match self.part {
            ContainerRole::Ephemeral => return false,
            ContainerRole::Sidecar => return true,
            ContainerRole::Init | ContainerRole::Main => {}
        }
        let is_ruled = self.container.restart_policy_rules.iter().any(|rule| {
            rule.action == "Restart"
                && rule.exit_codes.as_ref().is_some_and(|codes| match codes.operator.as_str() {
                    "In" => codes.values.contains(&code),
                    "NotIn" => !codes.values.contains(&code),
                    _ => false,
                })
        });
        let policy = own.unwrap_or(pod.spec.restart_policy.as_str());
        is_ruled
            || match (policy, self.part) {
                ("Never", _) => false,
                ("OnFailure", _) | (_, ContainerRole::Init) => code != 0,
                _ => true,
            }
    }
}

impl ContainerRuntime {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            state: ContainerPhase::Waiting,
            since: now,
            restarts: 0,
            crashes: 0,
            exit: None,
            is_started: false,
            is_ready: false,
            startup: Heard::default(),
            liveness: Heard::default(),
            readiness: Heard::default(),
        }
    }

    /// The container after a change.
    pub(crate) fn after(
        &self,
        change: &ContainerChange,
        wanted: &DesiredContainer<'_>,
        pod: &Pod,
        now: Timestamp,
    ) -> Self {
        match change {
            ContainerChange::Pulls(Pull { begins, ends, .. }) => {
                Self { state: ContainerPhase::Pulling { begins: *begins, ends: *ends }, since: now, ..self.clone() }
            }
            ContainerChange::Starts => self.started(wanted, now),
            ContainerChange::IsHeld(hold) => {
                let crashes =
                    if *hold == WaitingReason::ErrImagePull { self.crashes.saturating_add(1) } else { self.crashes };
                Self { state: ContainerPhase::Held(*hold), since: now, crashes, ..self.clone() }
            }
            ContainerChange::Exits(code) => self.ended(*code, wanted, pod, now),
            ContainerChange::Readiness(is_ready) => Self { is_ready: *is_ready, ..self.clone() },
            ContainerChange::Probed(which, is_well) => self.probed(*which, *is_well, wanted, pod, now),
        }
    }

    fn started(&self, wanted: &DesiredContainer<'_>, now: Timestamp) -> Self {
        let restarts = self.restarts.saturating_add(i32::from(self.is_restarting()));
        let crashes = if self.is_restarting() { self.crashes } else { 0 };
        let is_started = wanted.container.startup_probe.is_none();
        let exit = self.exit.clone();
        Self { state: ContainerPhase::Running, restarts, crashes, exit, is_started, ..Self::new(now) }
    }

    /// The container after a run has ended: ended for good, or waiting for its restart.
    fn ended(&self, code: i32, wanted: &DesiredContainer<'_>, pod: &Pod, now: Timestamp) -> Self {
        let reason = wanted.behaviour.exit_reason.clone().filter(|_| wanted.behaviour.exits == Some(code));
        let exit = Exit { code, started: Some(self.since), at: now, reason };
        let is_well = now.duration_since(self.since) >= signed(WELL_AFTER);
        let (state, crashes) = if wanted.restarts(pod, code) {
            (ContainerPhase::BackingOff, if is_well { 1 } else { self.crashes.saturating_add(1) })
        } else {
            (ContainerPhase::Ended, self.crashes)
        };
        Self { state, since: now, crashes, exit: Some(exit), is_ready: false, is_started: false, ..self.clone() }
    }

    fn probed(&self, which: Which, is_well: bool, wanted: &DesiredContainer<'_>, pod: &Pod, now: Timestamp) -> Self {
        let mut next = self.clone();
        let (probe, heard) = match which {
            Which::Startup => (wanted.container.startup_probe.as_deref(), &mut next.startup),
            Which::Liveness => (wanted.container.liveness_probe.as_deref(), &mut next.liveness),
            Which::Readiness => (wanted.container.readiness_probe.as_deref(), &mut next.readiness),
        };
        *heard = heard.and(is_well, now);
        let counts = probe.and_then(|probe| verdict(probe, *heard));
        match (which, counts) {
            (_, None) => {}
            (Which::Startup, Some(true)) => next.is_started = true,
            (Which::Liveness, Some(true)) => {}
            (Which::Readiness, Some(is_ready)) => next.is_ready = is_ready,
            (Which::Startup | Which::Liveness, Some(false)) => return self.ended(KILLED, wanted, pod, now),
        }
        next
    }

    /// The container after it was stopped or killed together with its pod.
    pub(crate) fn stopped(&self, code: i32, now: Timestamp) -> Self {
        match self.state {
            ContainerPhase::Running => {
                let exit = Exit { code, started: Some(self.since), at: now, reason: None };
                Self {
                    state: ContainerPhase::Ended,
                    since: now,
                    exit: Some(exit),
                    is_ready: false,
                    is_started: false,
                    ..self.clone()
                }
            }
            // A container that waits for a restart keeps its last exit.
            _ if self.is_restarting() => Self { state: ContainerPhase::Ended, ..self.clone() },
            ContainerPhase::Waiting | ContainerPhase::Held(_) | ContainerPhase::Pulling { .. } => {
                let exit = Exit { code: KILLED, started: None, at: now, reason: None };
                Self { state: ContainerPhase::Ended, since: now, exit: Some(exit), ..self.clone() }
            }
            ContainerPhase::BackingOff | ContainerPhase::Ended => self.clone(),
        }
    }

    /// Whether it has ended and will be started again, after a back-off or when its image was pulled again.
    pub(crate) fn is_restarting(&self) -> bool {
        match self.state {
            ContainerPhase::BackingOff => true,
            ContainerPhase::Pulling { .. } => self.exit.is_some(),
            _ => false,
        }
    }

    /// Whether it waits until it can be created.
    pub(crate) fn is_waiting(&self) -> bool {
        match self.state {
            ContainerPhase::Waiting | ContainerPhase::Held(_) => true,
            ContainerPhase::Pulling { .. } => !self.is_restarting(),
            _ => false,
        }
    }

    pub(crate) fn has_run(&self) -> bool {
        self.state == ContainerPhase::Running || self.exit.as_ref().is_some_and(|exit| exit.started.is_some())
    }

    /// Whether its last exit was successful and it is not restarted.
    pub(crate) fn has_ended_well(&self) -> bool {
        self.state == ContainerPhase::Ended && self.exit.as_ref().is_some_and(|exit| exit.code == 0)
    }
}

/// How long a container waits for its restart after this many ends in a row.
pub(crate) fn back_off(crashes: u32) -> Duration {
    match crashes {
        0 | 1 => Duration::ZERO,
        crashes => FIRST_BACKOFF.saturating_mul(1 << (crashes - 2).min(16)).min(LONGEST_BACKOFF),
    }
}

/// How long the node does not pull an image again after this many failed pulls in a row.
fn pull_back_off(failures: u32) -> Duration {
    back_off(failures.saturating_add(1))
}

pub(crate) fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}
