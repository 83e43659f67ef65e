use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_cluster::{Cluster, Delays, Error, KeptStore, LeaderTimings, SavedNodes, TransportLayer, controllers};
use coracle_journal::{Header, Recorder};
use coracle_meta::Object;
use coracle_release::Release;
use coracle_sim::{ClockMode, ClusterState, InvariantAnswer, Latency, Senders, Wire, World};
use tokio::task::JoinHandle;

use crate::change::Change;
use crate::disturbance::Disturbance;
use crate::faults::{Faults, has_faults, own_informers};
use crate::file::{Joins, Scenario};
use crate::maintenance::node_spec;
use crate::mode::Mode;
use crate::question::invariants;
use crate::report::Report;
use crate::run::{Ending, ScenarioRun};
use crate::served::missing_kind;

/// How long a cluster may take until its nodes accept pods, on its own clock.
const PATIENCE: Duration = Duration::from_secs(60);

/// The options of a run; the file's values apply where an option is `None`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The mode of the clock.
    pub mode: Option<Mode>,
    /// The seed.
    pub seed: Option<u64>,
    /// The disturbance of the controllers.
    pub disturbance: Option<Disturbance>,
    /// Whether a vacuous check counts as failed.
    pub strict: bool,
    /// How long the cluster continues after the last step, before its end state is taken.
    pub rest: Duration,
    /// A step to insert into the run; only in virtual time, because no other run is reproducible.
    pub change: Option<Change>,
    /// The Kubernetes release; absent for that of the scenario.
    pub kubernetes: Option<Release>,
    /// The number of events after which the run ends, although steps are left; absent for no limit.
    pub most_events: Option<u64>,
}

impl Options {
    /// The mode and the seed of this run.
    pub fn settle(&self, scenario: &Scenario) -> (Mode, u64) {
        let written = scenario.spec.cluster.mode.as_ref().and_then(|mode| mode.value.parse().ok());
        let mode = self.mode.or(written).unwrap_or(Mode::Virtual);
        (mode, self.seed.or(scenario.spec.cluster.seed).unwrap_or(1))
    }

    /// The Kubernetes release of this run.
    pub fn release(&self, scenario: &Scenario) -> Release {
        let written = scenario.spec.cluster.kubernetes.as_ref();
        let written = || written.and_then(|version| Release::named(&version.value).ok());
        self.kubernetes.clone().or_else(written).unwrap_or_default()
    }

    /// Checks that these options are possible.
    pub(crate) fn check(&self, scenario: &Scenario, path: &Path) -> Result<(), Error> {
        if let Some(why) = missing_kind(scenario, path, &self.release(scenario)) {
            return Err(Error::Options(why));
        }
        let (mode, _) = self.settle(scenario);
        if self.change.is_some() && mode != Mode::Virtual {
            let why =
                "in one run, a step is put in after an event in virtual time only: no other clock can be turned back";
            return Err(Error::Options(format!(
                "{why}, and this run is in mode {mode}; `rerun` continues from a fork of its store"
            )));
        }
        Ok(())
    }
}

/// Runs a scenario in a cluster of its own and returns the result. Events are recorded by the recorder that
/// `make_recorder` creates. It is called on the scenario's runtime, because the recorder uses that runtime's clock, and
/// it gets the header of the run.
///
/// # Errors
/// If the cluster does not start or no runtime can be created, or if a change is requested without virtual time.
pub fn execute(
    scenario: &Scenario,
    path: &Path,
    options: &Options,
    make_recorder: impl FnOnce(&Header) -> Recorder,
) -> Result<Report, Error> {
    options.check(scenario, path)?;
    let (mode, _) = options.settle(scenario);
    let wiring = wire(scenario, options, mode).map(Wiring::of);
    execute_until(scenario, path, options, wiring, make_recorder, async |_| Ok(())).map(|(report, ())| report)
}

/// The wire of a run, and the layer through which requests get to it.
pub struct Wiring {
    /// The wire, with its latencies.
    pub wire: Wire,
    /// The layer of all transports.
    pub layer: TransportLayer,
}

impl Wiring {
    /// A wire, with nothing in front of it.
    pub(crate) fn of(wire: Wire) -> Self {
        Self { layer: wire.layer(), wire }
    }
}

impl std::fmt::Debug for Wiring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wiring")
    }
}

/// Like [`execute`] over this wire, and calls `take` on the cluster when all steps were taken.
///
/// # Errors
/// If the cluster does not start or no runtime can be created, or if `take` returns an error.
pub fn execute_until<T>(
    scenario: &Scenario,
    path: &Path,
    options: &Options,
    wiring: Option<Wiring>,
    make_recorder: impl FnOnce(&Header) -> Recorder,
    take: impl AsyncFnOnce(&Cluster) -> Result<T, Error>,
) -> Result<(Report, T), Error> {
    let (mode, seed) = options.settle(scenario);
    let wall = wall_clock();
    coracle_sim::run_in(clock_of(mode), async move {
        let ambient = ambient(mode, seed);
        let header = header(scenario, options, &ambient);
        let recorder = make_recorder(&header);
        let own = own_informers(scenario, path, options.change.as_ref());
        let layer = wiring.as_ref().map(|wiring| Arc::clone(&wiring.layer));
        let starting = ClusterStart { layer, ambient, recorder, own_informers: own, kept: None, nodes: None };
        let cluster = start(scenario, options, starting).await?;
        let plural_of = Arc::new(cluster.plurals());
        let world = World::new(cluster.store(), &scenario.spec.namespace, plural_of, invariants(scenario));
        let world = world.recorded(cluster.recorder().clone());
        let follower = follow(&world);
        let run = async {
            until_ready(&world, scenario).await?;
            let (rest, change, strict) = (options.rest, options.change.as_ref(), options.strict);
            let ending = Ending { header, mode, seed, rest, change, strict, most_events: options.most_events };
            let wire = wiring.map(|wiring| wiring.wire).unwrap_or_default();
            let faults = Faults::of(scenario, path, &wire, &cluster, &world);
            options.disturbance.into_iter().flat_map(Disturbance::faults).for_each(|fault| faults.plan(&fault));
            let run = ScenarioRun::new(scenario, path, &cluster, world.clone(), faults);
            Ok::<_, Error>(run.finish(ending, wall).await)
        };
        let report = or_panic(&cluster, cluster.unless_ended(run).await.and_then(std::convert::identity))?;
        let taken = take(&cluster).await?;
        follower.abort();
        cluster.shutdown().await;
        Ok((report, taken))
    })
    .map_err(|error| Error::NotStarted(error.to_string()))?
}

/// The result of a run. If the run failed and a component has panicked, the panic is the reason.
pub(crate) fn or_panic<T>(cluster: &Cluster, result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(|error| match cluster.take_component_panics().into_iter().next() {
        Some(panic) => Error::Panic { task: panic.component, message: panic.message },
        None => error,
    })
}

pub(crate) fn clock_of(mode: Mode) -> ClockMode {
    match mode {
        Mode::Real => ClockMode::Real,
        Mode::Scaled(factor) => ClockMode::Scaled(factor),
        Mode::Virtual => ClockMode::Virtual,
    }
}

/// Lets a world follow the store of a cluster.
pub(crate) fn follow(world: &World) -> JoinHandle<()> {
    let world = world.clone();
    tokio::spawn(async move {
        // It ends with the store; a wait for a revision that does not come then fails with its own message.
        let _ = world.follow().await;
    })
}

/// The wire of a run; `None` in real time without faults, where requests have no latency but their own.
pub(crate) fn wire(scenario: &Scenario, options: &Options, mode: Mode) -> Option<Wire> {
    if mode == Mode::Real {
        let has_faults = options.disturbance.is_some() || has_faults(scenario, options.change.as_ref());
        return has_faults.then(Wire::default);
    }
    let latency = &scenario.spec.cluster.latency;
    let latency = Latency { request: latency.request, watch: latency.watch };
    Some(Wire::with(latency.rules(Senders::Components)))
}

/// What the cluster of a scenario starts with in addition to the scenario.
pub(crate) struct ClusterStart {
    pub(crate) layer: Option<TransportLayer>,
    pub(crate) ambient: Ambient,
    pub(crate) recorder: Recorder,
    pub(crate) own_informers: BTreeSet<String>,
    /// The content of its store; `None` for a new one.
    pub(crate) kept: Option<KeptStore>,
    /// The state of its nodes.
    pub(crate) nodes: Option<SavedNodes>,
}

pub(crate) async fn start(scenario: &Scenario, options: &Options, starting: ClusterStart) -> Result<Cluster, Error> {
    let ClusterStart { layer, ambient, recorder, own_informers, kept, nodes: saved } = starting;
    let spec = &scenario.spec.cluster;
    let controllers = controllers::Config {
        leader_election: options
            .disturbance
            .and_then(Disturbance::election)
            .or_else(|| spec.leader_election.then(LeaderTimings::default)),
        ..controllers::Config::default()
    };
    let delays = Delays { start: spec.latency.pod_start, stop: spec.latency.pod_stop, ..Delays::zero() };
    let at_start = spec.nodes.value.shapes().into_iter().filter(|shape| shape.joins == Joins::AtStart);
    let nodes = at_start.map(|shape| node_spec(&shape)).collect();
    let builder = Cluster::builder()
        .kubernetes(options.release(scenario))
        .node_specs(nodes)
        .recorder(recorder)
        .pod_delays(delays)
        .controllers(controllers);
    let builder = builder.metrics_server(spec.metrics_server).images(spec.images.clone());
    let builder = builder.csi_driver().own_informers(own_informers);
    let builder = match kept {
        Some(kept) => builder.kept_store(kept),
        None => builder,
    };
    let builder = match saved {
        Some(saved) => builder.saved_nodes(saved),
        None => builder,
    };
    let builder = match layer {
        None => builder,
        Some(layer) => builder.transport_layer_for_all(layer),
    };
    builder.ambient(ambient).start().await
}

pub(crate) fn ambient(mode: Mode, seed: u64) -> Ambient {
    match mode {
        Mode::Real => Ambient { random: coracle_ambient::Random::from_seed(seed), ..Ambient::system() },
        Mode::Scaled(_) | Mode::Virtual => Ambient::seeded(seed),
    }
}

/// The header that identifies this run, so that it can be repeated.
pub(crate) fn header(scenario: &Scenario, options: &Options, ambient: &Ambient) -> Header {
    let (mode, seed) = options.settle(scenario);
    let start = coracle_meta::format_time(ambient.clock.now());
    let header = Header::new(start).of_scenario(&scenario.metadata.name, &scenario.hash).run(mode.to_string(), seed);
    let disturb = options.disturbance.map(|disturbance| disturbance.to_string());
    let kubernetes = Some(options.release(scenario).version().to_owned());
    Header { kubernetes, disturb, change: options.change.as_ref().map(Change::mark), ..header }
}

/// Waits until every node is ready, and pods of the scenario's namespace can be admitted: the steps begin in a stable
/// cluster.
pub(crate) async fn until_ready(world: &World, scenario: &Scenario) -> Result<(), Error> {
    let shapes = scenario.spec.cluster.nodes.value.shapes();
    let wanted = shapes.iter().filter(|shape| shape.joins == Joins::AtStart).count();
    let ready = move |cluster: &ClusterState| {
        // A node that has become ready keeps its taint until the controllers have seen it.
        let is_new = |node: &Object| {
            let taints = node.field("spec.taints").and_then(serde_json::Value::as_array);
            taints.into_iter().flatten().any(|taint| taint["key"] == "node.kubernetes.io/not-ready")
        };
        let takes_pods = |node: &&Arc<Object>| !is_new(node) && is_ready(node);
        let nodes = cluster.of_kind("v1", "Node").filter(takes_pods).count();
        let account = cluster.object("v1", "ServiceAccount", "default", "default").is_some();
        if nodes >= wanted && account {
            Ok(())
        } else {
            Err(InvariantAnswer::Unanswerable(format!("{nodes} of {wanted} nodes are ready")))
        }
    };
    match world.until_seen(PATIENCE, ready).await {
        Ok(_) => Ok(()),
        Err(late) => Err(Error::NotStarted(format!("the cluster is not ready after {PATIENCE:?}: {:?}", late.answer))),
    }
}

fn is_ready(node: &Object) -> bool {
    let conditions = node.field("status.conditions").and_then(serde_json::Value::as_array);
    conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// How much time has passed since this call, on the machine's clock.
pub(crate) fn wall_clock() -> impl Fn() -> Duration {
    #[expect(clippy::disallowed_methods, reason = "a report says how long the run took on the machine's clock")]
    let started = std::time::Instant::now();
    move || started.elapsed()
}
