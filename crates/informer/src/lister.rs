use std::marker::PhantomData;
use std::sync::Arc;

use coracle_meta::any_object::downcast;
use coracle_meta::{AnyObject, ApiObject, ObjectKey};

use crate::reads::Look;
use crate::{Indexer, reads};

/// A read-only handle of an informer's cache; cheap to clone.
///
/// The objects are shared and immutable; they may be older than the server's.
///
/// ```
/// use coracle::api::core_v1::ServiceAccount;
/// use coracle::journal::Recorder;
/// use coracle::meta::ObjectKey;
/// use coracle::runtime::informer::{InformerFactory, Lister};
///
/// coracle::run_virtual(1, async |cluster| {
///     let factory = InformerFactory::new(&cluster.api_client(), cluster.ambient(), Recorder::off(), "program");
///     let accounts: Lister<ServiceAccount> = factory.informer().lister();
///     tokio::spawn(async move { factory.run().await });
///     tokio::time::sleep(std::time::Duration::from_secs(1)).await;
///     assert!(accounts.get(&ObjectKey::new("default", "default")).is_some());
///     assert!(accounts.list_namespace("default").len() < accounts.len());
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct Lister<T> {
    indexer: Arc<Indexer>,
    resource: Arc<str>,
    _object: PhantomData<fn() -> T>,
}

impl<T> Lister<T> {
    /// A lister of this cache, which holds only objects of type `T`.
    pub(crate) fn new(indexer: Arc<Indexer>, resource: Arc<str>) -> Self {
        Self { indexer, resource, _object: PhantomData }
    }

    /// The cache; notes what is read from it.
    fn read(&self, look: Look<'_>) -> &Indexer {
        reads::note(&self.resource, &self.indexer, look);
        &self.indexer
    }
}

impl<T> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Self::new(self.indexer.clone(), self.resource.clone())
    }
}

impl<T: ApiObject> Lister<T> {
    /// One object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.read(Look::One(key)).get(key).map(downcast)
    }

    /// All objects, in the order of their keys.
    pub fn list(&self) -> Vec<Arc<T>> {
        typed(self.read(Look::All).list())
    }

    /// The objects of a namespace, in the order of their names.
    pub fn list_namespace(&self, namespace: &str) -> Vec<Arc<T>> {
        typed(self.read(Look::Namespace(namespace)).list_namespace(namespace))
    }

    /// The objects with this value in this index, in the order of their keys.
    pub fn by_index(&self, index: &str, value: &str) -> Vec<Arc<T>> {
        let found = self.read(Look::Around).by_index(index, value);
        reads::found(&self.resource, found.iter().map(|object| object.object_key()));
        typed(found)
    }

    /// The number of objects with this value in this index.
    pub fn count_by_index(&self, index: &str, value: &str) -> usize {
        self.read(Look::Around).count_by_index(index, value)
    }

    /// The values of an index, in order.
    pub fn index_values(&self, index: &str) -> Vec<String> {
        self.read(Look::Around).index_values(index)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.read(Look::Around).len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.read(Look::Around).is_empty()
    }

    /// The version up to which the cache is complete; empty before the first list.
    pub fn version(&self) -> String {
        self.indexer.version()
    }
}

fn typed<T: ApiObject>(objects: Vec<Arc<dyn AnyObject>>) -> Vec<Arc<T>> {
    objects.into_iter().map(downcast).collect()
}
