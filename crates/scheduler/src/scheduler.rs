use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use coracle_ambient::{Ambient, gated};
use coracle_api::core_v1::{ObjectReference, Pod};
use coracle_client::{Api, Client, Error, Origin, Patch};
use coracle_controller_runtime::{Ended, EventType, LeaderElection, Note, Process, SeriesRecorder, lead, reference_to};
use coracle_informer::InformerFactory;
use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_meta::{LabelSelector, Resource};
use futures_util::future::select;
use serde_json::{Map, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::assumed::Assumed;
use crate::bind_claims::{bind_claims, deallocate, unreserve};
use crate::config::Config;
use crate::cycle::{SchedulingFailure, Unfit};
use crate::message::note;
use crate::metrics::{AttemptResult, SchedulerMetrics};
use crate::pod_info::{PodInfo, PodVolumes};
use crate::preemption::Budget;
use crate::profile::Profile;
use crate::reserved::Reserved;
use crate::siblings::Siblings;
use crate::state::{self, Room, SchedulerState, SchedulingDecision, Surroundings};
use crate::status::{disruption_patch, unscheduled_patch};
use crate::volumes::Volumes;
use crate::watch::{Shared, watch};
use crate::watch_devices::watch_devices;
use crate::watch_volumes::watch_volumes;

/// The actor in the event log.
const ACTOR: &str = "scheduler";

/// Runs the scheduler until `shutdown`, or until the future is dropped; it may be called again afterwards. With
/// leader election, it schedules pods only while this process holds the Lease (`kube-system/kube-scheduler` by
/// default).
///
/// # Panics
/// If a task of the scheduler panics.
pub async fn run(
    config: Config,
    client: Client,
    ambient: Ambient,
    recorder: Recorder,
    shutdown: impl Future<Output = ()> + Send,
) -> Ended {
    let client = client.with_user_agent(&format!("kube-scheduler/{}", config.release.git_version()));
    let process = Process::new(ACTOR, &client, &ambient, &recorder).on_host(&config.host);
    let election = config
        .leader_election
        .map(|timings| LeaderElection::new(&process, "kube-scheduler", config.lease.clone(), timings));
    let shared = Arc::new(Shared::new(SchedulerState::new(&config.profiles, config.backoff, &ambient.random)));
    watch(&process.informers, &shared);
    watch_volumes(&process.informers, &shared);
    watch_devices(&process.informers, &shared, &config.release);
    process.ambient.work.add(Shared::holder(&shared));
    let sizes = shared.clone();
    config.metrics.watch(move || sizes.lock().sizes());
    let scheduler = Scheduler {
        metrics: config.metrics,
        around: Around {
            siblings: Siblings::new(&process.informers),
            volumes: Volumes::new(&process.informers),
            budgets: crate::budgets::lister(&process.informers),
        },
        events: config
            .profiles
            .iter()
            .map(|profile| (profile.name.clone(), SeriesRecorder::new(&process, &profile.name)))
            .collect(),
        client: process.client.clone(),
        informers: process.informers.clone(),
        ambient,
        recorder,
        shared,
    };
    let work = async {
        tokio::join!(biased; process.run(), scheduler.run());
    };
    lead(election, shutdown, work).await
}

/// The loop around [`SchedulerState`]. Decisions are synchronous; the resulting API calls run in tasks of their own.
#[derive(Clone)]
struct Scheduler {
    client: Client,
    informers: InformerFactory,
    ambient: Ambient,
    recorder: Recorder,
    shared: Arc<Shared>,
    around: Around,
    metrics: SchedulerMetrics,
    /// By the profiles' names.
    events: BTreeMap<String, SeriesRecorder>,
}

/// The informer caches other than nodes and pods.
#[derive(Clone)]
struct Around {
    siblings: Siblings,
    volumes: Volumes,
    budgets: crate::budgets::Budgets,
}

impl Surroundings for Around {
    fn siblings(&self, pod: &Pod) -> Option<LabelSelector> {
        self.siblings.selector(pod)
    }

    fn volumes(&self, pod: &Pod, assumed: &Assumed) -> PodVolumes {
        self.volumes.observe(pod, assumed)
    }

    fn budgets(&self) -> Vec<Budget> {
        self.budgets.list()
    }
}

/// A pod with a decision, and its entry in the event log.
#[derive(Clone)]
struct Attempt {
    pod: Arc<Pod>,
    info: Arc<PodInfo>,
    profile: Arc<Profile>,
    cause: Option<EntryId>,
    tries: u32,
    came_at: Instant,
    began_at: Instant,
}

impl Scheduler {
    async fn run(self) {
        self.informers.synced().await;
        let mut tasks = JoinSet::new();
        loop {
            while let Some(ended) = tasks.try_join_next() {
                ended.unwrap_or_else(|error: tokio::task::JoinError| std::panic::resume_unwind(error.into_panic()));
            }
            let now = Instant::now();
            let next = self.shared.lock().next(now, &self.around);
            match next {
                Some(attempt) => {
                    self.metrics.decided(now.elapsed());
                    self.follow(attempt, now, &mut tasks);
                }
                None => self.wait().await,
            }
            // Yields after each pod, so that other tasks of this process can run.
            tokio::task::yield_now().await;
        }
    }

    /// Waits for an event, or until a back-off ends.
    async fn wait(&self) {
        let wake = self.shared.lock().next_wake();
        let changed = pin!(self.shared.changed.notified());
        match wake {
            None => changed.await,
            Some(at) => {
                select(changed, pin!(sleep_until(at))).await;
            }
        }
    }

    /// Starts the API calls for a decision, concurrently with the next decisions.
    fn follow(&self, attempt: state::Attempt, began_at: Instant, tasks: &mut JoinSet<()>) {
        let cause = self.record(&attempt);
        let state::Attempt { pod, info, profile, decision, tries, came_at, .. } = attempt;
        let attempt = Attempt { pod, info, profile, cause, tries, came_at, began_at };
        match decision {
            SchedulingDecision::Bind(choice, reserved) => {
                tasks.spawn(gated(self.clone().place(attempt, choice.node, reserved)));
            }
            SchedulingDecision::NoNodes => {
                self.ended(&attempt, AttemptResult::Unschedulable);
                let text = SchedulingFailure::NoNodes.to_string();
                tasks.spawn(gated(self.clone().say_unscheduled(attempt, "Unschedulable", text, None)));
            }
            SchedulingDecision::Unfit(unfit, room) => {
                if attempt.profile.preemption.is_some() && unfit.error.pre_filter.is_none() {
                    self.metrics.preempted(room.victims.as_ref().map(|victims| victims.pods.len()));
                }
                self.ended(&attempt, AttemptResult::Unschedulable);
                tasks.spawn(gated(self.clone().unfit(attempt, *unfit, room)));
            }
        }
    }

    fn ended(&self, attempt: &Attempt, outcome: AttemptResult) {
        self.metrics.ended(outcome, &attempt.profile.name, attempt.began_at.elapsed());
    }

    fn record(&self, attempt: &state::Attempt) -> Option<EntryId> {
        self.recorder.record(ACTOR, Stage::SchedulerPick, || {
            let detail = Detail::about(format!("pods/{}", attempt.info.key)).caused_by(attempt.causes.iter().copied());
            match &attempt.decision {
                SchedulingDecision::Bind(choice, _) => {
                    let detail = detail.with("node", choice.node.as_str()).with("feasible", choice.feasible);
                    if choice.scores.is_empty() { detail } else { detail.with_json("scores", &choice.scores) }
                }
                SchedulingDecision::NoNodes => {
                    detail.with("feasible", 0).with("why", SchedulingFailure::NoNodes.to_string())
                }
                SchedulingDecision::Unfit(unfit, _) => {
                    let reasons: Map<_, _> =
                        unfit.error.reasons.iter().map(|(why, nodes)| (why.to_string(), json!(nodes))).collect();
                    let plugins: Vec<_> = unfit.rejected_by.iter().copied().collect();
                    let detail = detail.with("feasible", 0).with("why", unfit.error.to_string());
                    detail.with("plugins", plugins).with("reasons", reasons)
                }
            }
        })
    }

    fn origin(&self, attempt: &Attempt) -> Origin {
        Origin::new(ACTOR, &format!("pods/{}", attempt.info.key), attempt.cause)
    }

    fn pods(&self, attempt: &Attempt) -> Api<Pod> {
        Api::of(&self.client.on_behalf_of(self.origin(attempt)))
    }

    /// Binds the pod's claims first if necessary; meanwhile the pod's nominated node is set.
    async fn place(self, attempt: Attempt, node: String, reserved: Reserved) {
        let key = attempt.info.key.clone();
        let client = self.client.on_behalf_of(self.origin(&attempt));
        if !reserved.is_empty() {
            let patch = json!({"metadata": {"uid": attempt.info.uid}, "status": {"nominatedNodeName": node}});
            if let Err(error) = self.pods(&attempt).patch_status(&key, &Patch::Strategic(patch)).await {
                tracing::debug!(%error, pod = %key, "its node could not be written to the pod");
            }
        }
        let began = Instant::now();
        if !reserved.volumes.is_empty() {
            let patience = attempt.profile.volume_binding.timeout;
            if let Err(why) = self.around.volumes.bind(&client, &node, &reserved.volumes, patience).await {
                self.metrics.at_point("PreBind", false, &attempt.profile.name, began.elapsed());
                let text = format!("running PreBind plugin \"VolumeBinding\": {why}");
                return self.give_up(attempt, text, false).await;
            }
        }
        if let Err(why) = bind_claims(&client, &attempt.pod, &reserved.claims).await {
            unreserve(&client, &attempt.pod, &reserved.claims).await;
            self.metrics.at_point("PreBind", false, &attempt.profile.name, began.elapsed());
            let text = format!("running PreBind plugin \"DynamicResources\": {why}");
            return self.give_up(attempt, text, false).await;
        }
        self.metrics.at_point("PreBind", true, &attempt.profile.name, began.elapsed());
        self.bind(attempt, node, &reserved).await;
    }

    async fn bind(self, attempt: Attempt, node: String, reserved: &Reserved) {
        let key = attempt.info.key.clone();
        let began = Instant::now();
        let bound = self.pods(&attempt).bind(&key, &attempt.info.uid, &node).await;
        self.metrics.at_point("Bind", bound.is_ok(), &attempt.profile.name, began.elapsed());
        match bound {
            Ok(()) => {
                let text = format!("Successfully assigned {key} to {node}");
                self.say(&attempt, EventType::Normal, "Scheduled", "Binding", &text);
                self.shared.lock().bound(&key);
                self.ended(&attempt, AttemptResult::Scheduled);
                self.metrics.scheduled(attempt.tries, attempt.came_at.elapsed());
            }
            Err(error) => {
                let client = self.client.on_behalf_of(self.origin(&attempt));
                unreserve(&client, &attempt.pod, &reserved.claims).await;
                let text = format!("binding rejected: running Bind plugin \"DefaultBinder\": {error}");
                self.give_up(attempt, text, error.is_not_found()).await;
            }
        }
    }

    /// Binding failed: the pod is retried after its back-off.
    async fn give_up(self, attempt: Attempt, text: String, is_gone: bool) {
        let key = attempt.info.key.clone();
        self.ended(&attempt, AttemptResult::Error);
        let waits = self.shared.lock().gave_up(&key, Instant::now());
        self.shared.changed.notify_one();
        if waits && !is_gone {
            self.say_unscheduled(attempt, "SchedulerError", text, None).await;
        }
    }

    /// Reports why no node fits, and starts preemption if it helps.
    async fn unfit(self, attempt: Attempt, unfit: Unfit, room: Room) {
        if let Some(claim) = &room.deallocated {
            deallocate(&self.client.on_behalf_of(self.origin(&attempt)), claim).await;
        }
        let victims = room.victims;
        let node = victims.as_ref().map(|victims| victims.node.clone());
        if let Some(victims) = &victims {
            for victim in victims.pods.iter().filter(|victim| !victim.terminating) {
                if let Err(error) = self.evict(&attempt, victim, &victims.node).await
                    && !error.is_not_found()
                {
                    tracing::warn!(%error, pod = %victim.key, "a pod could not be preempted");
                }
            }
        }
        self.say_unscheduled(attempt, "Unschedulable", unfit.error.to_string(), node).await;
    }

    async fn evict(&self, attempt: &Attempt, victim: &PodInfo, node: &str) -> Result<(), Error> {
        let api = self.pods(attempt);
        let pod = api.get(&victim.key).await?;
        let patch = disruption_patch(&pod, &attempt.profile.name, self.ambient.clock.now());
        api.patch_status(&victim.key, &patch).await?;
        api.delete(&victim.key, &coracle_client::DeleteParams::default()).await?;
        let text = format!("Preempted by pod {} on node {node}", attempt.info.uid);
        let what = Note { event_type: EventType::Normal, reason: "Preempted", action: "Preempting", note: &text };
        let related = reference_to(attempt.pod.as_ref());
        self.event(attempt, reference_to(&pod), Some(related), what);
        Ok(())
    }

    /// Reports in an event and in the pod's status that it was not scheduled.
    async fn say_unscheduled(self, attempt: Attempt, reason: &str, text: String, nominated: Option<String>) {
        self.say(&attempt, EventType::Warning, "FailedScheduling", "Scheduling", &note(&text));
        let now = self.ambient.clock.now();
        let Some(patch) = unscheduled_patch(&attempt.pod, reason, &text, nominated.as_deref(), now) else { return };
        if let Err(error) = self.pods(&attempt).patch_status(&attempt.pod.key(), &patch).await
            && !error.is_not_found()
        {
            tracing::debug!(%error, pod = %attempt.info.key, "the reason could not be written to the pod");
        }
    }

    fn say(&self, attempt: &Attempt, event_type: EventType, reason: &str, action: &str, text: &str) {
        let what = Note { event_type, reason, action, note: text };
        self.event(attempt, reference_to(attempt.pod.as_ref()), None, what);
    }

    fn event(&self, attempt: &Attempt, about: ObjectReference, related: Option<ObjectReference>, what: Note<'_>) {
        if let Some(events) = self.events.get(&attempt.profile.name) {
            events.caused_by(attempt.cause.as_slice()).event(about, related, what);
        }
    }
}
