use std::sync::Arc;
use std::time::Duration;

use coracle_journal::{Detail, Recorder, Stage};
use coracle_meta::Object;
use coracle_store::{Error, Revision, Store, WatchBatch};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::follow::follow_all;
use crate::object_changes::ObjectChanges;
use crate::{Answer, ClusterState, Invariant, Lists, PluralOf, Polarity, Question};

/// Who checks at every revision, in the event log.
const ACTOR: &str = "world";

/// A cluster as its store shows it, followed revision by revision while invariants are checked at each.
///
/// Invariant: no revision is skipped; each is checked once, in order.
///
/// ```
/// use coracle::meta::{Object, Resource};
/// use coracle::runtime::{Api, DeleteParams};
/// use coracle::simulation::{Invariant, Polarity, Question, World};
/// use serde_json::json;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// coracle::run_virtual(1, async |cluster| {
///     let named = |name: &str| {
///         let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
///         Question::Partial(map)
///     };
///     let never = Invariant { name: "no map is called b".to_owned(), polarity: Polarity::Never, question: named("b") };
///     let world = World::new("default", Arc::new(|_, _| None), vec![never]);
///     let (followed, store) = (world.clone(), cluster.parts().store());
///     tokio::spawn(async move { followed.follow(&*store).await });
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
}

struct Watched {
    invariant: Invariant,
    broken: Option<Broken>,
}

/// The first revision at which an invariant did not hold.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The revision.
    pub revision: Revision,
    /// When, on the cluster's clock.
    pub at: Instant,
    /// What was expected.
    pub expected: String,
    /// What was there.
    pub found: String,
}

/// What became of an invariant.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Its name.
    pub name: String,
    /// Where it broke first; `None` if it held to the end.
    pub broken: Option<Broken>,
}

/// Something did not come to hold in time.
#[derive(Clone, Debug)]
pub struct NotInTime {
    /// The last answer.
    pub answer: Answer,
    /// The revision of the last answer.
    pub revision: Revision,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("revision", &self.revision()).finish()
    }
}

impl World {
    /// A world with nothing in it. Questions about objects without a namespace of their own are asked in `namespace`.
    pub fn new(namespace: &str, plural_of: PluralOf, invariants: Vec<Invariant>) -> Self {
        let state = State {
            cluster: ClusterState::default(),
            lists: Lists::default(),
            invariants: invariants.into_iter().map(|invariant| Watched { invariant, broken: None }).collect(),
            plural_of,
            namespace: namespace.to_owned(),
            changes: ObjectChanges::default(),
        };
        Self { state: Arc::new(Mutex::new(state)), moved: Arc::new(Notify::new()) }
    }

    /// Tells the event log what objects look like whenever they change, and where invariants break. What is in Secrets is left
    /// out.
    #[must_use]
    pub fn recorded(self, recorder: Recorder) -> Self {
        self.state.lock().changes = ObjectChanges::new(recorder);
        self
    }

    /// Follows the store until it fails for good; run this beside the cluster.
    ///
    /// # Errors
    /// When history that was not seen yet is compacted, or the store is gone.
    pub async fn follow(&self, store: &dyn Store) -> Result<(), Error> {
        follow_all(store, Duration::ZERO, |batch| self.take(batch)).await
    }

    fn take(&self, batch: &WatchBatch) {
        let mut state = self.state.lock();
        let State { cluster, lists, invariants, plural_of, namespace, changes: objects } = &mut *state;
        cluster.follow(batch, |cluster, changes| {
            for change in changes {
                if let Some(plural) = change.plural(plural_of) {
                    lists.follow(&plural, &change.event.kv.key, change.after.as_deref());
                }
                objects.record(change.event, plural_of);
            }
            lists.set_revision(cluster.revision());
            for watched in invariants.iter_mut().filter(|watched| watched.broken.is_none()) {
                watched.broken = watched.invariant.check(cluster, lists, namespace);
                if let Some(broken) = &watched.broken {
                    broken.record(&watched.invariant.name, objects.recorder());
                }
            }
        });
        drop(state);
        self.moved.notify_waiters();
    }

    /// The newest revision seen.
    pub fn revision(&self) -> Revision {
        self.state.lock().cluster.revision()
    }

    /// Looks at all objects at the newest revision seen.
    pub fn look<R>(&self, look: impl FnOnce(&ClusterState) -> R) -> R {
        look(&self.state.lock().cluster)
    }

    /// Makes an object known to expressions under a name.
    pub fn bind(&self, name: &str, object: &Object) {
        self.state.lock().lists.bind(name, object);
    }

    /// Waits until the question is answered as wanted, asking again at every revision; returns the revision.
    pub async fn until(&self, question: &Question, wanted: Polarity, timeout: Duration) -> Result<Revision, NotInTime> {
        self.until_state(timeout, |state| {
            let answer = question.ask(&state.cluster, &state.lists, &state.namespace);
            match (&answer, wanted) {
                (Answer::Holds, Polarity::Always) | (Answer::Fails { .. }, Polarity::Never) => Ok(()),
                _ => Err(answer),
            }
        })
        .await
    }

    /// Waits until `look` finds what it looks for, looking again at every revision.
    pub async fn until_seen(
        &self,
        timeout: Duration,
        look: impl Fn(&ClusterState) -> Result<(), Answer>,
    ) -> Result<Revision, NotInTime> {
        self.until_state(timeout, |state| look(&state.cluster)).await
    }

    async fn until_state(
        &self,
        timeout: Duration,
        look: impl Fn(&State) -> Result<(), Answer>,
    ) -> Result<Revision, NotInTime> {
        let deadline = Instant::now() + timeout;
        loop {
            let moved = self.moved.notified();
            let mut moved = std::pin::pin!(moved);
            moved.as_mut().enable();
            let (revision, answer) = {
                let state = self.state.lock();
                match look(&state) {
                    Ok(()) => return Ok(state.cluster.revision()),
                    Err(answer) => (state.cluster.revision(), answer),
                }
            };
            if tokio::time::timeout_at(deadline, moved).await.is_err() {
                return Err(NotInTime { answer, revision });
            }
        }
    }

    /// What became of the invariants so far.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let state = self.state.lock();
        let verdict =
            |watched: &Watched| Verdict { name: watched.invariant.name.clone(), broken: watched.broken.clone() };
        state.invariants.iter().map(verdict).collect()
    }
}

impl Broken {
    fn record(&self, name: &str, recorder: &Recorder) {
        recorder.record(ACTOR, Stage::CheckFail, || {
            let detail = Detail::default().at(self.revision).caused_by(recorder.commit(self.revision));
            let detail = detail.with("name", name).with("throughout", true);
            detail.with("expected", self.expected.as_str()).with("found", self.found.as_str())
        });
    }
}

impl Invariant {
    fn check(&self, cluster: &ClusterState, lists: &Lists, namespace: &str) -> Option<Broken> {
        let (expected, found) = match (self.polarity, self.question.ask(cluster, lists, namespace)) {
            (Polarity::Always, Answer::Holds) | (Polarity::Never, Answer::Fails { .. }) => return None,
            (Polarity::Always, Answer::Fails { expected, found, .. }) => (expected, found),
            (Polarity::Never, Answer::Holds) => ("never true".to_owned(), "true".to_owned()),
            (_, Answer::Unanswerable(why)) => ("an answer".to_owned(), why),
        };
        Some(Broken { revision: cluster.revision(), at: Instant::now(), expected, found })
    }
}
