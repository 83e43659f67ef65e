use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_storage::Stored;
use futures_util::future::{select, select_all};
use parking_lot::Mutex;

use crate::{ListOptions, Registry, Request, Verb};

/// The delay before a followed value is computed again after an error.
const RETRY: Duration = Duration::from_secs(1);

/// A value that is computed from the objects of some resources, and computed again after they change.
///
/// ```text
/// objects of the resources --Lists--> make (pure) --> current: up to date, for a request that needs it
///                                                 --> follow: runs an action after each change of the value
///                                                 --> latest: the last computed value, without waiting
/// ```
/// In Kubernetes: an informer's lister with an index on top of it, implemented separately for each use; there, such values
/// lag.
pub struct Derived<T> {
    reads: Reads,
    make: Make<T>,
    made: ArcSwap<Made<T>>,
    /// The last lists, which requests that compute the value at the same time share.
    read: Mutex<Lists>,
    retry: Duration,
}

/// The resources that a value is computed from, given the `Lists` so far; called until it returns no more resources.
type Reads = fn(&Lists) -> Vec<GroupVersionResource>;

/// Computes a value from the lists and the previous value, so that unchanged lists need no work.
type Make<T> = fn(&Lists, &T) -> T;

struct Made<T> {
    lists: Lists,
    value: Arc<T>,
}

/// All objects of some resources.
#[derive(Clone, Default)]
pub struct Lists {
    by_resource: BTreeMap<GroupVersionResource, AllObjects>,
}

#[derive(Clone, Default)]
struct AllObjects {
    /// When an object changed last; 0 if the kind is not served.
    last_change: i64,
    objects: Arc<[Stored]>,
    /// The keys of the values that cannot be read.
    unreadable: Arc<[String]>,
    /// Whether the previous value was computed from other objects.
    is_changed: bool,
}

impl Lists {
    /// The objects of a resource; empty if it was not read, or is not served.
    pub fn of<'a>(&'a self, resource: &GroupVersionResource) -> impl Iterator<Item = Arc<Object>> + use<'a> {
        self.by_resource.get(resource).into_iter().flat_map(|all| all.objects.iter().map(Stored::object))
    }

    /// The keys of the values of a resource that cannot be decoded; the objects do not contain these values.
    pub fn unreadable(&self, resource: &GroupVersionResource) -> &[String] {
        self.by_resource.get(resource).map_or(&[], |all| &all.unreadable)
    }

    /// The values of a resource, if the previous value was computed from other objects.
    pub(crate) fn changed_values(&self, resource: &GroupVersionResource) -> Option<&[Stored]> {
        let all = self.by_resource.get(resource).filter(|all| all.is_changed)?;
        Some(&all.objects)
    }
}

impl<T> std::fmt::Debug for Derived<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Derived").field("from", &self.made.load().lists.by_resource.keys()).finish()
    }
}

impl<T: Default + Send + Sync + 'static> Derived<T> {
    /// A value that `make` computes from the objects of the resources that `reads` returns. Its initial value is the
    /// default.
    pub fn new(reads: Reads, make: Make<T>) -> Self {
        let made = Made { lists: Lists::default(), value: Arc::default() };
        Self { reads, make, made: ArcSwap::from_pointee(made), read: Mutex::default(), retry: RETRY }
    }

    /// The same value, with the delay `retry` after an error instead of one second.
    #[must_use]
    pub fn retried_after(self, retry: Duration) -> Self {
        Self { retry, ..self }
    }

    /// The last computed value.
    pub fn latest(&self) -> Arc<T> {
        Arc::clone(&self.made.load().value)
    }

    /// The up-to-date value: it includes every write that was finished before the call.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn current(&self, registry: &Registry) -> Result<Arc<T>, Status> {
        Ok(Arc::clone(&self.made(registry).await?.value))
    }

    /// The up-to-date value, and its lists.
    async fn made(&self, registry: &Registry) -> Result<Arc<Made<T>>, Status> {
        let before = self.made.load_full();
        if before.lists.is_current(registry).await? {
            return Ok(before);
        }
        let lists = self.read(registry, &before.lists).await?;
        // Another task may have computed the value for the same change in the meantime.
        let meanwhile = self.made.load_full();
        if meanwhile.lists.are_as_of(&lists) {
            return Ok(meanwhile);
        }
        let value = Arc::new((self.make)(&lists, &before.value));
        let made = Arc::new(Made { lists, value });
        // Several tasks may compute the value at once, and the last one to start may finish first: a value that is
        // newer than `before` stays.
        self.made.compare_and_swap(&before, Arc::clone(&made));
        Ok(made)
    }

    /// Runs `act` once with the up-to-date value.
    ///
    /// # Errors
    /// The error of the store or of `act`.
    pub async fn sync<F>(&self, registry: &Registry, act: impl FnMut(Registry, Arc<T>) -> F) -> Result<(), Status>
    where
        F: Future<Output = Result<(), Status>>,
    {
        self.acted(registry, act).await.map(|_| ())
    }

    async fn acted<F>(
        &self,
        registry: &Registry,
        mut act: impl FnMut(Registry, Arc<T>) -> F,
    ) -> Result<Arc<Made<T>>, Status>
    where
        F: Future<Output = Result<(), Status>>,
    {
        let made = self.made(registry).await?;
        act(registry.clone(), Arc::clone(&made.value)).await?;
        Ok(made)
    }

    /// Runs `act` with the up-to-date value, and again after each change of the value and after each error, until the
    /// future is dropped.
    pub async fn follow<F>(&self, registry: &Registry, mut act: impl FnMut(Registry, Arc<T>) -> F) -> Infallible
    where
        F: Future<Output = Result<(), Status>>,
    {
        loop {
            // Read before the value is computed, so that no later change is missed.
            let kinds = registry.kinds().version;
            match self.acted(registry, &mut act).await {
                Ok(made) => {
                    select(pin!(made.lists.changed_after(registry)), pin!(registry.kinds_changed(kinds))).await;
                }
                Err(_) => tokio::time::sleep(self.retry).await,
            }
        }
    }

    async fn read(&self, registry: &Registry, before: &Lists) -> Result<Lists, Status> {
        let mut lists = Lists::default();
        loop {
            let mut reads = (self.reads)(&lists);
            reads.retain(|resource| !lists.by_resource.contains_key(resource));
            if reads.is_empty() {
                return Ok(lists);
            }
            for resource in reads {
                let before = before.by_resource.get(&resource);
                // Before the list: one that is newer than it says is read again, and none is taken for newer than it is.
                let last_change = last_change(registry, &resource).await?;
                let known = self.read.lock().by_resource.get(&resource).cloned();
                let all = match known.filter(|known| known.last_change == last_change) {
                    Some(known) => known,
                    None => {
                        let all = AllObjects::read(registry, &resource, last_change).await?;
                        self.read.lock().by_resource.insert(resource.clone(), all.clone());
                        all
                    }
                };
                let is_changed = before.is_none_or(|before| before.last_change != last_change);
                lists.by_resource.insert(resource, AllObjects { is_changed, ..all });
            }
        }
    }
}

impl AllObjects {
    /// The objects of a resource, which last changed at `last_change` or later.
    async fn read(registry: &Registry, resource: &GroupVersionResource, last_change: i64) -> Result<Self, Status> {
        if last_change == 0 {
            return Ok(Self { is_changed: true, ..Self::default() });
        }
        let request = Request::new(Verb::List, resource.clone(), registry.ambient().clock.now());
        let at_hand = ListOptions { resource_version: "0".to_owned(), ..ListOptions::default() };
        let list = registry.list_readable(&request, &at_hand).await?;
        let unreadable = list.unreadable.into();
        Ok(Self { last_change, objects: list.items.into(), unreadable, is_changed: true })
    }
}

impl Lists {
    /// Whether anything was read, and nothing of it has changed since.
    async fn is_current(&self, registry: &Registry) -> Result<bool, Status> {
        for (resource, all) in &self.by_resource {
            if last_change(registry, resource).await? != all.last_change {
                return Ok(false);
            }
        }
        Ok(!self.by_resource.is_empty())
    }

    /// Whether both were read of the same resources, at the same changes.
    fn are_as_of(&self, other: &Self) -> bool {
        self.changes().eq(other.changes())
    }

    /// When each resource changed last.
    fn changes(&self) -> impl Iterator<Item = (&GroupVersionResource, i64)> {
        self.by_resource.iter().map(|(resource, all)| (resource, all.last_change))
    }

    /// Waits until something that was read has changed.
    async fn changed_after(&self, registry: &Registry) {
        let waits = self.by_resource.iter().filter_map(|(resource, all)| {
            let kind = registry.kind(resource)?;
            Some(Box::pin(async move { registry.storage().changed_after(&kind.store, all.last_change).await }))
        });
        let waits: Vec<_> = waits.collect();
        if waits.is_empty() {
            return std::future::pending().await;
        }
        select_all(waits).await;
    }
}

/// When an object of a resource changed last, as of now; 0 if the kind is not served.
async fn last_change(registry: &Registry, resource: &GroupVersionResource) -> Result<i64, Status> {
    match registry.kind(resource) {
        Some(kind) => registry.storage().last_change(&kind.store).await,
        None => Ok(0),
    }
}
