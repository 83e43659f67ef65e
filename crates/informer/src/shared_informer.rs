use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Random;
use coracle_client::Api;
use coracle_journal::EntryId;
use coracle_meta::any_object::downcast;
use coracle_meta::{AnyObject, ApiObject, GroupVersionResource};

use crate::{AnyInformer, HandlerRegistration, Lister, Notification, Records, Selection};

/// A cache of one kind that is shared within a process; clones are handles of the same informer.
///
/// Guarantees, for the selected objects:
/// - The cache follows the server: it is never ahead, and when the server is quiet it becomes equal.
/// - A handler is notified of each existing object, and then of its changes, in the order in which the cache applies
///   them. A missed deletion is delivered when a list reveals it. Changes may be skipped, but states are never
///   invented.
/// - When a handler is notified, the cache has that state or a later one.
/// - Handlers do not wait for each other.
///
/// In Kubernetes: `cache.SharedIndexInformer`.
///
/// A handler maps a change to a key; the worker of the key reads the cache:
///
/// ```
/// use coracle::api::core_v1::ConfigMap;
/// use coracle::journal::Recorder;
/// use coracle::meta::Resource;
/// use coracle::runtime::informer::InformerFactory;
/// use coracle::runtime::workqueue::WorkQueue;
/// use coracle::runtime::{Api, DeleteParams};
///
/// coracle::run_virtual(1, async |cluster| {
///     let client = cluster.api_client();
///     let factory = InformerFactory::new(&client, cluster.ambient(), Recorder::off(), "program");
///     let informer = factory.informer::<ConfigMap>();
///     let queue = WorkQueue::new("maps");
///     let keys = queue.clone();
///     informer.add_handler("program", move |notification, causes| keys.add(notification.object().key(), causes));
///     tokio::spawn(async move { factory.run().await });
///     informer.synced().await;
///
///     let mut map = ConfigMap::default();
///     map.metadata.namespace = Some("default".to_owned());
///     map.metadata.name = Some("a".to_owned());
///     let maps = Api::<ConfigMap>::of(&client);
///     maps.create(&map).await.unwrap();
///     maps.delete(&map.key(), &DeleteParams::default()).await.unwrap();
///     while let Some(work) = queue.get().await {
///         queue.done(&work.key);
///         if work.key == map.key() && informer.lister().get(&work.key).is_none() {
///             break; // created and deleted: what counts is that it is not there
///         }
///     }
/// })
/// .unwrap();
/// ```
pub struct SharedInformer<T> {
    any: AnyInformer,
    _object: PhantomData<fn() -> T>,
}

impl<T> Clone for SharedInformer<T> {
    fn clone(&self) -> Self {
        Self::over(self.any.clone())
    }
}

impl<T> fmt::Debug for SharedInformer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any.fmt(f)
    }
}

impl<T> SharedInformer<T> {
    /// An informer whose objects are decoded as `T`.
    pub(crate) fn over(any: AnyInformer) -> Self {
        Self { any, _object: PhantomData }
    }

    /// The same informer without its type.
    pub fn any(&self) -> &AnyInformer {
        &self.any
    }

    /// The resource.
    pub fn resource(&self) -> &GroupVersionResource {
        self.any.resource()
    }

    /// A handle to read the cache.
    pub fn lister(&self) -> Lister<T> {
        Lister::new(self.any.indexer(), self.resource().resource.as_str().into())
    }

    /// Whether the cache holds the first list.
    pub fn has_synced(&self) -> bool {
        self.any.has_synced()
    }

    /// Waits until the cache holds the first list.
    pub async fn synced(&self) {
        self.any.synced().await;
    }

    /// The version up to which the cache is complete; empty before the first list.
    pub fn version(&self) -> String {
        self.any.version()
    }

    /// Whether the cache is complete up to this revision.
    pub fn has_reached(&self, revision: i64) -> bool {
        self.any.has_reached(revision)
    }

    /// Waits until the cache is complete up to this revision.
    pub async fn reached(&self, revision: i64) {
        self.any.reached(revision).await;
    }

    /// Stops [`run`](Self::run).
    pub fn stop(&self) {
        self.any.stop();
    }

    /// Updates the cache and notifies the handlers, until the informer is stopped or the future is dropped. Must be
    /// called only once.
    pub async fn run(&self) {
        self.any.run().await;
    }
}

impl<T: ApiObject> SharedInformer<T> {
    /// An informer of the objects that `selection` selects; it does nothing until [`run`](Self::run) is called. Most
    /// callers use an [`InformerFactory`](crate::InformerFactory) instead.
    pub fn new(api: &Api<T>, selection: Selection, random: Random, records: Records) -> Self {
        Self::over(AnyInformer::new(api.any(), selection, random, records))
    }

    /// Adds a handler, at any time; `actor` is its name in the event log. It is first notified of all existing
    /// objects.
    pub fn add_handler(
        &self,
        actor: &str,
        mut handler: impl FnMut(&Notification<T>, &[EntryId]) + Send + 'static,
    ) -> HandlerRegistration {
        self.any.add_handler(actor, move |notification, causes| handler(&notification.map(typed), causes))
    }

    /// Adds a handler that is notified of every object again each `period`, from the cache, without a request to the
    /// server.
    ///
    /// Use it if the handler depends on state outside the API: a bucket that a user deletes by hand is created again
    /// at the next resync, though no object changed. It does not help against an outdated cache: nothing is fetched,
    /// and a resync delivers what the cache holds. The cache follows the server by itself: a broken watch is resumed.
    ///
    /// Each object is delivered as [`Notification::Updated`] with the same state twice, in no particular order; an
    /// object with a pending change is delivered only with that change. A period of zero disables resyncs, and one
    /// below a second counts as a second. In Kubernetes: `AddEventHandlerWithResyncPeriod`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::time::Duration;
    ///
    /// use coracle::api::core_v1::Namespace;
    /// use coracle::journal::Recorder;
    /// use coracle::runtime::informer::{InformerFactory, Notification};
    ///
    /// coracle::run_virtual(1, async |cluster| {
    ///     let factory = InformerFactory::new(&cluster.api_client(), cluster.ambient(), Recorder::off(), "program");
    ///     let namespaces = factory.informer::<Namespace>();
    ///     let again = Arc::new(AtomicUsize::new(0));
    ///     let counted = again.clone();
    ///     let hour = Duration::from_secs(3600);
    ///     let handler = namespaces.add_resyncing_handler("program", hour, move |notification, _| {
    ///         if let Notification::Updated { old, new } = notification {
    ///             assert!(Arc::ptr_eq(old, new), "nothing changed");
    ///             counted.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     });
    ///     tokio::spawn(async move { factory.run().await });
    ///     handler.synced().await;
    ///     let namespace_count = namespaces.lister().list().len();
    ///
    ///     tokio::time::sleep(24 * hour + hour / 2).await;
    ///     assert_eq!(again.load(Ordering::Relaxed), 24 * namespace_count);
    /// })
    /// .unwrap();
    /// ```
    pub fn add_resyncing_handler(
        &self,
        actor: &str,
        period: Duration,
        mut handler: impl FnMut(&Notification<T>, &[EntryId]) + Send + 'static,
    ) -> HandlerRegistration {
        let handler = move |notification: &Notification<dyn AnyObject>, causes: &[EntryId]| {
            handler(&notification.map(typed), causes);
        };
        self.any.add_resyncing_handler(actor, period, handler)
    }

    /// Adds an index to the cache; a second index of the same name changes nothing.
    ///
    /// ```
    /// # use coracle::api::core_v1::Namespace;
    /// # use coracle::journal::Recorder;
    /// # use coracle::runtime::informer::InformerFactory;
    /// # coracle::run_virtual(1, async |cluster| {
    /// # let factory = InformerFactory::new(&cluster.api_client(), cluster.ambient(), Recorder::off(), "program");
    /// let namespaces = factory.informer::<Namespace>();
    /// namespaces.add_index("initial", |namespace| {
    ///     let name = namespace.metadata.name.clone().unwrap_or_default();
    ///     name.chars().next().into_iter().map(String::from).collect()
    /// });
    /// tokio::spawn(async move { factory.run().await });
    /// namespaces.synced().await;
    /// assert_eq!(namespaces.lister().by_index("initial", "d").len(), 1);
    /// # }).unwrap();
    /// ```
    pub fn add_index(&self, name: &'static str, values: impl Fn(&T) -> Vec<String> + Send + Sync + 'static) {
        self.any.add_index(name, move |object| {
            let object: &dyn std::any::Any = object;
            object.downcast_ref().map(&values).unwrap_or_default()
        });
    }
}

fn typed<T: ApiObject>(object: &Arc<dyn AnyObject>) -> Arc<T> {
    downcast(object.clone())
}
