use std::sync::Arc;
use std::time::Duration;

use coracle_journal::{Detail, Recorder, Stage};
use coracle_meta::Object;
use coracle_store::{Error, Position, Revision, Store, WatchBatch};
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::awaited::{Awaiting, Look, Met, View};
use crate::change_selector::{ChangeCount, ChangeSelector};
use crate::cluster_state::ObjectChange;
use crate::follow::{Followed, follow_all};
use crate::invariant::Subjects;
use crate::object_changes::ObjectChanges;
use crate::{ClusterState, Invariant, InvariantAnswer, InvariantQuestion, Lists, PluralOf, Polarity};

/// The actor of checks in the event log.
const ACTOR: &str = "world";
/// How long the world may take to show a write, however short the timeout of a check is. Each write wakes the follower,
/// so this limits only a store that has just been restarted.
const GRACE: Duration = Duration::from_secs(1);

/// The objects of a cluster, followed in its store revision by revision. Invariants are checked at each revision.
///
/// Invariant: no revision is skipped; each is checked once, in order. A question is answered only after all writes were
/// seen that the store had acknowledged before.
///
/// ```
/// use coracle::meta::{Object, Resource};
/// use coracle::runtime::{Api, DeleteParams};
/// use coracle::simulation::{Invariant, Polarity, InvariantQuestion, World};
/// use serde_json::json;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// coracle::run_virtual(1, async |cluster| {
///     let named = |name: &str| {
///         let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
///         InvariantQuestion::Partial(map)
///     };
///     let name = "no map is called b".to_owned();
///     let never = Invariant { name, polarity: Polarity::Never, question: named("b"), since: None, line: None };
///     let world = World::new(cluster.store(), "default", Arc::new(|_, _| None), vec![never]);
///     let followed = world.clone();
///     tokio::spawn(async move { followed.follow().await });
///
///     let maps = Api::<coracle::api::core_v1::ConfigMap>::of(&cluster.api_client());
///     for name in ["a", "b"] {
///         let map = json!({"metadata": {"namespace": "default", "name": name}});
///         let map = maps.create(&serde_json::from_value(map).unwrap()).await.unwrap();
///         world.until(&named(name), Polarity::Always, Duration::from_secs(1)).await.unwrap();
///         maps.delete(&map.key(), &DeleteParams::default()).await.unwrap();
///         world.until(&named(name), Polarity::Never, Duration::from_secs(1)).await.unwrap();
///     }
///     assert!(world.verdicts()[0].broken.is_some(), "it was there at one revision, and that is enough");
/// })
/// .unwrap();
/// ```
#[derive(Clone)]
pub struct World {
    store: Arc<dyn Store>,
    state: Arc<Mutex<State>>,
    moved: Arc<Notify>,
}

struct State {
    cluster: ClusterState,
    lists: Lists,
    invariants: Vec<Watched>,
    plural_of: PluralOf,
    namespace: String,
    changes: ObjectChanges,
    awaiting: Awaiting,
    /// The position of the store's watch; `None` before it is open.
    position: Option<Arc<dyn Position>>,
    /// Why the store is not followed any more.
    ended: Option<Error>,
}

struct Watched {
    invariant: Invariant,
    subjects: Subjects,
    /// Whether it is being evaluated.
    begun: bool,
    /// Whether any object that it is about existed at a revision at which it was evaluated.
    saw: bool,
    broken: Option<Broken>,
}

/// The first revision at which an invariant did not hold.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The revision.
    pub revision: Revision,
    /// The time, on the cluster's clock.
    pub at: Instant,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// The result of an invariant.
#[derive(Clone, Debug)]
pub struct InvariantVerdict {
    /// Its name.
    pub name: String,
    /// Where it broke first; `None` if it held to the end.
    pub broken: Option<Broken>,
    /// Whether it was evaluated at any revision. An invariant from a moment that does not come is not evaluated.
    pub asked: bool,
    /// Whether any object that it is about existed at a revision at which it was evaluated.
    pub saw: bool,
}

/// A condition that held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The revision.
    pub revision: Revision,
    /// Whether it was waited for: it did not hold at first.
    pub waited: bool,
}

/// A condition that is checked at every revision until it is met, whether or not a task waits for it. Checks end when
/// it is dropped.
#[derive(Debug)]
pub struct Awaited {
    world: World,
    id: u64,
}

/// A condition did not hold in time.
#[derive(Clone, Debug)]
pub struct NotInTime {
    /// The last answer.
    pub answer: InvariantAnswer,
    /// The revision of the last answer.
    pub revision: Revision,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("revision", &self.revision()).finish()
    }
}

impl World {
    /// The world of a store, which is empty before the store is followed. `namespace` is the namespace of questions
    /// about namespaced objects that name none.
    pub fn new(store: Arc<dyn Store>, namespace: &str, plural_of: PluralOf, invariants: Vec<Invariant>) -> Self {
        let state = State {
            cluster: ClusterState::default(),
            lists: Lists::default(),
            invariants: invariants.into_iter().map(Watched::of).collect(),
            plural_of,
            namespace: namespace.to_owned(),
            changes: ObjectChanges::default(),
            awaiting: Awaiting::default(),
            position: None,
            ended: None,
        };
        Self { store, state: Arc::new(Mutex::new(state)), moved: Arc::new(Notify::new()) }
    }

    /// Records each change of an object and each broken invariant in the event log. The contents of Secrets are left
    /// out.
    #[must_use]
    pub fn recorded(self, recorder: Recorder) -> Self {
        self.state.lock().changes = ObjectChanges::new(recorder);
        self
    }

    /// Follows the store until it fails permanently; run it next to the cluster.
    ///
    /// # Errors
    /// If history that was not read yet is compacted, or the store is gone.
    pub async fn follow(&self) -> Result<(), Error> {
        let ended = follow_all(&*self.store, Duration::ZERO, |followed| self.take(followed)).await;
        self.state.lock().ended = ended.as_ref().err().cloned();
        self.moved.notify_waiters();
        ended
    }

    fn take(&self, followed: Followed<'_>) {
        let mut state = self.state.lock();
        match followed {
            Followed::All(found) => state.start(found),
            Followed::Opened(position) => state.position = position,
            Followed::Changes(batch) => state.follow(batch),
        }
        drop(state);
        self.moved.notify_waiters();
    }

    /// Waits until all writes were seen that the store has acknowledged by now, and returns the revision. Returns
    /// immediately if they were seen already.
    ///
    /// A store that does not run has nothing more to show: call [`current`](Self::current) before it is killed.
    ///
    /// # Errors
    /// If that times out, or the store is not followed any more.
    pub async fn caught_up(&self, timeout: Duration) -> Result<Revision, NotInTime> {
        self.caught_up_by(Instant::now() + timeout, false).await
    }

    /// Like [`caught_up`](Self::caught_up), and also waits for writes during the call: when it returns, all writes were
    /// seen.
    ///
    /// # Errors
    /// As for [`caught_up`](Self::caught_up).
    pub async fn current(&self, timeout: Duration) -> Result<Revision, NotInTime> {
        self.caught_up_by(Instant::now() + timeout, true).await
    }

    async fn caught_up_by(&self, deadline: Instant, meanwhile: bool) -> Result<Revision, NotInTime> {
        let mut wanted = None;
        loop {
            if meanwhile {
                wanted = None;
            }
            let mut moved = std::pin::pin!(self.moved.notified());
            moved.as_mut().enable();
            let why = match self.shows(&mut wanted).await {
                Ok(true) => return Ok(self.revision()),
                Ok(false) if tokio::time::timeout_at(deadline, moved).await.is_ok() => continue,
                Ok(false) => format!("the store is at revision {}", wanted.unwrap_or_default()),
                Err(ended) => format!("the store is not followed any more: {ended}"),
            };
            let revision = self.revision();
            let answer = InvariantAnswer::Unanswerable(format!("only revision {revision} is seen, and {why}"));
            return Err(NotInTime { answer, revision });
        }
    }

    /// Whether it shows the revision that the store had at the first call.
    async fn shows(&self, wanted: &mut Option<Revision>) -> Result<bool, Error> {
        {
            let mut state = self.state.lock();
            if let Some(ended) = &state.ended {
                return Err(ended.clone());
            }
            let seen = state.cluster.revision();
            // Not every revision changes an object; the position of the watch knows whether one has changed since.
            if let Some(head) = state.position.as_ref().and_then(|position| position.unchanged_since(seen)) {
                state.cluster.reach(head);
                return Ok(true);
            }
        }
        if wanted.is_none() {
            *wanted = match self.store.status().await {
                Ok(status) => Some(status.revision),
                Err(Error::Unavailable(_)) => return Ok(self.revision() > 0),
                Err(error) => return Err(error),
            };
        }
        Ok(wanted.is_some_and(|wanted| self.revision() >= wanted))
    }

    /// The newest revision seen.
    pub fn revision(&self) -> Revision {
        self.state.lock().cluster.revision()
    }

    /// Calls `look` with all objects at the newest revision seen.
    pub fn look<R>(&self, look: impl FnOnce(&ClusterState) -> R) -> R {
        look(&self.state.lock().cluster)
    }

    /// Starts to evaluate the invariants of this moment, beginning with the current revision.
    pub fn reached(&self, moment: &str) {
        let mut state = self.state.lock();
        let State { cluster, lists, invariants, namespace, changes, .. } = &mut *state;
        for watched in invariants.iter_mut().filter(|watched| !watched.begun) {
            if watched.invariant.since.as_deref() == Some(moment) {
                watched.begun = true;
                watched.ask(cluster, lists, namespace, changes.recorder());
            }
        }
    }

    /// Binds a name in expressions to an object.
    pub fn bind(&self, name: &str, object: &Object) {
        self.state.lock().lists.bind(name, object);
    }

    /// Waits until the question has the wanted answer: at the newest revision of the store, or at a later one. Every
    /// revision is checked.
    ///
    /// # Errors
    /// If that times out.
    pub async fn until(
        &self,
        question: &InvariantQuestion,
        wanted: Polarity,
        timeout: Duration,
    ) -> Result<Held, NotInTime> {
        let met = self.until_met(timeout, asked(question.clone(), wanted)).await;
        met.map_err(|NotInTime { answer, revision }| {
            let state = self.state.lock();
            let answer = match answer {
                InvariantAnswer::Fails { expected, found, nearest } if state.cluster.revision() == revision => {
                    InvariantAnswer::Fails { expected, found: question.found(&state.lists, found), nearest }
                }
                other => other,
            };
            NotInTime { answer, revision }
        })
    }

    /// Waits until `look` succeeds: at the newest revision of the store, or at a later one.
    ///
    /// # Errors
    /// If that times out.
    pub async fn until_seen(
        &self,
        timeout: Duration,
        look: impl Fn(&ClusterState) -> Result<(), InvariantAnswer> + Send + 'static,
    ) -> Result<Held, NotInTime> {
        self.until_met(timeout, Box::new(move |view| look(view.cluster))).await
    }

    async fn until_met(&self, timeout: Duration, look: Look) -> Result<Held, NotInTime> {
        let deadline = Instant::now() + timeout;
        self.caught_up(timeout.max(GRACE)).await?;
        let awaited = self.await_met(look);
        let mut waited = false;
        loop {
            let mut moved = std::pin::pin!(self.moved.notified());
            moved.as_mut().enable();
            if let Some(revision) = awaited.met() {
                return Ok(Held { revision, waited });
            }
            waited = true;
            if tokio::time::timeout_at(deadline, moved).await.is_err() {
                self.caught_up(GRACE).await?;
                return match awaited.state() {
                    Met::At(revision) => Ok(Held { revision, waited }),
                    Met::NotBy(revision, answer) => Err(NotInTime { answer, revision }),
                };
            }
        }
    }

    /// Waits in the background for the first revision, from now on, at which the question does not have the wanted
    /// answer.
    pub fn await_lapse(&self, question: &InvariantQuestion, wanted: Polarity) -> Awaited {
        self.await_met(lapsed(asked(question.clone(), wanted)))
    }

    /// Waits in the background for the first revision, from now on, at which `look` fails.
    pub fn await_lapse_of(
        &self,
        look: impl Fn(&ClusterState) -> Result<(), InvariantAnswer> + Send + 'static,
    ) -> Awaited {
        self.await_met(lapsed(Box::new(move |view| look(view.cluster))))
    }

    /// Waits in the background for the nth change, from now on, that a selector selects. Changes that the store has
    /// acknowledged by now do not count.
    pub fn await_change(&self, selector: ChangeSelector, nth: u64) -> Awaited {
        let begin = self.newest();
        let mut count = ChangeCount::default();
        self.await_met(Box::new(move |view| {
            let after = |change: &&ObjectChange<'_>| change.event.kv.mod_revision > begin;
            view.changes.iter().filter(after).for_each(|change| count.take(&selector, change));
            if count.selected >= nth { Ok(()) } else { Err(InvariantAnswer::Unanswerable(count.near_miss(nth))) }
        }))
    }

    /// Waits in the background for a revision. One that has passed is met at once.
    pub fn await_revision(&self, revision: Revision) -> Awaited {
        self.await_met(Box::new(move |view| {
            let newest = view.cluster.revision();
            let answer =
                || InvariantAnswer::Unanswerable(format!("it waits for revision {revision}, and the last is {newest}"));
            if newest >= revision { Ok(()) } else { Err(answer()) }
        }))
    }

    /// The newest revision of the store, as far as it is known without waiting.
    pub fn newest(&self) -> Revision {
        let status = self.store.status().now_or_never().and_then(Result::ok);
        status.map_or(0, |status| status.revision).max(self.revision())
    }

    fn await_met(&self, look: Look) -> Awaited {
        let mut state = self.state.lock();
        let State { cluster, lists, namespace, awaiting, .. } = &mut *state;
        Awaited { id: awaiting.add(look, &View { cluster, lists, namespace, changes: &[] }), world: self.clone() }
    }

    /// The results of the invariants so far.
    pub fn verdicts(&self) -> Vec<InvariantVerdict> {
        let state = self.state.lock();
        let verdict = |watched: &Watched| InvariantVerdict {
            name: watched.invariant.name.clone(),
            broken: watched.broken.clone(),
            asked: watched.begun,
            saw: watched.saw,
        };
        state.invariants.iter().map(verdict).collect()
    }
}

impl State {
    /// Applies all objects at the beginning.
    fn start(&mut self, found: &WatchBatch) {
        let mut cluster = std::mem::take(&mut self.cluster);
        cluster.start(found, |cluster, changes| self.look(cluster, changes));
        self.cluster = cluster;
    }

    fn follow(&mut self, batch: &WatchBatch) {
        let mut cluster = std::mem::take(&mut self.cluster);
        cluster.follow(batch, |cluster, changes| self.look(cluster, changes));
        self.cluster = cluster;
    }

    /// Checks one revision.
    fn look(&mut self, cluster: &ClusterState, changes: &[ObjectChange<'_>]) {
        for change in changes {
            if let Some(plural) = change.plural(&self.plural_of) {
                self.lists.follow(&plural, &change.event.kv.key, change.after.as_ref());
            }
            self.changes.record(change.event, &self.plural_of);
        }
        self.lists.set_revision(cluster.revision());
        for watched in self.invariants.iter_mut().filter(|watched| watched.begun) {
            watched.ask(cluster, &self.lists, &self.namespace, self.changes.recorder());
        }
        self.awaiting.look(&View { cluster, lists: &self.lists, namespace: &self.namespace, changes });
    }
}

impl Watched {
    fn of(invariant: Invariant) -> Self {
        let (subjects, begun) = (Subjects::of(&invariant.question), invariant.since.is_none());
        Self { invariant, subjects, begun, saw: false, broken: None }
    }

    /// Evaluates the invariant at one revision, unless it has broken before.
    fn ask(&mut self, cluster: &ClusterState, lists: &Lists, namespace: &str, recorder: &Recorder) {
        if self.broken.is_some() {
            return;
        }
        self.saw = self.saw || self.subjects.are_there(cluster, lists, namespace);
        self.broken = self.invariant.check(cluster, lists, namespace);
        if let Some(broken) = &self.broken {
            broken.record(&self.invariant, recorder);
        }
    }
}

/// Checks whether the question has the wanted answer.
fn asked(question: InvariantQuestion, wanted: Polarity) -> Look {
    Box::new(move |view| {
        let answer = question.ask(view.cluster, view.lists, view.namespace);
        match (&answer, wanted) {
            (InvariantAnswer::Holds, Polarity::Always) | (InvariantAnswer::Fails { .. }, Polarity::Never) => Ok(()),
            _ => Err(answer),
        }
    })
}

/// Checks whether `look` fails.
fn lapsed(mut look: Look) -> Look {
    Box::new(move |view| match look(view) {
        Ok(()) => Err(InvariantAnswer::Holds),
        Err(_) => Ok(()),
    })
}

impl Awaited {
    /// The first revision at which it was met; `None` if there was none so far.
    pub fn met(&self) -> Option<Revision> {
        match self.state() {
            Met::At(revision) => Some(revision),
            Met::NotBy(..) => None,
        }
    }

    /// Waits until it is met, and returns the revision.
    pub async fn until_met(&self) -> Revision {
        loop {
            let mut moved = std::pin::pin!(self.world.moved.notified());
            moved.as_mut().enable();
            if let Some(revision) = self.met() {
                return revision;
            }
            moved.await;
        }
    }

    /// Why it is not met; `None` if it is.
    pub fn answer(&self) -> Option<InvariantAnswer> {
        match self.state() {
            Met::At(_) => None,
            Met::NotBy(_, answer) => Some(answer),
        }
    }

    fn state(&self) -> Met {
        self.world.state.lock().awaiting.met(self.id).expect("it is looked at until this is dropped")
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.world.state.lock().awaiting.remove(self.id);
    }
}

impl Broken {
    fn record(&self, invariant: &Invariant, recorder: &Recorder) {
        recorder.record(ACTOR, Stage::CheckFail, || {
            let detail = Detail::default().at(self.revision).caused_by(recorder.commit(self.revision));
            let detail = detail.with("name", invariant.name.as_str()).with("throughout", true);
            let detail = invariant.line.iter().fold(detail, |detail, line| detail.with("line", *line));
            detail.with("expected", self.expected.as_str()).with("found", self.found.as_str())
        });
    }
}

impl Invariant {
    fn check(&self, cluster: &ClusterState, lists: &Lists, namespace: &str) -> Option<Broken> {
        let (expected, found) = match (self.polarity, self.question.ask(cluster, lists, namespace)) {
            (Polarity::Always, InvariantAnswer::Holds) | (Polarity::Never, InvariantAnswer::Fails { .. }) => {
                return None;
            }
            (Polarity::Always, InvariantAnswer::Fails { expected, found, .. }) => {
                (expected, self.question.found(lists, found))
            }
            (Polarity::Never, InvariantAnswer::Holds) => {
                (self.question.refused(), self.question.found(lists, "true".to_owned()))
            }
            (_, InvariantAnswer::Unanswerable(why)) => ("an answer".to_owned(), why),
        };
        Some(Broken { revision: cluster.revision(), at: Instant::now(), expected, found })
    }
}
