use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_api::core_v1::{ObjectReference, Pod};
use coracle_client::{Api, Client, Error, Origin, Patch};
use coracle_controller_runtime::{
    Ended, EventType, LeaderElection, LeaderTimings, Note, Process, SeriesRecorder, lead, reference_to,
};
use coracle_informer::InformerFactory;
use coracle_journal::{Detail, EntryId, Recorder, Stage};
use coracle_meta::{KUBERNETES_VERSION, LabelSelector, ObjectKey, Resource};
use futures_util::future::select;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::assumed::Assumed;
use crate::cycle::{Failure, Unfit};
use crate::filters::Placed;
use crate::message::note;
use crate::pod_info::{PodInfo, PodVolumes, Unbound};
use crate::preemption::{Budget, Victims};
use crate::profile::Profile;
use crate::queue::Backoff;
use crate::siblings::Siblings;
use crate::state::{self, Decision, State, Surroundings};
use crate::status::{disruption_patch, unscheduled_patch};
use crate::volumes::Volumes;
use crate::watch::{Shared, watch};
use crate::watch_volumes::watch_volumes;

/// Who records in the event log.
const ACTOR: &str = "scheduler";

/// What the scheduler can be told. In Kubernetes: `KubeSchedulerConfiguration`.
#[derive(Clone, Debug)]
pub struct Config {
    /// How pods are scheduled, by their `spec.schedulerName`; others are not this scheduler's.
    pub profiles: Vec<Arc<Profile>>,
    /// How long pods wait after failures.
    pub backoff: Backoff,
    /// Where it runs, as its events tell.
    pub host: String,
    /// Whether to stand for election before acting, and how long a lease lasts; none by default, as in the
    /// controller-manager.
    pub leader_election: Option<LeaderTimings>,
    /// The Lease that is stood for.
    pub lease: ObjectKey,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profiles: vec![Arc::default()],
            backoff: Backoff::default(),
            host: "coracle".to_owned(),
            leader_election: None,
            lease: ObjectKey::new("kube-system", "kube-scheduler"),
        }
    }
}

/// Runs the scheduler until `shutdown`, or until it is dropped; it may be called again afterwards. With leader election, it
/// places pods only while this process holds the Lease (`kube-system/kube-scheduler` by default).
///
/// # Panics
/// If a task of the scheduler does.
pub async fn run(
    config: Config,
    client: Client,
    ambient: Ambient,
    recorder: Recorder,
    shutdown: impl Future<Output = ()> + Send,
) -> Ended {
    let client = client.with_user_agent(&format!("kube-scheduler/{KUBERNETES_VERSION}"));
    let process = Process::new(ACTOR, &client, &ambient, &recorder).on_host(&config.host);
    let election = config
        .leader_election
        .map(|timings| LeaderElection::new(&process, "kube-scheduler", config.lease.clone(), timings));
    let shared = Arc::new(Shared::new(State::new(&config.profiles, config.backoff, &ambient.random)));
    watch(&process.informers, &shared);
    watch_volumes(&process.informers, &shared);
    let scheduler = Scheduler {
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

/// The loop around [`State`] and what it needs. Deciding is synchronous; what follows from it is a task of its own.
#[derive(Clone)]
struct Scheduler {
    client: Client,
    informers: InformerFactory,
    ambient: Ambient,
    recorder: Recorder,
    shared: Arc<Shared>,
    around: Around,
    /// By the profiles' names.
    events: BTreeMap<String, SeriesRecorder>,
}

/// What the informers' caches know beside nodes and pods.
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

/// A pod that was decided upon, and the entry of the event log that says so.
#[derive(Clone)]
struct Attempt {
    pod: Arc<Pod>,
    info: Arc<PodInfo>,
    profile: Arc<Profile>,
    cause: Option<EntryId>,
}

impl Scheduler {
    async fn run(self) {
        self.informers.synced().await;
        let mut tasks = JoinSet::new();
        loop {
            while let Some(ended) = tasks.try_join_next() {
                ended.unwrap_or_else(|error: tokio::task::JoinError| std::panic::resume_unwind(error.into_panic()));
            }
            let next = self.shared.lock().next(Instant::now(), &self.around);
            match next {
                Some(attempt) => self.follow(attempt, &mut tasks),
                None => self.wait().await,
            }
            // One pod at a time, so that others of this process get their turn between.
            tokio::task::yield_now().await;
        }
    }

    /// Waits until something happens or a back-off is over.
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

    /// Has the API server told what was decided, beside the next decisions.
    fn follow(&self, attempt: state::Attempt, tasks: &mut JoinSet<()>) {
        let cause = self.record(&attempt);
        let state::Attempt { pod, info, profile, decision, .. } = attempt;
        let attempt = Attempt { pod, info, profile, cause };
        match decision {
            Decision::Bind(choice, placed) => {
                tasks.spawn(self.clone().place(attempt, choice.node, placed));
            }
            Decision::NoNodes => {
                let text = Failure::NoNodes.to_string();
                tasks.spawn(self.clone().say_unscheduled(attempt, "Unschedulable", text, None));
            }
            Decision::Unfit(unfit, victims) => {
                tasks.spawn(self.clone().unfit(attempt, *unfit, victims));
            }
        }
    }

    fn record(&self, attempt: &state::Attempt) -> Option<EntryId> {
        self.recorder.record(ACTOR, Stage::SchedulerPick, || {
            let detail = Detail::about(format!("pods/{}", attempt.info.key)).caused_by(attempt.causes.iter().copied());
            match &attempt.decision {
                Decision::Bind(choice, _) => {
                    detail.with("node", choice.node.as_str()).with("feasible", choice.feasible)
                }
                Decision::NoNodes => detail.with("feasible", 0).with("why", Failure::NoNodes.to_string()),
                Decision::Unfit(unfit, _) => detail.with("feasible", 0).with("why", unfit.error.to_string()),
            }
        })
    }

    fn origin(&self, attempt: &Attempt) -> Origin {
        Origin::new(ACTOR, &format!("pods/{}", attempt.info.key), attempt.cause)
    }

    fn pods(&self, attempt: &Attempt) -> Api<Pod> {
        Api::of(&self.client.on_behalf_of(self.origin(attempt)))
    }

    /// Has the pod's claims bound first, if they wait for that; meanwhile the pod says where it is going.
    async fn place(self, attempt: Attempt, node: String, placed: Vec<(Unbound, Placed)>) {
        let key = attempt.info.key.clone();
        if !placed.is_empty() {
            let patch = json!({"metadata": {"uid": attempt.info.uid}, "status": {"nominatedNodeName": node}});
            if let Err(error) = self.pods(&attempt).patch_status(&key, &Patch::Strategic(patch)).await {
                tracing::debug!(%error, pod = %key, "its node could not be written to the pod");
            }
            let client = self.client.on_behalf_of(self.origin(&attempt));
            if let Err(why) =
                self.around.volumes.bind(&client, &node, &placed, attempt.profile.volume_binding.timeout).await
            {
                let text = format!("running PreBind plugin \"VolumeBinding\": {why}");
                return self.give_up(attempt, text, false).await;
            }
        }
        self.bind(attempt, node).await;
    }

    async fn bind(self, attempt: Attempt, node: String) {
        let key = attempt.info.key.clone();
        let bound = self.pods(&attempt).bind(&key, &attempt.info.uid, &node).await;
        match bound {
            Ok(()) => {
                let text = format!("Successfully assigned {key} to {node}");
                self.say(&attempt, EventType::Normal, "Scheduled", "Binding", &text);
                self.shared.lock().bound(&key);
            }
            Err(error) => {
                let text = format!("binding rejected: running Bind plugin \"DefaultBinder\": {error}");
                self.give_up(attempt, text, error.is_not_found()).await;
            }
        }
    }

    /// The choice came to nothing: the pod is tried again after a while.
    async fn give_up(self, attempt: Attempt, text: String, is_gone: bool) {
        let key = attempt.info.key.clone();
        let waits = self.shared.lock().gave_up(&key, Instant::now());
        self.shared.changed.notify_one();
        if waits && !is_gone {
            self.say_unscheduled(attempt, "SchedulerError", text, None).await;
        }
    }

    /// Says why, and makes room if that is possible.
    async fn unfit(self, attempt: Attempt, unfit: Unfit, victims: Option<Victims>) {
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

    /// Tells in an event and in the pod's status that it got no node.
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
