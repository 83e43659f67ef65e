use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Cluster, Error, KeptStore};
use coracle_journal::{Entry, EntryId, Events, Header, Recorder, Stage};
use coracle_sim::{InvariantQuestion, Wire, World};

use crate::change::Change;
use crate::execute::{
    ClusterStart, Options, ambient, clock_of, follow, header, or_panic, start, until_ready, wall_clock, wire,
};
use crate::faults::{Faults, own_informers};
use crate::file::{Joins, Scenario};
use crate::maintenance::node_spec;
use crate::mode::Mode;
use crate::question::invariants;
use crate::report::Report;
use crate::run::{Ending, ScenarioRun};

/// How long a forked cluster runs at least, so that the effects of the step are seen.
const LEAST: Duration = Duration::from_secs(5);

/// The state of a run at one of its events, from which a new cluster continues.
pub(crate) struct Moment {
    /// The store at the event's revision.
    pub(crate) store: KeptStore,
    /// The revision.
    pub(crate) revision: i64,
    /// When the event happened, measured from the beginning of the log.
    pub(crate) at: Duration,
    /// How long the run continued after it.
    pub(crate) rest: Duration,
}

impl Moment {
    /// The moment of the entry at an index of a log. If the store has compacted that revision, the error is the first
    /// entry that it has not compacted.
    pub(crate) fn of(was: &Events, place: usize, store: &KeptStore) -> Result<Self, Option<EntryId>> {
        let revision = |upto: &[Entry]| {
            let committed = upto.iter().filter(|entry| entry.stage == Stage::StoreCommit);
            committed.filter_map(|entry| entry.revision).max().unwrap_or(1)
        };
        let (at, revision) = (was.entries[place].at, revision(&was.entries[..=place]));
        let Ok(store) = store.at(revision) else {
            let later = was.entries[place..].iter().filter(|entry| entry.stage == Stage::StoreCommit);
            let later: Vec<(EntryId, i64)> = later.filter_map(|entry| Some((entry.id, entry.revision?))).collect();
            let first = later.partition_point(|(_, revision)| store.at(*revision).is_err());
            return Err(later.get(first).map(|(id, _)| *id));
        };
        // The time that components need to stop does not count.
        let end = was.entries.iter().rfind(|entry| entry.stage != Stage::ComponentStop).map_or(at, |last| last.at);
        Ok(Self { store, revision, at, rest: end.saturating_sub(at).max(LEAST) })
    }
}

/// Starts a cluster from the store of a run at a moment, takes a step in it, and lets it run as long as the original
/// run did. Its controllers, scheduler and nodes start from scratch. Later steps are not taken. Invariants are checked
/// if they use no name that a step gave.
pub(crate) fn execute_from(
    moment: Moment,
    scenario: &Scenario,
    options: &Options,
    change: &Change,
    make_recorder: impl FnOnce(&Header) -> Recorder,
) -> Result<Report, Error> {
    let (mode, seed) = options.settle(scenario);
    let wall = wall_clock();
    coracle_sim::run_in(clock_of(mode), async move {
        let world_of = ambient(mode, seed);
        if let Mode::Scaled(_) = mode {
            // A clock that begins at a fixed date must not be earlier than the times in the store.
            tokio::time::sleep(moment.at).await;
        }
        let mark = format!("{} fork@{}", change.mark(), moment.revision);
        let header = Header { change: Some(mark), ..header(scenario, options, &world_of) };
        let recorder = make_recorder(&header);
        // The random numbers must not repeat: there are objects with those names and uids.
        let ambient = world_of.split("fork");
        let changed = Options { disturbance: None, change: Some(change.clone()), ..options.clone() };
        let wire = wire(scenario, &changed, mode);
        let own = own_informers(scenario, &change.path, Some(change));
        let layer = wire.as_ref().map(Wire::layer);
        let kept = Some(moment.store);
        let starting = ClusterStart { layer, ambient, recorder, own_informers: own, kept, nodes: None };
        let cluster = start(scenario, &changed, starting).await?;
        let named = scenario.bindings();
        let invariants =
            invariants(scenario).into_iter().filter(|invariant| !uses(&invariant.question, &named)).collect();
        let world = World::new(cluster.store(), &scenario.spec.namespace, Arc::new(cluster.plurals()), invariants);
        let world = world.recorded(cluster.recorder().clone());
        let follower = follow(&world);
        let run = async {
            until_ready(&world, scenario).await?;
            join_again(&cluster, &world, scenario);
            let (rest, strict) = (moment.rest, options.strict);
            let ending = Ending { header, mode, seed, rest, change: Some(change), strict, most_events: None };
            let wire = wire.unwrap_or_default();
            let faults = Faults::of(scenario, &change.path, &wire, &cluster, &world);
            let run = ScenarioRun::new(scenario, &change.path, &cluster, world.clone(), faults);
            Ok::<_, Error>(run.alone(ending, wall).await)
        };
        let report = or_panic(&cluster, cluster.unless_ended(run).await.and_then(std::convert::identity))?;
        follower.abort();
        cluster.shutdown().await;
        Ok(report)
    })
    .map_err(|error| Error::NotStarted(error.to_string()))?
}

/// Whether a question uses the name that a step gave to an object.
fn uses(question: &InvariantQuestion, names: &[String]) -> bool {
    match question {
        InvariantQuestion::Expression(expression) => expression.variables().iter().any(|used| names.contains(used)),
        InvariantQuestion::Partial(_) => false,
    }
}

/// Adds the nodes that had joined before the fork.
fn join_again(cluster: &Cluster, world: &World, scenario: &Scenario) {
    for shape in scenario.spec.cluster.nodes.value.shapes().iter().filter(|shape| shape.joins == Joins::Later) {
        if world.look(|objects| objects.object("v1", "Node", "", &shape.name).is_some()) {
            cluster.kubelet().add_node(node_spec(shape));
            cluster.kubelet().start_node(&shape.name);
        }
    }
}

/// The log of a run up to an event, followed by the log of the cluster that continued from it, with continuous numbers
/// and times. The initial objects of the new cluster are left out.
pub(crate) fn spliced(was: &Events, place: usize, new: &Events) -> Events {
    let (last, at) = (was.entries[place].id.0, was.entries[place].at);
    let is_known = |entry: &Entry| entry.stage == Stage::ObjectChange && entry.causes.is_empty();
    let after = new.entries.iter().filter(|entry| !is_known(entry)).cloned().map(|entry| Entry {
        id: EntryId(last + entry.id.0),
        at: at + entry.at,
        causes: entry.causes.iter().map(|cause| EntryId(last + cause.0)).collect(),
        ..entry
    });
    Events { header: new.header.clone(), entries: was.entries[..=place].iter().cloned().chain(after).collect() }
}
