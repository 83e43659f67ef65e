use coracle_informer::SharedInformer;
use coracle_meta::{ApiObject, GroupVersionResource};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// An informer that a controller reads, its type forgotten.
pub(crate) trait Cache: Send + Sync {
    fn resource(&self) -> &GroupVersionResource;

    /// Up to which revision the cache holds everything; 0 before the first list.
    fn revision(&self) -> u64;

    /// Waits until the first list is in the cache.
    fn synced(&self) -> BoxFuture<'_, ()>;

    /// Waits until the cache holds everything up to `revision`.
    fn reached(&self, revision: u64) -> BoxFuture<'_, ()>;
}

impl<T: ApiObject> Cache for SharedInformer<T> {
    fn resource(&self) -> &GroupVersionResource {
        self.resource()
    }

    fn revision(&self) -> u64 {
        self.version().parse().unwrap_or(0)
    }

    fn synced(&self) -> BoxFuture<'_, ()> {
        self.synced().boxed()
    }

    fn reached(&self, revision: u64) -> BoxFuture<'_, ()> {
        self.reached(revision).boxed()
    }
}
