use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use coracle_cluster::controllers::{Config, Selection};
use coracle_cluster::{ApiServerOptions, Cluster, Component, KeptStore, Transport, User};
use coracle_journal::{EntryId, Events, Header, Recorder};
use coracle_meta::{Object, Scope};
use coracle_release::Release;
use coracle_scenario::parse::hash;
use coracle_scenario::{FaultStatus, PluralsOfKinds, RunningFaults, parse_faults};
use coracle_sim::checks::{Run, RunLog, STAGES};
use coracle_sim::{
    ClockMode, PluralOf, Senders, StartingObjects, Wire, World, record_changes, record_objects, run_in, settle,
};
use futures_util::future::{Either, select};

use crate::acts::Acts;
use crate::observed_wire::ObservedWire;
use crate::pace::Pace;
use crate::plan::Plan;
use crate::properties::Properties;
use crate::rbac::ObservedPermissions;
use crate::rest::Stillness;
use crate::running_program::RunningProgram;
use crate::search_progress::SearchProgress;
use crate::search_stop::SearchStop;
use crate::subject::{ServedProgram, Start, Subject};
use crate::user_work::{NAMESPACE, Sample, USER, UserWork};
use crate::workload::Workload;
use crate::{Connection, Error, leases};

/// How many entries of a run are kept. A run of more is one that never settles.
const ENTRIES: usize = 200_000;

/// What all runs of a search have in common.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The name of the component.
    pub(crate) name: String,
    /// What is checked.
    pub(crate) subject: Subject,
    /// The other controllers that run, by their names.
    pub(crate) parts: BTreeMap<String, Start>,
    /// How time passes.
    pub(crate) pace: Pace,
    /// The controllers of the cluster that run; `None` for none.
    pub(crate) controllers: Option<Selection>,
    /// What there is before the controller starts.
    pub(crate) prepared: Prepared,
    /// What a user does after its work with the samples.
    pub(crate) workload: Option<Workload>,
    /// What has to hold in each run.
    pub(crate) properties: Properties,
    /// Whether the controller has the roles of its manifests only.
    pub(crate) has_roles: bool,
    /// What its requests need.
    pub(crate) permissions: ObservedPermissions,
    /// Ends the search.
    pub(crate) stop: SearchStop,
    /// Counts the runs.
    pub(crate) progress: SearchProgress,
    /// Whether the event logs of runs are kept.
    pub(crate) keeps_logs: bool,
    /// How many changes may follow one act of a user.
    pub(crate) most_changes: i64,
}

impl Setup {
    /// The users whose wishes the component carries out.
    pub(crate) fn users(&self) -> Vec<String> {
        let of_workload = match &self.workload {
            Some(Workload::Scenario(workload)) => workload.users(),
            Some(Workload::Code(_)) | None => Vec::new(),
        };
        [USER.to_owned()].into_iter().chain(of_workload).collect()
    }

    /// The objects of a cluster, if a workload or a property reads them.
    fn follow(&self, cluster: &Cluster) -> Option<World> {
        let namespace = match &self.workload {
            Some(Workload::Scenario(workload)) => workload.namespace(),
            Some(Workload::Code(_)) | None if self.properties.is_empty() => return None,
            Some(Workload::Code(_)) | None => NAMESPACE,
        };
        Some(self.properties.follow(cluster, namespace))
    }

    /// What the checks read of a run: with the objects that all runs begin with, which no run records without its log.
    pub(crate) fn log_of(&self, recorder: &Recorder) -> RunLog {
        let before = if self.keeps_logs { RunLog::default() } else { self.prepared.objects.log.clone() };
        before.continued(&recorder.entries_of(EntryId(0), &STAGES))
    }

    /// The first line of the event log of a run.
    fn header(&self, cluster: &Cluster, seed: u64, plan: &Plan) -> Header {
        let mode = if self.pace.clock == ClockMode::Virtual { "virtual" } else { "real" };
        let header = Header::new(cluster.ambient().clock.now().to_string()).run(mode, seed);
        let faults = if plan.faults.is_empty() { "without a fault".to_owned() } else { plan.lines().join("; ") };
        let kubernetes = Some(self.prepared.release.version().to_owned());
        Header { kubernetes, scenario: Some(format!("{}: {faults}", self.name)), ..header }
    }

    /// The API server of a run.
    fn api_server(&self, served: Option<&ServedProgram>) -> ApiServerOptions {
        let options = served.map(|served| served.options.clone()).unwrap_or_default();
        let has_accounts = self.controllers.as_ref().is_some_and(|controllers| controllers.runs(ACCOUNTS));
        if has_accounts { options } else { without_accounts(options) }
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
        let builder = builder.kubernetes(self.prepared.release.clone());
        let builder = builder.kept_store(self.prepared.store.clone()).transport_layer_for_all(observed.layer());
        let builder = builder.api_server(self.api_server(served));
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

/// The controller that creates a service account in each namespace.
const ACCOUNTS: &str = "serviceaccount-controller";

/// Accepts pods in a namespace without a service account. In envtest: the same plug-in is disabled.
fn without_accounts(mut options: ApiServerOptions) -> ApiServerOptions {
    options.disable_admission_plugins.push("ServiceAccount".to_owned());
    options
}

/// What is the same in all runs, found in a cluster without the controller.
#[derive(Clone)]
pub(crate) struct Prepared {
    /// The release of the clusters.
    pub(crate) release: Release,
    /// A store with the objects that exist before the controller starts.
    pub(crate) store: KeptStore,
    /// These objects.
    pub(crate) objects: StartingObjects,
    /// The objects that it acts on.
    pub(crate) samples: Vec<Sample>,
    /// The kinds that are served, with their plurals.
    pub(crate) served: PluralsOfKinds,
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
    setup.progress.count();
    run.map_err(|error| coracle_cluster::Error::NotStarted(error.to_string()))?
}

/// Creates what is given, and finds the changes of samples that the API server accepts.
///
/// # Errors
/// If the API server refuses an object, or the cluster does not start.
pub(crate) fn prepare(release: &Release, given: &[Object], samples: &[Object]) -> Result<Prepared, Error> {
    let prepared = run_in(ClockMode::Virtual, async {
        let builder = Cluster::builder().kubernetes(release.clone()).seed(1).api_server_only();
        let cluster = builder.api_server(without_accounts(ApiServerOptions::default())).start().await?;
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
        let served = RunningFaults::new(&cluster, &Wire::default()).kinds();
        let kinds = served.iter().map(|((_, kind), plural)| (plural.clone(), kind.clone())).collect();
        let registered = cluster.registry().kinds();
        let namespaced = registered.iter().filter(|kind| kind.row().scope == Scope::Namespaced);
        let namespaced = namespaced.map(|kind| kind.row().plural.clone()).collect();
        let mut changing = Vec::new();
        for object in samples {
            changing.push(work.sample(object).await?);
        }
        cluster.shutdown().await;
        let texts: Vec<String> = given.iter().chain(samples).map(|object| object.to_value().to_string()).collect();
        let work = hash(&texts.join("\n"));
        let release = release.clone();
        Ok(Prepared { release, store, objects, samples: changing, served, kinds, namespaced, work })
    });
    prepared.map_err(|error| coracle_cluster::Error::NotStarted(error.to_string()))?
}

/// A run, from the start of the cluster to the last deletion.
pub(crate) struct Trial<'s> {
    pub(crate) setup: &'s Setup,
    pub(crate) cluster: Cluster,
    pub(crate) faults: RunningFaults,
    pub(crate) recorder: Recorder,
    pub(crate) wire: Wire,
    /// The objects of the cluster, if a workload or a property reads them.
    pub(crate) world: Option<World>,
    /// The program when it runs.
    program: Option<RunningProgram>,
}

impl<'s> Trial<'s> {
    async fn run(setup: &'s Setup, seed: u64, plan: &Plan) -> Result<Outcome, Error> {
        let recorder = Recorder::ring(ENTRIES);
        let wire = Wire::keeping_sent();
        for sender in setup.users().into_iter().chain([setup.name.clone()]).chain(setup.parts.keys().cloned()) {
            for rule in setup.pace.latency.rules(Senders::Named(sender)) {
                wire.add(rule);
            }
        }
        let served = match &setup.subject {
            Subject::InProcess(_) => None,
            Subject::Program(host) => Some(host().await.map_err(Error::Input)?),
        };
        let program = served.as_ref().map(|served| RunningProgram::new(Arc::clone(&served.process)));
        let observed = ObservedWire::new(&wire, &setup.name).observing(program.clone(), &setup.permissions);
        let observed = observed.with_parts(setup.parts.keys().cloned());
        let cluster = setup.start(seed, &recorder, &observed, served.as_ref()).await?;
        let header = setup.keeps_logs.then(|| setup.header(&cluster, seed, plan));
        if program.is_some() {
            cluster.spawn("pauses", observed.clone().follow_pauses());
        }
        let faults = RunningFaults::new(&cluster, &wire);
        let world = setup.follow(&cluster);
        let trial = Self { setup, cluster, faults, recorder, wire, world, program };
        let mut run = Run::of(&setup.name, &setup.name);
        let acts = Acts::new(trial.stillness(), &trial.faults, setup.pace, plan.faults.is_empty());
        let worked = trial.begin(plan, served, &acts, &mut run).await;
        let ended = acts.into_statuses();
        let Self { cluster, faults, recorder, .. } = trial;
        drop(faults);
        // A panic of the component is in the log.
        cluster.take_component_panics();
        cluster.shutdown().await;
        worked?;
        run.log = setup.log_of(&recorder);
        (run.shown, run.senders) = observed.take();
        let run = run.with_parts(setup.parts.keys());
        let events = |header| Arc::new(Events { header, entries: recorder.entries(EntryId(0)) });
        Ok(Outcome { run, faults: ended, log: header.map(events) })
    }

    /// What has to come to rest.
    pub(crate) fn stillness(&self) -> Stillness<'_> {
        let Self { setup, cluster, wire, program, .. } = self;
        let (program, most_changes) = (program.as_ref(), setup.most_changes);
        Stillness { cluster, wire, name: &setup.name, program, most_changes }
    }

    async fn begin(
        &self,
        plan: &Plan,
        served: Option<ServedProgram>,
        acts: &Acts<'_>,
        run: &mut Run,
    ) -> Result<(), Error> {
        self.add_faults(plan).await?;
        self.start_component(served)?;
        for (name, start) in &self.setup.parts {
            self.add_component(name, start, "system:masters")?;
        }
        self.stillness().await_start().await;
        self.work(acts, run).await?;
        if let Some(world) = &self.world {
            run.broken_properties.extend(self.setup.properties.judge_all(world).await);
        }
        Ok(())
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

    fn start_component(&self, served: Option<ServedProgram>) -> Result<(), Error> {
        let (name, cluster) = (&self.setup.name, &self.cluster);
        let group = if self.setup.has_roles { "system:authenticated" } else { "system:masters" };
        match (&self.setup.subject, served) {
            (Subject::InProcess(start), _) => self.add_component(name, start, group)?,
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
                cluster.add_component(name, User::new(name, [group]), start)?;
            }
            (Subject::Program(_), None) => {}
        }
        Ok(())
    }

    fn add_component(&self, name: &str, start: &Start, group: &str) -> Result<(), Error> {
        let (start, ambient) = (Arc::clone(start), self.cluster.ambient_of(name));
        let recorder = self.recorder.clone();
        let run = move |service: Transport| {
            start(Connection { service, ambient: ambient.clone(), recorder: recorder.clone() })
        };
        Ok(self.cluster.add_component(name, User::new(name, [group]), run)?)
    }
}
