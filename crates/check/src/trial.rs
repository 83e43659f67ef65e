use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::controllers::{Config, Selection};
use coracle_cluster::{Cluster, Component, KeptStore, Transport, User};
use coracle_journal::{EntryId, Events, Header, Recorder};
use coracle_meta::{Object, Scope};
use coracle_scenario::parse::hash;
use coracle_scenario::{FaultStatus, RunningFaults, parse_faults};
use coracle_sim::checks::{Run, RunLog, STAGES};
use coracle_sim::{
    ClockMode, NotSettled, PluralOf, Senders, Settle, StartingObjects, Wire, record_changes, record_objects, run_in,
    settle,
};
use futures_util::future::{Either, select};
use tokio::time::{Instant, sleep};

use crate::observed_wire::ObservedWire;
use crate::pace::{LEAST_BETWEEN, Pace};
use crate::plan::Plan;
use crate::rbac::ObservedPermissions;
use crate::running_program::RunningProgram;
use crate::search_stop::SearchStop;
use crate::subject::{ServedProgram, Subject};
use crate::user_work::{Sample, USER, UserWork};
use crate::{Connection, Error, leases};

/// How many entries of a run are kept. A run of more is one that never settles.
const ENTRIES: usize = 200_000;
/// How soon a user in a hurry acts again: while a controller still carries out the last act, if a fault delays it.
const HURRY: Duration = Duration::from_millis(200);
/// How long a program may start, or compute, while nothing changes.
const MOST_BUSY: Duration = Duration::from_secs(3);
/// How often it is looked whether it does.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What all runs of a search have in common.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The name of the component.
    pub(crate) name: String,
    /// What is checked.
    pub(crate) subject: Subject,
    /// How time passes.
    pub(crate) pace: Pace,
    /// The controllers of the cluster that run; `None` for none.
    pub(crate) controllers: Option<Selection>,
    /// What there is before the controller starts.
    pub(crate) prepared: Prepared,
    /// Whether the controller has the roles of its manifests only.
    pub(crate) has_roles: bool,
    /// What its requests need.
    pub(crate) permissions: ObservedPermissions,
    /// Ends the search.
    pub(crate) stop: SearchStop,
    /// Whether the event logs of runs are kept.
    pub(crate) keeps_logs: bool,
}

impl Setup {
    /// The first line of the event log of a run.
    fn header(&self, cluster: &Cluster, seed: u64, plan: &Plan) -> Header {
        let mode = if self.pace.clock == ClockMode::Virtual { "virtual" } else { "real" };
        let header = Header::new(cluster.ambient().clock.now().to_string()).run(mode, seed);
        let faults = if plan.faults.is_empty() { "without a fault".to_owned() } else { plan.lines().join("; ") };
        Header { scenario: Some(format!("{}: {faults}", self.name)), ..header }
    }

    /// Starts the cluster of a run, without the controller.
    async fn start(
        &self,
        seed: u64,
        recorder: &Recorder,
        observed: &ObservedWire,
        served: Option<&ServedProgram>,
    ) -> Result<Cluster, Error> {
        let builder = Cluster::builder().ambient(self.pace.ambient(seed)).recorder(recorder.clone()).api_server_only();
        let builder = builder.kept_store(self.prepared.store.clone()).transport_layer_for_all(observed.layer());
        let builder = match served {
            Some(served) => builder.api_server(served.options.clone()),
            None => builder,
        };
        let builder = match &self.controllers {
            Some(controllers) => builder.controllers(Config { controllers: controllers.clone(), ..Config::default() }),
            None => builder,
        };
        let cluster = builder.start().await?;
        if self.controllers.is_some() {
            cluster.start_component(Component::ControllerManager);
        }
        let (store, plurals, changes) = (cluster.store(), Arc::new(cluster.plurals()), recorder.clone());
        // Readers of a log need all objects.
        let known = (!self.keeps_logs).then_some(self.prepared.objects.revision);
        cluster.spawn("objects", async move {
            // It ends with the store.
            let _ = match known {
                Some(revision) => record_changes(&*store, plurals, changes, revision).await,
                None => record_objects(&*store, plurals, changes).await,
            };
        });
        Ok(cluster)
    }
}

/// What is the same in all runs, found in a cluster without the controller.
#[derive(Clone)]
pub(crate) struct Prepared {
    /// A store with the objects that exist before the controller starts.
    pub(crate) store: KeptStore,
    /// These objects.
    pub(crate) objects: StartingObjects,
    /// The objects that it acts on.
    pub(crate) samples: Vec<Sample>,
    /// The kind of each plural that is served.
    pub(crate) kinds: BTreeMap<String, String>,
    /// The plurals of the kinds whose objects have a namespace.
    pub(crate) namespaced: BTreeSet<String>,
    /// The hash of the objects that are given, and of the samples.
    pub(crate) work: String,
}

/// How a run went.
pub(crate) struct Outcome {
    /// What the checks read.
    pub(crate) run: Run,
    /// How each fault went.
    pub(crate) faults: Vec<FaultStatus>,
    /// The event log, if logs are kept.
    pub(crate) log: Option<Arc<Events>>,
}

/// One run on this thread.
///
/// # Errors
/// If the plan is not valid, an object of the work is refused, the cluster does not start, or the search is stopped.
pub(crate) fn trial(setup: &Setup, seed: u64, plan: &Plan) -> Result<Outcome, Error> {
    if setup.stop.is_asked() {
        return Err(Error::Stopped);
    }
    let run = run_in(setup.pace.clock, async {
        match select(pin!(Trial::run(setup, seed, plan)), pin!(setup.stop.asked())).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => Err(Error::Stopped),
        }
    });
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
        let _ = settle(&cluster, Pace::VIRTUAL.between).await;
        let plural_of: PluralOf = Arc::new(cluster.plurals());
        let objects = StartingObjects::of(&*cluster.store(), &plural_of).await;
        let objects = objects.map_err(coracle_cluster::Error::from)?;
        let store = cluster.keep_store()?;
        let plurals = RunningFaults::new(&cluster, &Wire::default()).kinds();
        let kinds = plurals.into_iter().map(|((_, kind), plural)| (plural, kind)).collect();
        let served = cluster.registry().kinds();
        let namespaced = served.iter().filter(|kind| kind.row().scope == Scope::Namespaced);
        let namespaced = namespaced.map(|kind| kind.row().plural.clone()).collect();
        let mut changing = Vec::new();
        for object in samples {
            changing.push(work.sample(object).await?);
        }
        cluster.shutdown().await;
        let texts: Vec<String> = given.iter().chain(samples).map(|object| object.to_value().to_string()).collect();
        let work = hash(&texts.join("\n"));
        Ok(Prepared { store, objects, samples: changing, kinds, namespaced, work })
    });
    prepared.map_err(|error| coracle_cluster::Error::NotStarted(error.to_string()))?
}

struct Trial<'s> {
    setup: &'s Setup,
    cluster: Cluster,
    faults: RunningFaults,
    recorder: Recorder,
    wire: Wire,
    /// The program and its socket, if a program is checked.
    served: Option<ServedProgram>,
    /// The program when it runs.
    program: Option<RunningProgram>,
    run: Run,
    /// Whether no fault can delay the component.
    is_faultless: bool,
    /// The faults that were ended.
    ended: Vec<FaultStatus>,
}

impl<'s> Trial<'s> {
    async fn run(setup: &'s Setup, seed: u64, plan: &Plan) -> Result<Outcome, Error> {
        let recorder = Recorder::ring(ENTRIES);
        let wire = Wire::keeping_sent();
        for sender in [setup.name.as_str(), USER] {
            for rule in setup.pace.latency.rules(Senders::Named(sender.to_owned())) {
                wire.add(rule);
            }
        }
        let served = match &setup.subject {
            Subject::InProcess(_) => None,
            Subject::Program(host) => Some(host().await.map_err(Error::Input)?),
        };
        let program = served.as_ref().map(|served| RunningProgram::new(Arc::clone(&served.process)));
        let observed = ObservedWire::new(&wire, &setup.name).observing(program.clone(), &setup.permissions);
        let cluster = setup.start(seed, &recorder, &observed, served.as_ref()).await?;
        let header = setup.keeps_logs.then(|| setup.header(&cluster, seed, plan));
        if program.is_some() {
            cluster.spawn("pauses", observed.clone().follow_pauses());
        }
        let faults = RunningFaults::new(&cluster, &wire);
        let run = Run::of(&setup.name, &setup.name);
        let mut trial = Self {
            setup,
            cluster,
            faults,
            recorder,
            wire,
            served,
            program,
            run,
            is_faultless: plan.faults.is_empty(),
            ended: Vec::new(),
        };
        let worked = trial.work(plan).await;
        let Self { cluster, faults, recorder, mut run, mut ended, .. } = trial;
        ended.extend(faults.list());
        drop(faults);
        // A panic of the component is in the log.
        cluster.take_component_panics();
        cluster.shutdown().await;
        worked?;
        let before = if setup.keeps_logs { RunLog::default() } else { setup.prepared.objects.log.clone() };
        run.log = before.continued(&recorder.entries_of(EntryId(0), &STAGES));
        run.shown = observed.take_shown();
        let events = |header| Arc::new(Events { header, entries: recorder.entries(EntryId(0)) });
        Ok(Outcome { run, faults: ended, log: header.map(events) })
    }

    /// The work of a user, from the definitions to the last deletion.
    async fn work(&mut self, plan: &Plan) -> Result<(), Error> {
        let setup = self.setup;
        self.add_faults(plan).await?;
        self.start_component()?;
        self.await_start().await;
        for sample in &setup.prepared.samples {
            self.use_sample(sample).await?;
        }
        self.end_faults();
        if self.run.unsettled.is_some() {
            return Ok(());
        }
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

    /// A user creates an object, changes it and replaces it: first one act after the other, and then in a hurry.
    async fn use_sample(&mut self, sample: &Sample) -> Result<(), Error> {
        self.act(async |work| work.create(&sample.object).await.map(drop)).await?;
        self.act(async |work| work.patch(&sample.object, &sample.change).await).await?;
        self.act(async |work| work.change_back(sample).await).await?;
        self.act(async |work| {
            work.replace(&sample.object).await?;
            sleep(HURRY).await;
            work.replace(&sample.object).await
        })
        .await?;
        // The last state is a changed one, so that no later act hides what is missing.
        self.act(async |work| work.patch(&sample.object, &sample.change).await).await?;
        self.act(async |work| {
            work.change_back(sample).await?;
            sleep(HURRY).await;
            work.patch(&sample.object, &sample.change).await
        })
        .await
    }

    async fn add_faults(&self, plan: &Plan) -> Result<(), Error> {
        if plan.faults.is_empty() {
            return Ok(());
        }
        let (path, text) = (Path::new("plan"), plan.text());
        let read = parse_faults(path, &text).and_then(|faults| self.faults.check(faults, path, &text));
        let list = read.map_err(|problem| Error::Input(problem.to_string()))?;
        self.faults.add(&list).await.map_err(|late| Error::Input(format!("the objects cannot be read: {late:?}")))?;
        Ok(())
    }

    /// Ends the faults whose effects apply now, whether or not they have struck. Those that still wait may begin later.
    fn end_faults(&mut self) {
        self.ended.extend(self.faults.remove(|fault| fault.has_begun));
    }

    fn start_component(&mut self) -> Result<(), Error> {
        let (name, cluster) = (&self.setup.name, &self.cluster);
        let group = if self.setup.has_roles { "system:authenticated" } else { "system:masters" };
        let user = User::new(name, [group]);
        match (&self.setup.subject, self.served.take()) {
            (Subject::InProcess(start), _) => {
                let (start, ambient) = (Arc::clone(start), cluster.ambient_of(name));
                let recorder = self.recorder.clone();
                let run = move |service: Transport| {
                    start(Connection { service, ambient: ambient.clone(), recorder: recorder.clone() })
                };
                cluster.add_component(name, user, run)?;
            }
            (Subject::Program(_), Some(ServedProgram { serve, run, .. })) => {
                cluster.spawn("socket", serve(cluster.front_door()));
                let (program, admin) = (self.program.clone(), leases::client(cluster));
                let start = move |_| {
                    let (run, program, admin) = (Arc::clone(&run), program.clone(), admin.clone());
                    async move {
                        if let Some(program) = program {
                            // Otherwise the next instance waits until the Lease of the killed one expires.
                            leases::give_up(&admin, &program.lease_namespaces()).await;
                            program.starts();
                        }
                        run().await;
                    }
                };
                cluster.add_component(name, user, start)?;
            }
            (Subject::Program(_), None) => {}
        }
        Ok(())
    }

    /// Waits until a program has sent its first request, as long as a start may take.
    async fn await_start(&self) {
        let patience = Instant::now() + MOST_BUSY;
        while self.program.as_ref().is_some_and(RunningProgram::is_busy) && Instant::now() < patience {
            sleep(LOOK_AGAIN).await;
        }
    }

    /// An act of the user, and what follows from it.
    async fn act(&mut self, act: impl AsyncFnOnce(&UserWork<'_>) -> Result<(), Error>) -> Result<(), Error> {
        if self.run.unsettled.is_some() {
            return Ok(());
        }
        act(&UserWork::new(&self.cluster)).await?;
        // While faults last, a cluster that does not settle yet is judged at the end.
        let settled = self.settle(self.setup.pace.between).await;
        if self.is_faultless && self.setup.pace.clock == ClockMode::Virtual {
            self.run.unsettled = settled.err().map(|not_settled| not_settled.to_string());
        }
        Ok(())
    }

    /// Waits until the cluster has settled. A program may still start or compute, or wait for an answer, while nothing
    /// changes: this is awaited, too, as long as it does not last.
    async fn settle(&self, settle: Settle) -> Result<(), NotSettled> {
        let mut next = settle;
        let patience = Instant::now() + settle.quiet + MOST_BUSY;
        loop {
            coracle_sim::settle(&self.cluster, next).await?;
            if !self.is_busy() || Instant::now() >= patience {
                return Ok(());
            }
            while self.is_busy() && Instant::now() < patience {
                sleep(LOOK_AGAIN).await;
            }
            // What it computed is written soon.
            next.quiet = settle.quiet.min(LEAST_BETWEEN);
        }
    }

    fn is_busy(&self) -> bool {
        let Some(program) = &self.program else { return false };
        !self.cluster.runs(&self.setup.name) || program.is_busy() || self.wire.carries()
    }

    /// Waits until the cluster is at rest, and returns the last entry before.
    async fn rest(&mut self) -> Option<EntryId> {
        loop {
            if let Err(not_settled) = self.settle(self.setup.pace.at_rest).await {
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
