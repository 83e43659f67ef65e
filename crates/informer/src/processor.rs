use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{TimeShift, gated};
use coracle_journal::EntryId;
use coracle_meta::AnyObject;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::{Notification, Records, Signal};

/// The shortest resync period. In Kubernetes: `minimumResyncPeriod`.
const MIN_RESYNC_PERIOD: Duration = Duration::from_secs(1);

/// A handler: called for each change, with the entries of the event log that caused it. It maps the object to a key
/// and queues that; it cannot wait.
pub(crate) type Handler = Box<dyn FnMut(&Notification<dyn AnyObject>, &[EntryId]) + Send>;

/// Notifies every handler of an informer of changes.
///
/// In Kubernetes: `cache.sharedProcessor`.
pub(crate) struct SharedProcessor {
    listeners: Mutex<Vec<Arc<ProcessorListener>>>,
    /// Handlers whose listeners are not running yet.
    waiting: Mutex<Vec<Waiting>>,
    added: Notify,
    resync_added: Notify,
    records: Records,
}

/// A listener, and the handler that it will run.
type Waiting = (Arc<ProcessorListener>, Handler);

/// The queue of one handler's pending notifications: a slow handler delays only itself.
///
/// In Kubernetes: `cache.processorListener`.
pub(crate) struct ProcessorListener {
    /// The handler's actor in the event log.
    name: String,
    queue: Mutex<VecDeque<Told>>,
    filled: Notify,
    synced: Signal,
    removed: Signal,
    resync: Mutex<Resync>,
}

/// When a handler's next resync is due.
#[derive(Debug)]
struct Resync {
    period: Option<Duration>,
    next: Instant,
    /// Whether `Sync` deltas in progress are for this handler.
    under_way: bool,
}

impl Resync {
    fn due(&self) -> Option<Instant> {
        self.period.map(|_| self.next)
    }
}

enum Told {
    Of(Arc<Notification<dyn AnyObject>>, Option<EntryId>),
    /// All objects of the first list have been delivered.
    Synced,
}

/// The registration of a handler with an informer. Clones are the same registration.
#[derive(Clone)]
pub struct HandlerRegistration {
    listener: Arc<ProcessorListener>,
}

impl fmt::Debug for HandlerRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerRegistration").field("name", &self.listener.name).finish()
    }
}

impl HandlerRegistration {
    /// Waits until the handler has been notified of everything that existed when it started.
    pub async fn synced(&self) {
        self.listener.synced.given().await;
    }

    /// Whether the handler has been notified of everything that existed when it started.
    pub fn has_synced(&self) -> bool {
        self.listener.synced.is_given()
    }

    /// Removes the handler: it gets no more notifications.
    pub fn remove(&self) {
        self.listener.removed.give();
        self.listener.filled.notify_one();
    }
}

/// The handlers that a notification is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    All,
    /// Only handlers with a resync in progress, because nothing changed.
    Resyncing,
}

impl fmt::Debug for SharedProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedProcessor").field("listeners", &self.listeners.lock().len()).finish_non_exhaustive()
    }
}

impl SharedProcessor {
    pub(crate) fn new(records: Records) -> Self {
        Self {
            listeners: Mutex::default(),
            waiting: Mutex::default(),
            added: Notify::new(),
            resync_added: Notify::new(),
            records,
        }
    }

    /// Adds a handler that is first notified of `present`; with `complete`, these are all objects of the first list.
    pub(crate) fn add(
        &self,
        name: &str,
        resync: Option<Duration>,
        handler: Handler,
        present: Vec<Arc<dyn AnyObject>>,
        complete: bool,
    ) -> HandlerRegistration {
        let listener = Arc::new(ProcessorListener::new(name, resync));
        for object in present {
            listener.tell(Told::Of(Arc::new(Notification::Added { object, initial: true }), None));
        }
        if complete {
            listener.tell(Told::Synced);
        }
        self.listeners.lock().push(listener.clone());
        self.waiting.lock().push((listener.clone(), handler));
        self.added.notify_one();
        if resync.is_some() {
            self.resync_added.notify_one();
        }
        HandlerRegistration { listener }
    }

    pub(crate) fn distribute(
        &self,
        notification: Notification<dyn AnyObject>,
        audience: Audience,
        cause: Option<EntryId>,
    ) {
        let notification = Arc::new(notification);
        let mut listeners = self.listeners.lock();
        listeners.retain(|listener| !listener.removed.is_given());
        for listener in listeners.iter() {
            if audience == Audience::All || listener.resync.lock().under_way {
                listener.tell(Told::Of(notification.clone(), cause));
            }
        }
    }

    /// Records that the first list has been distributed completely.
    pub(crate) fn distribute_synced(&self) {
        for listener in self.listeners.lock().iter() {
            listener.tell(Told::Synced);
        }
    }

    /// Waits until a handler's resync is due.
    pub(crate) async fn resync_due(&self) {
        loop {
            let due = self.listeners.lock().iter().filter_map(|listener| listener.resync_due()).min();
            let added = self.resync_added.notified();
            match due {
                None => added.await,
                Some(due) if due <= Instant::now() => return,
                // A handler that is added meanwhile may be due earlier.
                Some(due) => drop(timeout_at(due, added).await),
            }
        }
    }

    /// Starts a resync for the handlers that are due.
    pub(crate) fn begin_resync(&self) {
        let now = Instant::now();
        for listener in self.listeners.lock().iter() {
            let due = listener.resync_due().is_some_and(|due| due <= now);
            let mut resync = listener.resync.lock();
            resync.under_way = due;
            if resync.under_way {
                resync.next = now.later(resync.period.unwrap_or_default());
            }
        }
    }

    /// Waits until a handler is added.
    pub(crate) async fn handler_added(&self) {
        self.added.notified().await;
    }

    /// Starts the listeners of new handlers.
    pub(crate) fn start_listeners(&self, tasks: &mut JoinSet<()>) {
        for (listener, handler) in std::mem::take(&mut *self.waiting.lock()) {
            tasks.spawn(gated(listener.run(handler, self.records.clone())));
        }
    }
}

impl ProcessorListener {
    fn new(name: &str, period: Option<Duration>) -> Self {
        let period = period.filter(|period| !period.is_zero()).map(|period| period.max(MIN_RESYNC_PERIOD));
        let next = Instant::now().later(period.unwrap_or_default());
        Self {
            name: name.to_owned(),
            queue: Mutex::default(),
            filled: Notify::new(),
            synced: Signal::default(),
            removed: Signal::default(),
            resync: Mutex::new(Resync { period, next, under_way: false }),
        }
    }

    fn resync_due(&self) -> Option<Instant> {
        if self.removed.is_given() { None } else { self.resync.lock().due() }
    }

    fn tell(&self, told: Told) {
        self.queue.lock().push_back(told);
        self.filled.notify_one();
    }

    async fn run(self: Arc<Self>, mut handler: Handler, records: Records) {
        while !self.removed.is_given() {
            let told = self.queue.lock().pop_front();
            match told {
                Some(Told::Of(notification, cause)) => {
                    let entry = records.called(&self.name, &notification, cause);
                    handler(&notification, entry.as_slice());
                }
                Some(Told::Synced) => self.synced.give(),
                None => self.filled.notified().await,
            }
        }
    }
}

/// Panics when one of the tasks panics; never returns otherwise.
pub(crate) async fn panicked(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
    std::future::pending().await
}
