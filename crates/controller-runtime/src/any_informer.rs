use coracle_informer::SharedInformer;
use coracle_meta::{ApiObject, GroupVersionResource, parse_resource_version};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// An informer that a controller reads, its type forgotten.
pub(crate) trait AnyInformer: Send + Sync {
    fn resource(&self) -> &GroupVersionResource;

    /// Up to which revision the cache holds everything; 0 before the first list.
    fn revision(&self) -> i64;

    /// Waits until the first list is in the cache.
    fn synced(&self) -> BoxFuture<'_, ()>;

    /// Waits until the cache holds everything up to `revision`.
    fn reached(&self, revision: i64) -> BoxFuture<'_, ()>;
}

impl<T: ApiObject> AnyInformer for SharedInformer<T> {
    fn resource(&self) -> &GroupVersionResource {
        self.resource()
    }

    fn revision(&self) -> i64 {
        parse_resource_version(&self.version()).unwrap_or(0)
    }

    fn synced(&self) -> BoxFuture<'_, ()> {
        self.synced().boxed()
    }

    fn reached(&self, revision: i64) -> BoxFuture<'_, ()> {
        self.reached(revision).boxed()
    }
}
