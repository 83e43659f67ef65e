use std::path::Path;

use coracle_ambient::Timestamp;
use coracle_cluster::{Cluster, Error, KeptStore, SavedNodes};
use coracle_journal::{EntryId, Header, Recorder};
use coracle_sim::World;
use tokio::task::JoinHandle;

use crate::execute::{ClusterStart, Options, Wiring, ambient, follow, header, start, until_ready, wire};
use crate::faults::own_informers;
use crate::file::Scenario;
use crate::mode::Mode;
use crate::question::invariants;
use crate::running_faults::RunningFaults;
use crate::step_memory::StepMemory;

/// The state of a cluster with which another one starts.
#[derive(Clone, Debug)]
pub struct StartState {
    /// The content of its store.
    pub store: KeptStore,
    /// The state of its nodes.
    pub nodes: SavedNodes,
    /// The time on its clock.
    pub at: Timestamp,
}

/// The cluster of a scenario in virtual time, ready for pods. No step was taken.
#[derive(Debug)]
pub struct OpenScenario {
    /// The cluster.
    pub cluster: Cluster,
    /// Its objects at each revision, with the invariants of the scenario.
    pub world: World,
    /// Its faults; those of the scenario begin with its steps.
    pub faults: RunningFaults,
    /// What steps leave for later ones.
    pub memory: StepMemory,
    /// The first line of its event log.
    pub header: Header,
    /// The last entry before it was ready.
    pub begins: EntryId,
    _following: Following,
}

/// The task that follows the objects. It ends when this is dropped.
#[derive(Debug)]
struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts the cluster of a scenario as [`execute`](crate::execute) does, and takes no step. With a `state`, the cluster
/// continues from there, and its components start from scratch. Call it on a runtime in virtual time.
///
/// # Errors
/// If the cluster does not start, or does not become ready.
pub async fn open(
    scenario: &Scenario,
    path: &Path,
    options: &Options,
    state: Option<StartState>,
    make_recorder: impl FnOnce(&Header) -> Recorder,
) -> Result<OpenScenario, Error> {
    let options = Options { mode: Some(Mode::Virtual), ..options.clone() };
    options.check(scenario, path)?;
    let (mode, seed) = options.settle(scenario);
    let (ambient, kept) = match state {
        None => (ambient(mode, seed), None),
        // The random numbers must not repeat: there are objects with those names and uids.
        Some(state) => {
            let ambient = coracle_ambient::Ambient::seeded_at(seed, state.at).split("fork");
            (ambient, Some((state.store, state.nodes)))
        }
    };
    let header = header(scenario, &options, &ambient);
    let recorder = make_recorder(&header);
    let Wiring { wire, layer } = Wiring::of(wire(scenario, &options, mode).unwrap_or_default());
    let own = own_informers(scenario, path, None);
    let (kept, nodes) = kept.unzip();
    let starting = ClusterStart { layer: Some(layer), ambient, recorder, own_informers: own, kept, nodes };
    let cluster = start(scenario, &options, starting).await?;
    let plurals = std::sync::Arc::new(cluster.plurals());
    let world = World::new(cluster.store(), &scenario.spec.namespace, plurals, invariants(scenario));
    let world = world.recorded(cluster.recorder().clone());
    let following = Following(follow(&world));
    cluster.unless_ended(until_ready(&world, scenario)).await??;
    let faults = RunningFaults::new(&cluster, &wire);
    let memory = StepMemory::new(&cluster, &scenario.spec.namespace);
    let begins = cluster.recorder().last();
    Ok(OpenScenario { cluster, world, faults, memory, header, begins, _following: following })
}
