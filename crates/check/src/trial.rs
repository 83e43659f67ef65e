use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Body, Cluster, KeptStore, Requester, Transport, TransportLayer, User, requested_resource};
use coracle_journal::{EntryId, Recorder};
use coracle_meta::{GroupResource, Object, ObjectKey};
use coracle_scenario::{FaultStatus, RunningFaults, parse_faults};
use coracle_sim::checks::{Run, RunLog, STAGES};
use coracle_sim::{ClockMode, LastSent, Latency, Senders, Settle, Wire, record_objects, run_in, settle};
use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Request};
use parking_lot::Mutex;
use tower::service_fn;

use crate::plan::Plan;
use crate::user_work::{Sample, UserWork};
use crate::{Connection, Error};

/// How many entries of a run are kept. A run of more is one that never settles.
const ENTRIES: usize = 200_000;
/// How long a request and an event take without a fault.
const LATENCY: Latency = Latency { request: Duration::from_millis(2), watch: Duration::from_millis(1) };
/// When a cluster counts as settled between two acts, while faults may still last.
const BETWEEN: Settle = within(600);
/// When it counts as settled after all faults have ended.
const AT_REST: Settle = within(1800);

const fn within(seconds: u64) -> Settle {
    let (quiet, horizon) = (Duration::from_secs(60), Duration::from_secs(600));
    Settle { quiet, horizon, within: Duration::from_secs(seconds) }
}

/// What each start of the controller runs.
pub(crate) type Start = Arc<dyn Fn(Connection) -> BoxFuture<'static, ()> + Send + Sync>;

/// What all runs of a search have in common.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The name of the component.
    pub(crate) name: String,
    /// What each of its starts runs.
    pub(crate) start: Start,
    /// What there is before the controller starts.
    pub(crate) prepared: Prepared,
}

/// What is the same in all runs, found in a cluster without the controller.
#[derive(Clone)]
pub(crate) struct Prepared {
    /// A store with the objects that exist before the controller starts.
    pub(crate) store: KeptStore,
    /// The objects that it acts on.
    pub(crate) samples: Vec<Sample>,
    /// The kind of each plural that is served.
    pub(crate) kinds: BTreeMap<String, String>,
}

/// How a run went.
pub(crate) struct Outcome {
    /// What the checks read.
    pub(crate) run: Run,
    /// How each fault went.
    pub(crate) faults: Vec<FaultStatus>,
}

/// One run, in virtual time on this thread.
///
/// # Errors
/// If the plan is not valid, an object of the work is refused, or the cluster does not start.
pub(crate) fn trial(setup: &Setup, seed: u64, plan: &Plan) -> Result<Outcome, Error> {
    let run = run_in(ClockMode::Virtual, Trial::run(setup, seed, plan));
    run.map_err(|error| coracle_cluster::Error::NotStarted(error.to_string()))?
}

/// Creates what is given, and finds the changes of samples that the API server accepts.
///
/// # Errors
/// If the API server refuses an object, or the cluster does not start.
pub(crate) fn prepare(given: &[Object], samples: &[Object]) -> Result<Prepared, Error> {
    let prepared = run_in(ClockMode::Virtual, async {
        let cluster = Cluster::builder().seed(1).api_server_only().start().await?;
        let work = UserWork::new(&cluster);
        for object in given {
            work.create(object).await?;
        }
        // A definition is served when its conditions are written.
        let _ = settle(&cluster, BETWEEN).await;
        let store = cluster.keep_store()?;
        let plurals = RunningFaults::new(&cluster, &Wire::default()).kinds();
        let kinds = plurals.into_iter().map(|((_, kind), plural)| (plural, kind)).collect();
        let mut changing = Vec::new();
        for object in samples {
            changing.push(work.sample(object).await?);
        }
        cluster.shutdown().await;
        Ok(Prepared { store, samples: changing, kinds })
    });
    prepared.map_err(|error| coracle_cluster::Error::NotStarted(error.to_string()))?
}

type Shown = Arc<Mutex<BTreeMap<String, LastSent>>>;

struct Trial<'s> {
    setup: &'s Setup,
    cluster: Cluster,
    faults: RunningFaults,
    recorder: Recorder,
    wire: Wire,
    run: Run,
    /// The faults that were ended.
    ended: Vec<FaultStatus>,
}

impl<'s> Trial<'s> {
    async fn run(setup: &'s Setup, seed: u64, plan: &Plan) -> Result<Outcome, Error> {
        let recorder = Recorder::ring(ENTRIES);
        let wire = Wire::keeping_sent();
        for rule in LATENCY.rules(Senders::Named(setup.name.clone())) {
            wire.add(rule);
        }
        let shown = Shown::default();
        let builder = Cluster::builder().seed(seed).recorder(recorder.clone()).api_server_only();
        let builder = builder.kept_store(setup.prepared.store.clone());
        let builder = builder.transport_layer_for_all(layer(&wire, &shown));
        let cluster = builder.start().await?;
        let (store, plurals, changes) = (cluster.store(), Arc::new(cluster.plurals()), recorder.clone());
        cluster.spawn("objects", async move {
            // It ends with the store.
            let _ = record_objects(&*store, plurals, changes).await;
        });
        let faults = RunningFaults::new(&cluster, &wire);
        let run = Run { component: setup.name.clone(), user: setup.name.clone(), ..Run::default() };
        let mut trial = Self { setup, cluster, faults, recorder, wire, run, ended: Vec::new() };
        let worked = trial.work(plan).await;
        let Self { cluster, faults, recorder, mut run, mut ended, .. } = trial;
        ended.extend(faults.list());
        drop(faults);
        // A panic of the component is in the log.
        cluster.take_component_panics();
        cluster.shutdown().await;
        worked?;
        run.log = RunLog::of(&recorder.entries_of(EntryId(0), &STAGES));
        run.shown = std::mem::take(&mut shown.lock());
        Ok(Outcome { run, faults: ended })
    }

    /// The work of a user, from the definitions to the last deletion.
    async fn work(&mut self, plan: &Plan) -> Result<(), Error> {
        let setup = self.setup;
        self.add_faults(plan).await?;
        self.start_component()?;
        for sample in &setup.prepared.samples {
            self.act(async |work| work.create(&sample.object).await.map(drop)).await?;
            self.act(async |work| work.patch(&sample.object, &sample.change).await).await?;
            self.act(async |work| work.change_back(sample).await).await?;
            self.act(async |work| {
                work.delete(&sample.object).await?;
                work.create_again(&sample.object).await.map(drop)
            })
            .await?;
        }
        self.end_faults();
        let Some(settled) = self.rest().await else { return Ok(()) };
        self.run.settled = Some(settled);
        let handle = self.cluster.handle();
        handle.kill_component(&setup.name, None);
        handle.start_component(&setup.name, None);
        let Some(restarted) = self.rest().await else { return Ok(()) };
        self.run.restarted = Some(restarted);
        self.act(async |work| {
            for sample in &setup.prepared.samples {
                work.delete(&sample.object).await?;
            }
            Ok(())
        })
        .await?;
        self.end_faults();
        self.run.emptied = self.rest().await;
        Ok(())
    }

    async fn add_faults(&self, plan: &Plan) -> Result<(), Error> {
        if plan.faults.is_empty() {
            return Ok(());
        }
        let (path, text) = (Path::new("plan"), plan.text());
        let read = parse_faults(path, &text).and_then(|faults| faults.checked(path, &text, self.faults.kinds()));
        let list = read.map_err(|problem| Error::Input(problem.to_string()))?;
        self.faults.add(&list).await.map_err(|late| Error::Input(format!("the objects cannot be read: {late:?}")))?;
        Ok(())
    }

    /// Ends the faults that strike now. Those that still wait may begin later.
    fn end_faults(&mut self) {
        self.ended.extend(self.faults.remove(|fault| fault.state == "active"));
    }

    fn start_component(&self) -> Result<(), Error> {
        let user = User::new(&self.setup.name, ["system:masters"]);
        let (start, ambient) = (Arc::clone(&self.setup.start), self.cluster.ambient().split(&self.setup.name));
        let recorder = self.recorder.clone();
        let run = move |service: Transport| {
            start(Connection { service, ambient: ambient.clone(), recorder: recorder.clone() })
        };
        Ok(self.cluster.add_component(&self.setup.name, user, run)?)
    }

    /// An act of the user, and what follows from it.
    async fn act(&self, act: impl AsyncFnOnce(&UserWork<'_>) -> Result<(), Error>) -> Result<(), Error> {
        act(&UserWork::new(&self.cluster)).await?;
        // A cluster that does not settle yet is judged at the end.
        let _ = settle(&self.cluster, BETWEEN).await;
        Ok(())
    }

    /// Waits until the cluster is at rest, and returns the last entry before.
    async fn rest(&mut self) -> Option<EntryId> {
        loop {
            if let Err(not_settled) = settle(&self.cluster, AT_REST).await {
                self.run.unsettled.get_or_insert_with(|| not_settled.to_string());
                return None;
            }
            // A request that a fault made slow may still arrive.
            if !self.wire.carries() {
                return Some(self.recorder.last());
            }
        }
    }
}

/// A wire that notes what a requester was last sent of an object which it deletes.
fn layer(wire: &Wire, shown: &Shown) -> TransportLayer {
    let (wire, shown) = (wire.clone(), Arc::clone(shown));
    Arc::new(move |requester, transport| {
        let inner = wire.over(requester, transport);
        let (wire, shown, requester) = (wire.clone(), Arc::clone(&shown), requester.clone());
        Transport::to(service_fn(move |mut request: Request<Body>| {
            note(&wire, &shown, &requester, &mut request);
            inner.send(request)
        }))
    })
}

/// The header by which the event log knows a request.
const AUDIT_ID: &str = "audit-id";

fn note(wire: &Wire, shown: &Shown, requester: &Requester, request: &mut Request<Body>) {
    if request.method() != Method::DELETE {
        return;
    }
    let Some((_, at)) = requested_resource(request.method(), request.uri()) else { return };
    let resource = GroupResource::new(&at.resource.group, &at.resource.resource);
    let key = ObjectKey::new(&at.namespace, &at.name);
    let Some(last) = wire.last_sent(&requester.name, requester.instance.number(), &resource, &key) else { return };
    let mut shown = shown.lock();
    // Clients of other libraries send no id.
    let made_up = || format!("deletion-{}", shown.len() + 1);
    let sent = request.headers().get(AUDIT_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let id = sent.unwrap_or_else(made_up);
    if let Ok(value) = HeaderValue::from_str(&id) {
        request.headers_mut().insert(AUDIT_ID, value);
        shown.insert(id, last);
    }
}
