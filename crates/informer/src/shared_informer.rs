use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Random;
use coracle_client::Api;
use coracle_journal::EntryId;
use coracle_meta::any_object::{downcast, unwrap};
use coracle_meta::{AnyObject, ApiObject, GroupVersionResource};

use crate::{AnyInformer, HandlerRegistration, Lister, Notification, Records, Selection};

/// A cache of one kind that everybody in a process shares; clones are handles of the same one.
///
/// What it promises, for objects of the selection:
/// - The cache follows the server: it is never ahead, and when the server is quiet it becomes equal.
/// - A handler is told of each object that is there, and then of its changes, in the order in which the cache made
///   them; a deletion that was missed is told when a list reveals it. Changes may be skipped, states are not invented.
/// - When a handler is told, the cache is at that state or a later one.
/// - Handlers do not wait for each other.
///
/// In Kubernetes: `cache.SharedIndexInformer`.
///
/// A handler says which key is concerned; whoever works on the key looks at the cache:
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
    /// Of an informer whose objects are read as `T`.
    pub(crate) fn over(any: AnyInformer) -> Self {
        Self { any, _object: PhantomData }
    }

    /// The same informer, its type forgotten.
    pub fn any(&self) -> &AnyInformer {
        &self.any
    }

    /// Which resource this is.
    pub fn resource(&self) -> &GroupVersionResource {
        self.any.resource()
    }

    /// A handle to read the cache.
    pub fn lister(&self) -> Lister<T> {
        Lister::new(self.any.indexer(), self.resource().resource.as_str().into())
    }

    /// Whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        self.any.has_synced()
    }

    /// Waits until the first list is in the cache.
    pub async fn synced(&self) {
        self.any.synced().await;
    }

    /// Up to which version the cache holds everything; empty before the first list.
    pub fn version(&self) -> String {
        self.any.version()
    }

    /// Whether the cache holds everything up to this revision.
    pub fn has_reached(&self, revision: i64) -> bool {
        self.any.has_reached(revision)
    }

    /// Waits until the cache holds everything up to this revision.
    pub async fn reached(&self, revision: i64) {
        self.any.reached(revision).await;
    }

    /// Lets [`run`](Self::run) end.
    pub fn stop(&self) {
        self.any.stop();
    }

    /// Keeps the cache and tells the handlers, until it is stopped or dropped. To be called once.
    pub async fn run(&self) {
        self.any.run().await;
    }
}

impl<T: ApiObject> SharedInformer<T> {
    /// An informer of what `selection` selects; it does nothing until it is [`run`](Self::run). Most callers ask an
    /// [`InformerFactory`](crate::InformerFactory) instead.
    pub fn new(api: &Api<T>, selection: Selection, random: Random, records: Records) -> Self {
        Self::over(AnyInformer::new(api.any(), selection, random, records, None))
    }

    /// An informer that changes each object by `transform` before it is cached, which makes the object one of its own.
    /// In Kubernetes: `cache.TransformFunc`.
    pub fn with_transform(
        api: &Api<T>,
        selection: Selection,
        random: Random,
        records: Records,
        transform: impl Fn(&mut T) + Send + Sync + 'static,
    ) -> Self {
        let transform = move |object| -> Arc<dyn AnyObject> {
            let mut object: T = unwrap(object);
            transform(&mut object);
            Arc::new(object)
        };
        Self::over(AnyInformer::new(api.any(), selection, random, records, Some(Box::new(transform))))
    }

    /// Adds a handler, at any time; `actor` is its name in the event log. It is told first of what is there.
    pub fn add_handler(
        &self,
        actor: &str,
        mut handler: impl FnMut(&Notification<T>, &[EntryId]) + Send + 'static,
    ) -> HandlerRegistration {
        self.any.add_handler(actor, move |notification, causes| handler(&notification.map(typed), causes))
    }

    /// Adds a handler that is told of everything again each `period`, from the cache: the server is not asked.
    ///
    /// It is for what the handler depends on outside the API: a bucket that somebody deletes by hand is made again at
    /// the next resync, though no object changed. It is no remedy against a cache that fell behind: nothing is fetched,
    /// and a resync tells of what the cache holds. That follows the server by itself: a watch that breaks is resumed.
    ///
    /// Each object comes as [`Notification::Updated`] with the same state twice, in no set order; an object that is
    /// about to change anyway comes with its change alone. A period of zero is none, and one below a second is a
    /// second. In Kubernetes: `AddEventHandlerWithResyncPeriod`.
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

    /// Adds an index to the cache; a second one of the same name changes nothing.
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
