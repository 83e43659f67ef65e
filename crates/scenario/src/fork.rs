use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{Cluster, Error, KeptStore};
use coracle_journal::{Entry, EntryId, Events, Header, Recorder, Stage};
use coracle_sim::{Question, World};

use crate::change::Change;
use crate::execute::{Options, ambient, clock_of, follow, header, start, until_ready, wall_clock};
use crate::file::{Joins, Scenario};
use crate::maintenance::node_spec;
use crate::mode::Mode;
use crate::question::invariants;
use crate::report::Report;
use crate::run::{Ending, Run};

/// A cluster that is left alone after a step goes on for so long at least, so that what the step led to is seen.
const LEAST: Duration = Duration::from_secs(5);

/// What a run held when one of its events happened, from which a new cluster goes on.
pub(crate) struct Moment {
    /// The store at the event's revision.
    pub(crate) store: KeptStore,
    /// The revision.
    pub(crate) revision: i64,
    /// When the event happened, since the log began.
    pub(crate) at: Duration,
    /// How long the run went on after it.
    pub(crate) rest: Duration,
}

impl Moment {
    /// The moment of the entry at a place of a log. If the store has compacted its history since, the first entry of which it has not.
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
        // How long the components took to stop is no part of it.
        let end = was.entries.iter().rfind(|entry| entry.stage != Stage::ComponentStop).map_or(at, |last| last.at);
        Ok(Self { store, revision, at, rest: end.saturating_sub(at).max(LEAST) })
    }
}

/// Begins a cluster with what a run held at a moment, puts a step into it, and leaves it alone for as long as the run went on. Its
/// controllers, scheduler and nodes begin anew; the steps that came later are not taken, what has to hold throughout is looked at
/// where it uses no name that a step gave.
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
            // A clock that begins at a fixed date must not be behind what it wrote before.
            tokio::time::sleep(moment.at).await;
        }
        let mark = format!("{} fork@{}", change.mark(), moment.revision);
        let header = Header { change: Some(mark), ..header(scenario, options, &world_of) };
        let recorder = make_recorder(&header);
        // What is drawn must not be drawn again: there are objects with those names and uids.
        let ambient = world_of.split("fork");
        let cluster = start(scenario, mode, ambient, None, recorder, Some(moment.store)).await?;
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
            let ending = Ending { header, mode, seed, rest, change: Some(change), disturbance: None, strict };
            Ok::<_, Error>(Run::new(scenario, &change.path, &cluster, world.clone()).alone(ending, wall).await)
        };
        let report = cluster.unless_ended(run).await??;
        follower.abort();
        cluster.shutdown().await;
        Ok(report)
    })
    .map_err(|error| Error::NotStarted(error.to_string()))?
}

/// Whether a question is about an object that a step gave a name to.
fn uses(question: &Question, names: &[String]) -> bool {
    match question {
        Question::Expression(expression) => expression.variables().iter().any(|used| names.contains(used)),
        Question::Partial(_) => false,
    }
}

/// Nodes that had joined by then are there again.
fn join_again(cluster: &Cluster, world: &World, scenario: &Scenario) {
    for shape in scenario.spec.cluster.nodes.value.shapes().iter().filter(|shape| shape.joins == Joins::Later) {
        if world.look(|objects| objects.object("v1", "Node", "", &shape.name).is_some()) {
            cluster.kubelet().add_node(node_spec(shape));
            cluster.kubelet().start_node(&shape.name);
        }
    }
}

/// The log of a run up to an event, and from there on that of the cluster which went on from it, with numbers and times that go on.
/// That each object is what it was is not said again.
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
