use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Random;
use coracle_client::{AnyApi, AnyWatch, Error, ListParams, VersionMatch, WatchParams};
use coracle_journal::EntryId;
use coracle_meta::{AnyObject, ObjectKey, Status, WatchEvent};
use futures_util::future::{Either, select};
use tokio::time::{Instant, timeout_at};

use crate::backoff::Backoff;
use crate::reflector_store::ReflectorStore;
use crate::{DeltaType, Records};

/// The requested duration of a watch, with a jitter of up to 100 %, so that watches do not all end at the same time.
///
/// In Kubernetes: `defaultMinWatchTimeout`.
const WATCH_TIMEOUT: Duration = Duration::from_secs(300);
/// How much longer a server may keep a watch open before it is considered broken.
const WATCH_GRACE: Duration = Duration::from_secs(30);
/// A watch that ends sooner without any event indicates a problem.
const VERY_SHORT: Duration = Duration::from_secs(1);

/// Which objects of a resource an informer caches.
///
/// ```
/// # use coracle::api::core_v1::ServiceAccount;
/// # use coracle::journal::Recorder;
/// # use coracle::runtime::informer::{InformerFactory, Selection};
/// # coracle::run_virtual(1, async |cluster| {
/// # let factory = InformerFactory::new(&cluster.api_client(), cluster.ambient(), Recorder::off(), "program");
/// let here = Selection { namespace: "default".to_owned(), ..Selection::default() };
/// let accounts = factory.selected::<ServiceAccount>(here);
/// tokio::spawn(async move { factory.run().await });
/// tokio::time::sleep(std::time::Duration::from_secs(1)).await;
/// assert_eq!(accounts.lister().len(), 1);
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// The namespace; empty for all.
    pub namespace: String,
    /// The label selector; empty for all.
    pub labels: String,
    /// The field selector (`spec.nodeName=node-1`); empty for all.
    pub fields: String,
}

/// Lists a resource, watches it from there, and puts all changes into a [`ReflectorStore`]; forever.
///
/// ```text
/// list (as a stream if the server can) --> watch from that version --ended--> watch from the last version seen
///          ^------------- version gone, or an error: after a back-off ------------/
/// ```
/// In Kubernetes: `cache.Reflector`. Unlike Kubernetes: after any transport error the watch is resumed from the last
/// version, because there are several transports here.
pub(crate) struct Reflector {
    api: AnyApi,
    selection: Selection,
    random: Random,
    records: Records,
}

impl fmt::Debug for Reflector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector").field("selection", &self.selection).finish_non_exhaustive()
    }
}

/// The position of a reflector.
#[derive(Debug, Default)]
struct Position {
    /// The version of the last list or event; empty before the first.
    version: String,
    /// Whether the server reported that it does not have that version, so that only the latest is possible.
    unavailable: bool,
}

impl Position {
    fn reach(&mut self, version: &str) {
        version.clone_into(&mut self.version);
        self.unavailable = false;
    }

    /// The version where a stream starts; `None` for the latest.
    fn of_stream(&self) -> Option<String> {
        (!self.unavailable && !self.version.is_empty()).then(|| self.version.clone())
    }

    /// The version that a list must reach; `None` for the latest, `0` for any.
    fn of_list(&self) -> Option<String> {
        match (self.unavailable, self.version.as_str()) {
            (true, _) => None,
            (false, "") => Some("0".to_owned()),
            (false, version) => Some(version.to_owned()),
        }
    }
}

/// Why a reflector lists or watches again, with its entry in the event log.
#[derive(Debug)]
struct Why {
    text: String,
    cause: Option<EntryId>,
}

/// An open watch, and its deadline.
struct OpenWatch {
    watch: AnyWatch,
    /// The entry of its opening in the event log.
    entry: Option<EntryId>,
    opened: Instant,
    deadline: Instant,
}

/// How a watch ended.
enum Ended {
    /// The server or the transport closed it; it can be resumed.
    Closed,
    /// It closed at once without an event.
    VeryShort,
    /// The server returned an error.
    Refused(Status),
}

impl Reflector {
    pub(crate) fn new(api: &AnyApi, selection: Selection, random: Random, records: Records) -> Self {
        let api = api.clone().within(&selection.namespace).without_managed_fields();
        Self { api, selection, random, records }
    }

    /// Runs until the future is dropped.
    pub(crate) async fn run(&self, store: &ReflectorStore) {
        let mut backoff = Backoff::new(self.random.split("backoff"));
        let mut position = Position::default();
        let mut why = Why { text: "start".to_owned(), cause: None };
        loop {
            why = self.list_and_watch(&mut position, store, &mut backoff, &why).await;
            backoff.wait().await;
        }
    }

    /// Lists once, then watches for as long as watches can be resumed. Returns why it must list again.
    async fn list_and_watch(
        &self,
        position: &mut Position,
        store: &ReflectorStore,
        backoff: &mut Backoff,
        why: &Why,
    ) -> Why {
        let mut cause = why.cause;
        let mut open = match self.list_as_stream(position, store, backoff, why).await {
            Ok(watch) => Some(watch),
            // A server that cannot stream its list supports plain lists.
            Err(_) => match self.list(position, store, why).await {
                Ok(()) => None,
                Err(error) => return Why { text: reason(&error), cause },
            },
        };
        loop {
            let mut watch = match open.take() {
                Some(watch) => watch,
                None => match self.watch(position.version.clone(), cause).await {
                    Ok(watch) => watch,
                    Err(error) if is_retriable(&error) => {
                        backoff.wait().await;
                        continue;
                    }
                    Err(error) => return Why { text: reason(&error), cause },
                },
            };
            let ended = self.follow(&mut watch, position, store).await;
            cause = self.records.ended(watch.watch.audit_id()).or(watch.entry);
            match ended {
                Ended::Closed => {}
                Ended::Refused(status) if status.code == 429 => backoff.wait().await,
                Ended::VeryShort => return Why { text: "a watch ended at once".to_owned(), cause },
                Ended::Refused(status) => return Why { text: status_reason(&status), cause },
            }
        }
    }

    /// Reads the list as the initial events of a watch, which then continues as a watch.
    ///
    /// In Kubernetes: `Reflector.watchList`.
    async fn list_as_stream(
        &self,
        position: &mut Position,
        store: &ReflectorStore,
        backoff: &mut Backoff,
        why: &Why,
    ) -> Result<OpenWatch, Error> {
        loop {
            let error = match self.try_list_as_stream(position, store, why).await {
                Ok(watch) => return Ok(watch),
                Err(error) => error,
            };
            if is_retriable(&error) {
                backoff.wait().await;
            } else if is_unavailable(&error) && !position.unavailable {
                position.unavailable = true;
            } else {
                return Err(error);
            }
        }
    }

    async fn try_list_as_stream(
        &self,
        position: &mut Position,
        store: &ReflectorStore,
        why: &Why,
    ) -> Result<OpenWatch, Error> {
        let mut open = self.open(position.of_stream(), true, why.cause).await?;
        let mut objects: BTreeMap<ObjectKey, Arc<dyn AnyObject>> = BTreeMap::new();
        loop {
            match open.next().await? {
                Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    objects.insert(object.object_key(), object);
                }
                Some(WatchEvent::Deleted(object)) => drop(objects.remove(&object.object_key())),
                Some(WatchEvent::Bookmark { resource_version, initial_events_end: true }) => {
                    let cause = self.records.listed(&resource_version, objects.len(), "stream", &why.text, open.entry);
                    store.replace(objects.into_values().collect(), &resource_version, cause);
                    position.reach(&resource_version);
                    return Ok(open);
                }
                Some(WatchEvent::Bookmark { .. }) => {}
                Some(WatchEvent::Error(status)) => return Err(status.into()),
                None => {
                    let why = "the server ended a streaming list before its end";
                    return Err(Error::Request { why: why.to_owned() });
                }
            }
        }
    }

    async fn list(&self, position: &mut Position, store: &ReflectorStore, why: &Why) -> Result<(), Error> {
        let mut listed = self.api.list_all(&self.list_params(position)).await;
        if listed.as_ref().is_err_and(is_unavailable) {
            position.unavailable = true;
            listed = self.api.list_all(&self.list_params(position)).await;
        }
        let listed = listed?;
        let version = listed.metadata.resource_version;
        let cause = self.records.listed(&version, listed.items.len(), "list", &why.text, why.cause);
        store.replace(listed.items, &version, cause);
        position.reach(&version);
        Ok(())
    }

    fn list_params(&self, position: &Position) -> ListParams {
        let resource_version = position.of_list();
        let exact = resource_version.as_deref().is_some_and(|version| version != "0");
        ListParams {
            labels: self.selection.labels.clone(),
            fields: self.selection.fields.clone(),
            version_match: exact.then_some(VersionMatch::NotOlderThan),
            resource_version,
            ..ListParams::default()
        }
    }

    async fn watch(&self, version: String, cause: Option<EntryId>) -> Result<OpenWatch, Error> {
        self.open(Some(version), false, cause).await
    }

    async fn open(
        &self,
        version: Option<String>,
        initial_events: bool,
        cause: Option<EntryId>,
    ) -> Result<OpenWatch, Error> {
        let timeout = WATCH_TIMEOUT.mul_f64(1.0 + self.random.fraction());
        let params = WatchParams {
            labels: self.selection.labels.clone(),
            fields: self.selection.fields.clone(),
            resource_version: version,
            bookmarks: true,
            initial_events,
            timeout_seconds: u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX),
        };
        let entry = self.records.watching(params.resource_version.as_deref().unwrap_or(""), cause);
        let opened = Instant::now();
        let mut watch = self.api.watch(&params).await?;
        watch.last();
        Ok(OpenWatch { watch, entry, opened, deadline: opened + timeout + WATCH_GRACE })
    }

    /// Puts a watch's events into the store until the watch ends.
    async fn follow(&self, open: &mut OpenWatch, position: &mut Position, store: &ReflectorStore) -> Ended {
        let mut events = 0_usize;
        // A broken stream is resumed like one that ended: no event was skipped.
        while let Ok(Some(event)) = self.next(open, position, store).await {
            events += 1;
            let (delta_type, object) = match event {
                WatchEvent::Added(object) => (DeltaType::Added, object),
                WatchEvent::Modified(object) => (DeltaType::Updated, object),
                WatchEvent::Deleted(object) => (DeltaType::Deleted, object),
                WatchEvent::Bookmark { resource_version, .. } => {
                    position.reach(&resource_version);
                    store.bookmark(&resource_version);
                    continue;
                }
                WatchEvent::Error(status) => return Ended::Refused(status),
            };
            position.reach(object.resource_version());
            let causes = self.records.sent(open.watch.audit_id(), object.as_ref());
            store.push(delta_type, object, &causes);
        }
        if let Some(version) = open.watch.progress().await {
            position.reach(&version);
        }
        match events {
            0 if open.opened.elapsed() < VERY_SHORT => Ended::VeryShort,
            _ => Ended::Closed,
        }
    }

    /// Returns the next event; meanwhile it answers waits for a version with the server's current one.
    async fn next(
        &self,
        open: &mut OpenWatch,
        position: &mut Position,
        store: &ReflectorStore,
    ) -> Result<Option<WatchEvent<Arc<dyn AnyObject>>>, Error> {
        if !open.watch.is_local() {
            // Over a network, bookmarks report the version.
            return open.next().await;
        }
        loop {
            match select(pin!(open.next()), pin!(store.awaited.notified())).await {
                Either::Left((event, _)) => return event,
                Either::Right(_) => {}
            }
            if let Some(version) = open.watch.progress().await {
                position.reach(&version);
                store.bookmark(&version);
            }
        }
    }
}

impl OpenWatch {
    /// The next event; `None` at the end, and if the server has exceeded the deadline.
    async fn next(&mut self) -> Result<Option<WatchEvent<Arc<dyn AnyObject>>>, Error> {
        // A local watch ends with the server, so it needs no deadline.
        if self.watch.is_local() {
            self.watch.next().await
        } else {
            timeout_at(self.deadline, self.watch.next()).await.unwrap_or(Ok(None))
        }
    }
}

/// Whether a retry from the same version may succeed. In Kubernetes: `isWatchErrorRetriable`.
fn is_retriable(error: &Error) -> bool {
    matches!(error, Error::Transport { .. }) || error.status().is_some_and(|status| status.code == 429)
}

/// Whether the server does not have the version any more, or not yet.
fn is_unavailable(error: &Error) -> bool {
    error.is_expired() || error.status().is_some_and(|status| status.has_cause("ResourceVersionTooLarge"))
}

fn reason(error: &Error) -> String {
    error.status().map_or_else(|| error.to_string(), status_reason)
}

fn status_reason(status: &Status) -> String {
    if status.reason.is_empty() { status.message.clone() } else { status.reason.clone() }
}
