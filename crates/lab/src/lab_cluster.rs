use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_cluster::{Cluster, Error};
use coracle_journal::{EntryId, Recorder};
use coracle_scenario::{OpenScenario, Outcome, StartState, open};
use coracle_sim::SteppedRuntime;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::cluster_spec::ClusterSpec;
use crate::error::{LabError, of_outcome};

/// The entries of the log that are kept in memory: as many as a page can draw.
const KEPT_ENTRIES: usize = 100_000;
/// The entries of the log that one message may cause, unless it says otherwise.
pub(crate) const MOST_EVENTS: u64 = 100_000;

/// How the steps of the scenario go.
#[derive(Default)]
pub(crate) enum Steps {
    /// They were not begun.
    #[default]
    Waiting,
    Running,
    Taken,
    Failed(Outcome),
}

/// A cluster of a page, in virtual time.
pub(crate) struct LabCluster {
    pub(crate) spec: Arc<ClusterSpec>,
    /// `None` while it is dropped.
    opened: Option<Arc<OpenScenario>>,
    pub(crate) steps: Arc<Mutex<Steps>>,
    pub(crate) snapshots: BTreeMap<String, StartState>,
    /// How often the claims of its exercise did not hold.
    pub(crate) failures: usize,
    runtime: SteppedRuntime,
}

impl Drop for LabCluster {
    fn drop(&mut self) {
        let opened = self.opened.take();
        // What its tasks hold is dropped on their runtime.
        self.runtime.run(async move { drop(opened) });
    }
}

impl LabCluster {
    /// Starts a cluster, or continues one from a state.
    pub(crate) fn start(spec: Arc<ClusterSpec>, state: Option<StartState>) -> Result<Self, LabError> {
        let runtime = SteppedRuntime::new().map_err(|error| LabError::new(format!("no runtime: {error}")))?;
        let starting = open(&spec.scenario, &spec.path, &spec.options, state, |_| Recorder::ring(KEPT_ENTRIES));
        let opened = Some(Arc::new(runtime.run(starting)?));
        let (steps, snapshots) = (Arc::default(), BTreeMap::new());
        let cluster = Self { spec, opened, steps, snapshots, failures: 0, runtime };
        cluster.idle()?;
        Ok(cluster)
    }

    pub(crate) fn opened(&self) -> &Arc<OpenScenario> {
        self.opened.as_ref().expect("it is there until the cluster is dropped")
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.opened().cluster
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        self.cluster().recorder()
    }

    /// Does some work in the time of the cluster, which advances to each timer that the work waits for.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, LabError> {
        self.run_up_to(MOST_EVENTS, work)
    }

    /// The same, with a limit for the entries of the log that it causes.
    pub(crate) fn run_up_to<T>(&self, most: u64, work: impl Future<Output = T>) -> Result<T, LabError> {
        let recorder = self.recorder();
        let limit = EntryId(recorder.last().0.saturating_add(most));
        let limited = async {
            match select(pin!(work), pin!(recorder.written(limit))).await {
                Either::Left((done, _)) => Ok(done),
                Either::Right(((), _)) => Err(LabError::new(format!("stopped after {most} events"))),
            }
        };
        self.runtime.run(self.cluster().unless_ended(limited)).map_err(|error| self.ended(error))?
    }

    /// Waits until all tasks are idle. The clock stands still.
    pub(crate) fn idle(&self) -> Result<(), LabError> {
        self.run(self.runtime.idle())
    }

    /// Advances the clock by a time.
    pub(crate) fn advance(&self, time: Duration, most: u64) -> Result<(), LabError> {
        self.run_up_to(most, async {
            tokio::time::sleep(time).await;
            self.runtime.idle().await;
        })
    }

    /// Waits for some work that reacts at once, and leaves the clock where it was unless the work waits.
    pub(crate) fn settle_now<T>(&self, work: impl Future<Output = T>) -> Result<T, LabError> {
        self.run(async {
            let done = work.await;
            self.runtime.idle().await;
            done
        })
    }

    /// Starts a task that continues whenever the clock advances.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.run(async move { drop(tokio::spawn(task)) });
    }

    /// Why it ended. A panic of a component is the reason, if there was one.
    fn ended(&self, error: Error) -> LabError {
        let panics = self.cluster().take_component_panics();
        match panics.into_iter().next() {
            Some(panic) => LabError::new(format!("the task {} panicked: {}", panic.component, panic.message)),
            None => error.into(),
        }
    }

    /// The time on its clock.
    pub(crate) fn now(&self) -> Timestamp {
        let clock = self.cluster().ambient().clock.clone();
        self.runtime.run(async move { clock.now() })
    }

    /// What every answer about it says: its time, the newest revision and entry, and how its steps go.
    pub(crate) fn state(&self) -> Value {
        let (steps, failure) = match &*self.steps.lock() {
            Steps::Waiting => ("waiting", None),
            Steps::Running => ("running", None),
            Steps::Taken => ("taken", None),
            Steps::Failed(outcome) => ("failed", Some(of_outcome(outcome.clone(), &self.spec.file()).to_json())),
        };
        let mut state = json!({
            "now": coracle_meta::format_micro_time(self.now()),
            "revision": self.opened().world.revision(),
            "newest": self.recorder().last(),
            "steps": steps,
        });
        if let Some(failure) = failure {
            state["failure"] = failure;
        }
        let panics = self.cluster().take_component_panics();
        if !panics.is_empty() {
            let each = panics.iter().map(|panic| json!({"component": panic.component, "message": panic.message}));
            state["panics"] = each.collect();
        }
        state
    }
}
