use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use coracle_ambient::{Ambient, gated};
use coracle_client::{AnyApi, Api, Client};
use coracle_journal::{EntryId, Recorder};
use coracle_meta::{AnyObject, ApiObject, GroupVersionResource, Object, PartialObject, Resource};
use futures_util::future::select;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::processor::panicked;
use crate::{AnyInformer, HandlerScope, Notification, Records, Selection, SharedInformer};

/// Provides one informer per kind (and selection), so that a process caches each object once. Clones share the
/// informers.
///
/// In Kubernetes: `informers.SharedInformerFactory`, `dynamicinformer` and `metadatainformer`.
///
/// ```
/// use coracle::api::core_v1::{Namespace, Pod};
/// use coracle::journal::Recorder;
/// use coracle::meta::{GroupVersionResource, ObjectKey};
/// use coracle::runtime::informer::InformerFactory;
///
/// coracle::run_virtual(1, async |cluster| {
///     let factory = InformerFactory::new(&cluster.api_client(), cluster.ambient(), Recorder::off(), "program");
///     let namespaces = factory.informer::<Namespace>();
///     let pods = factory.informer::<Pod>();
///     let maps = factory.dynamic(&GroupVersionResource::new("", "v1", "configmaps"));
///     let running = tokio::spawn({
///         let factory = factory.clone();
///         async move { factory.run().await }
///     });
///     factory.synced().await;
///     assert!(namespaces.lister().get(&ObjectKey::cluster("default")).is_some());
///     assert!(pods.lister().is_empty());
///     assert!(maps.has_synced());
///     running.abort();
/// })
/// .unwrap();
/// ```
#[derive(Clone)]
pub struct InformerFactory {
    inner: Arc<Inner>,
    scope: Option<HandlerScope>,
}

struct Inner {
    client: Client,
    ambient: Ambient,
    recorder: Recorder,
    actor: String,
    informers: Mutex<BTreeMap<InformerKey, Known>>,
    added: Notify,
}

/// The identity of an informer. The number distinguishes how objects are decoded.
type InformerKey = (GroupVersionResource, Selection, Decoded);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Decoded {
    Typed(TypeId),
    Dynamic,
    Metadata,
}

struct Known {
    informer: AnyInformer,
    started: bool,
}

impl fmt::Debug for InformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resources: Vec<_> =
            self.inner.informers.lock().keys().map(|(resource, ..)| resource.resource.clone()).collect();
        f.debug_struct("InformerFactory").field("actor", &self.inner.actor).field("resources", &resources).finish()
    }
}

impl InformerFactory {
    /// A factory whose informers read through `client`; `actor` is the process's name in the event log.
    pub fn new(client: &Client, ambient: &Ambient, recorder: Recorder, actor: &str) -> Self {
        Self {
            inner: Arc::new(Inner {
                client: client.clone(),
                ambient: ambient.split("informers"),
                recorder,
                actor: actor.to_owned(),
                informers: Mutex::default(),
                added: Notify::new(),
            }),
            scope: None,
        }
    }

    /// The same factory. All handlers that are added through it are in the scope, too.
    #[must_use]
    pub fn within(&self, scope: &HandlerScope) -> Self {
        Self { inner: Arc::clone(&self.inner), scope: Some(scope.clone()) }
    }

    /// The informer of all objects of a kind.
    pub fn informer<K: Resource>(&self) -> SharedInformer<K> {
        self.selected(Selection::default())
    }

    /// The informer of selected objects of a kind.
    pub fn selected<K: Resource>(&self, selection: Selection) -> SharedInformer<K> {
        self.get((K::resource(), selection, Decoded::Typed(TypeId::of::<K>())), &Api::of(&self.inner.client))
    }

    /// The informer of a resource without a Rust type.
    pub fn dynamic(&self, resource: &GroupVersionResource) -> SharedInformer<Object> {
        let api = Api::dynamic(&self.inner.client, resource.clone());
        self.get((resource.clone(), Selection::default(), Decoded::Dynamic), &api)
    }

    /// The informer of a resource's metadata.
    pub fn metadata(&self, resource: &GroupVersionResource) -> SharedInformer<PartialObject> {
        let api = Api::metadata(&self.inner.client, resource.clone());
        self.get((resource.clone(), Selection::default(), Decoded::Metadata), &api)
    }

    /// An existing informer of all objects of a resource; without one, an informer of their metadata.
    pub fn any(&self, resource: &GroupVersionResource) -> AnyInformer {
        let known = self.inner.informers.lock().iter().find_map(|((known, selection, _), informer)| {
            let is_it = known == resource && *selection == Selection::default();
            is_it.then(|| informer.informer.within(self.scope.as_ref()))
        });
        known.unwrap_or_else(|| self.metadata(resource).any().clone())
    }

    /// Adds a handler of all objects of a resource that sees only their metadata. It uses an existing informer if
    /// possible, so that nothing is cached twice.
    pub fn on_metadata(
        &self,
        resource: &GroupVersionResource,
        actor: &str,
        handler: impl FnMut(&Notification<dyn AnyObject>, &[EntryId]) + Send + 'static,
    ) {
        self.any(resource).add_handler(actor, handler);
    }

    fn get<T: ApiObject>(&self, key: InformerKey, api: &Api<T>) -> SharedInformer<T> {
        // The key determines the type of the decoded objects.
        SharedInformer::over(self.get_any(key, api.any()))
    }

    fn get_any(&self, key: InformerKey, api: &AnyApi) -> AnyInformer {
        let mut informers = self.inner.informers.lock();
        if let Some(known) = informers.get(&key) {
            return known.informer.within(self.scope.as_ref());
        }
        let (resource, selection, _) = &key;
        let name = format!("{resource:?}{selection:?}");
        let records = Records::new(self.inner.recorder.clone(), &self.inner.actor, resource);
        let random = self.inner.ambient.random.split(&name);
        let informer = AnyInformer::new(api, selection.clone(), random, records);
        self.inner.ambient.work.add(informer.holder());
        informers.insert(key, Known { informer: informer.clone(), started: false });
        drop(informers);
        self.inner.added.notify_one();
        informer.within(self.scope.as_ref())
    }

    /// Stops and removes the informers of a resource that is no longer served.
    pub fn forget(&self, resource: &GroupVersionResource) {
        self.inner.informers.lock().retain(|(known, ..), informer| {
            let keep = known != resource;
            if !keep {
                informer.informer.stop();
            }
            keep
        });
    }

    /// Waits until all informers that have been requested so far are synced.
    pub async fn synced(&self) {
        let informers: Vec<_> = self.inner.informers.lock().values().map(|known| known.informer.clone()).collect();
        for informer in informers {
            informer.synced().await;
        }
    }

    /// Runs the informers, including those that are requested later, until the future is dropped. Must be called only
    /// once.
    ///
    /// # Panics
    /// If a handler panics.
    pub async fn run(&self) {
        let mut tasks = JoinSet::new();
        loop {
            for known in self.inner.informers.lock().values_mut().filter(|known| !known.started) {
                known.started = true;
                let informer = known.informer.clone();
                tasks.spawn(gated(async move { informer.run().await }));
            }
            select(pin!(panicked(&mut tasks)), pin!(self.inner.added.notified())).await;
        }
    }
}
