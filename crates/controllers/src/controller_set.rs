use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;

use coracle_ambient::{Ambient, gated};
use coracle_controller_runtime::Process;
use coracle_informer::HandlerScope;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::{AbortHandle, JoinSet};

use crate::controllers::{ListedController, entry};
use crate::names::{component_name, find};
use crate::{Config, Identities, Identity, Lifetime};

/// The controllers of one controller-manager, by their [names as components](crate::component_names). While it runs,
/// each of them is killed, started and doubled alone. Clones are the same set.
///
/// A controller that is killed loses its queues and what else it keeps only in memory. Its handlers are removed from
/// the informers, which it shares with the others: these stay, and a controller that is started again is notified of
/// all objects in their caches. Events that it has queued are still posted.
///
/// Unlike Kubernetes: there a controller only ends with its process, and with it all informers. A controller that has
/// [informers of its own](Self::with_own_informers) loses these, too, and reads all objects again.
#[derive(Clone, Default)]
pub struct ControllerSet {
    shared: Arc<Mutex<Shared>>,
    /// The controllers that share no informers with others.
    own_informers: Arc<BTreeSet<String>>,
}

#[derive(Default)]
struct Shared {
    /// Present while the controller-manager runs, and leads if it uses leader election.
    starter: Option<Arc<Starter>>,
    tasks: JoinSet<()>,
    running: BTreeMap<Place, RunningController>,
}

/// The name of a controller, and which of its instances.
type Place = (&'static str, Turn);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    First,
    Second,
}

/// What each start of a controller needs.
pub(crate) struct Starter {
    pub(crate) process: Process,
    pub(crate) config: Config,
    pub(crate) identities: Arc<dyn Identities>,
    pub(crate) user_agent: String,
}

struct RunningController {
    task: AbortHandle,
    handlers: HandlerScope,
    lifetime: Arc<dyn Lifetime>,
    has_own_informers: bool,
}

impl RunningController {
    fn end(&self) {
        self.lifetime.end();
        self.handlers.remove_handlers();
        self.task.abort();
    }
}

impl fmt::Debug for ControllerSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running: Vec<Place> = self.shared.lock().running.keys().copied().collect();
        f.debug_struct("ControllerSet").field("running", &running).finish_non_exhaustive()
    }
}

impl ControllerSet {
    /// A set in which these controllers have informers of their own, as if each ran in a process of its own.
    pub fn with_own_informers(names: impl IntoIterator<Item = String>) -> Self {
        Self { shared: Arc::default(), own_informers: Arc::new(names.into_iter().collect()) }
    }

    /// Starts a controller that does not run. False if it runs, if the controller-manager does not run it, or if the
    /// controller-manager does not run itself.
    pub fn start(&self, controller: &str) -> bool {
        self.begin(controller, Turn::First)
    }

    /// Starts a second instance of a controller that runs, with informers of its own. False if there is one, or if the
    /// controller does not run.
    pub fn double(&self, controller: &str) -> bool {
        self.runs(controller) && self.begin(controller, Turn::Second)
    }

    /// Kills a controller; false if it does not run.
    pub fn kill(&self, controller: &str) -> bool {
        self.end(controller, Turn::First)
    }

    /// Kills the second instance of a controller; false if there is only one.
    pub fn kill_double(&self, controller: &str) -> bool {
        self.end(controller, Turn::Second)
    }

    /// Stops a controller with [informers of its own](Self::with_own_informers), as by SIGSTOP. False if it shares its
    /// informers, if it does not run, or if it was paused before.
    pub fn pause(&self, controller: &str) -> bool {
        let pauses = |running: &RunningController| running.has_own_informers && running.lifetime.pause();
        self.first(controller, pauses)
    }

    /// Continues a controller that was paused; false if it was not.
    pub fn resume(&self, controller: &str) -> bool {
        self.first(controller, |running| running.lifetime.resume())
    }

    fn first(&self, controller: &str, act: impl FnOnce(&RunningController) -> bool) -> bool {
        let shared = self.shared.lock();
        let place = shared.running.iter().find(|((name, turn), _)| *name == controller && *turn == Turn::First);
        place.is_some_and(|(_, running)| act(running))
    }

    /// Whether a controller runs: the controller-manager runs it, and it was not killed.
    pub fn runs(&self, controller: &str) -> bool {
        self.shared.lock().running.keys().any(|(name, turn)| *name == controller && *turn == Turn::First)
    }

    fn begin(&self, controller: &str, turn: Turn) -> bool {
        let Some(entry) = entry(controller) else { return false };
        let place = (component_name(entry.0), turn);
        let starter = {
            let shared = self.shared.lock();
            shared.starter.clone().filter(|_| !shared.running.contains_key(&place))
        };
        let Some(starter) = starter.filter(|starter| starter.config.runs(entry.0)) else { return false };
        let has_own_informers = turn == Turn::Second || self.own_informers.contains(controller);
        let (work, handlers, lifetime) = starter.start(entry, has_own_informers);
        let mut shared = self.shared.lock();
        let task = shared.tasks.spawn(lifetime.gate().guard(work));
        shared.running.insert(place, RunningController { task, handlers, lifetime, has_own_informers });
        true
    }

    fn end(&self, controller: &str, turn: Turn) -> bool {
        let ended = {
            let mut shared = self.shared.lock();
            let place = shared.running.keys().find(|(name, of)| *name == controller && *of == turn).copied();
            place.and_then(|place| shared.running.remove(&place))
        };
        ended.iter().for_each(RunningController::end);
        ended.is_some()
    }

    /// The controllers of this controller-manager run until the result is dropped.
    pub(crate) fn run_with(&self, starter: Starter) -> RunsControllers<'_> {
        self.shared.lock().starter = Some(Arc::new(starter));
        RunsControllers(self)
    }
}

/// The time during which a controller-manager runs its controllers. Dropping it kills them.
pub(crate) struct RunsControllers<'s>(&'s ControllerSet);

impl RunsControllers<'_> {
    /// Runs one more task of the controller-manager.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.shared.lock().tasks.spawn(gated(task));
    }

    /// Waits until all tasks have ended.
    ///
    /// # Panics
    /// If one of them does.
    pub(crate) async fn joined(&self) {
        while let Some(ended) = poll_fn(|context| self.0.shared.lock().tasks.poll_join_next(context)).await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    }
}

impl Drop for RunsControllers<'_> {
    fn drop(&mut self) {
        let ended = std::mem::take(&mut *self.0.shared.lock());
        ended.running.values().for_each(|controller| controller.lifetime.end());
    }
}

impl Starter {
    /// The work of one start of a controller, the handlers that it adds to shared informers, and its lifetime.
    fn start(
        &self,
        entry: &ListedController,
        has_own_informers: bool,
    ) -> (BoxFuture<'static, ()>, HandlerScope, Arc<dyn Lifetime>) {
        let (name, start) = *entry;
        let controller = component_name(name);
        let account = find(name).map_or("", |name| name.account);
        let identity = self.identities.identity(controller, account);
        let client = identity.client.clone().with_user_agent(&self.user_agent);
        let handlers = HandlerScope::default();
        let own =
            if has_own_informers { self.process_of(controller, &identity) } else { self.process.within(&handlers) };
        let own = own.speaking_through(client);
        let work = start(&own, &self.config);
        let work: BoxFuture<'static, ()> = Box::pin(async move {
            if has_own_informers {
                tokio::join!(biased; work, own.run());
            } else {
                work.await;
            }
        });
        (work, handlers, identity.lifetime)
    }

    /// A process for one controller, which shares nothing with the others.
    fn process_of(&self, controller: &str, identity: &Identity) -> Process {
        let Process { name, recorder, ambient, .. } = &self.process;
        let actor = self.process.actor(controller);
        let ambient = Ambient { random: ambient.random.split(&actor), ..ambient.clone() };
        let reader = self.config.metrics.observing(identity.reader.clone().with_user_agent(&self.user_agent));
        Process::new(name, &reader, &ambient, recorder).counting(&self.config.metrics).with_informers_of(&actor)
    }
}
