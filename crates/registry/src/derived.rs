use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_storage::Stored;
use futures_util::future::{select, select_all};

use crate::{ListOptions, Registry, Request, Verb};

/// How long to wait after an error before a value that is followed is made again.
const RETRY: Duration = Duration::from_secs(1);

/// A value made from the objects of some resources, and made again when they have changed.
///
/// ```text
/// objects of the resources --Lists--> make (pure) --> current: as of now, for a request that needs it
///                                                 --> follow: whatever is to be done when it is another
///                                                 --> latest: as it was made last, without waiting
/// ```
/// In Kubernetes: an informer's lister with what is built on top of it, each time by other means; there, such values lag.
pub struct Derived<T> {
    reads: Reads,
    make: Make<T>,
    made: ArcSwap<Made<T>>,
    retry: Duration,
}

/// Which resources a value is made from, as far as `Lists` show: asked again until it names no more.
type Reads = fn(&Lists) -> Vec<GroupVersionResource>;

/// Makes a value; given the one before too, which is made from the lists that have not changed since.
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
    /// Whether they are others than those that the value before was made from.
    is_changed: bool,
}

impl Lists {
    /// The objects of a resource; none if it was not read, or is not served.
    pub fn of<'a>(&'a self, resource: &GroupVersionResource) -> impl Iterator<Item = Arc<Object>> + use<'a> {
        self.by_resource.get(resource).into_iter().flat_map(|all| all.objects.iter().map(Stored::object))
    }

    /// The keys of the values of a resource that cannot be read, and are none of its objects here.
    pub fn unreadable(&self, resource: &GroupVersionResource) -> &[String] {
        self.by_resource.get(resource).map_or(&[], |all| &all.unreadable)
    }

    /// The objects of a resource, if the value before was made from others.
    pub fn changed<'a>(
        &'a self,
        resource: &GroupVersionResource,
    ) -> Option<impl Iterator<Item = Arc<Object>> + use<'a>> {
        let is_changed = self.by_resource.get(resource).is_some_and(|all| all.is_changed);
        is_changed.then(|| self.of(resource))
    }
}

impl<T> std::fmt::Debug for Derived<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Derived").field("from", &self.made.load().lists.by_resource.keys()).finish()
    }
}

impl<T: Default + Send + Sync + 'static> Derived<T> {
    /// A value made by `make` from the objects of the resources that `reads` names. Until then it is the default.
    pub fn new(reads: Reads, make: Make<T>) -> Self {
        let made = Made { lists: Lists::default(), value: Arc::default() };
        Self { reads, make, made: ArcSwap::from_pointee(made), retry: RETRY }
    }

    /// The same value, of which an error is followed by another attempt after `retry` instead of a second.
    #[must_use]
    pub fn retried_after(self, retry: Duration) -> Self {
        Self { retry, ..self }
    }

    /// The value as it was made last.
    pub fn latest(&self) -> Arc<T> {
        Arc::clone(&self.made.load().value)
    }

    /// The value as of now: whatever was written before this is called counts.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn current(&self, registry: &Registry) -> Result<Arc<T>, Status> {
        Ok(Arc::clone(&self.made(registry).await?.value))
    }

    /// The value as of now, and what it was made from.
    async fn made(&self, registry: &Registry) -> Result<Arc<Made<T>>, Status> {
        let before = self.made.load_full();
        if before.lists.is_current(registry).await? {
            return Ok(before);
        }
        let lists = self.read(registry, &before.lists).await?;
        // Of many who were told at once that it has to be made anew, one makes it.
        let meanwhile = self.made.load_full();
        if meanwhile.lists.are_as_of(&lists) {
            return Ok(meanwhile);
        }
        let value = Arc::new((self.make)(&lists, &before.value));
        let made = Arc::new(Made { lists, value });
        // Of several who make it at once, the first to be done may have begun last: what is newer than `before` stays.
        self.made.compare_and_swap(&before, Arc::clone(&made));
        Ok(made)
    }

    /// Does what is to be done about the value as of now.
    ///
    /// # Errors
    /// What the store answers, or `act`.
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

    /// Does what is to be done about the value, and again whenever it is another or an error came between, until it is
    /// dropped.
    pub async fn follow<F>(&self, registry: &Registry, mut act: impl FnMut(Registry, Arc<T>) -> F) -> Infallible
    where
        F: Future<Output = Result<(), Status>>,
    {
        loop {
            // Before the value is made, so that no change after it is missed.
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
                let all = AllObjects::read(registry, &resource, before.by_resource.get(&resource)).await?;
                lists.by_resource.insert(resource, all);
            }
        }
    }
}

impl AllObjects {
    async fn read(registry: &Registry, resource: &GroupVersionResource, before: Option<&Self>) -> Result<Self, Status> {
        // Before the list: one that is newer than it says is read again, and none is taken for newer than it is.
        let last_change = last_change(registry, resource).await?;
        match before {
            Some(before) if before.last_change == last_change => Ok(Self { is_changed: false, ..before.clone() }),
            _ if last_change == 0 => Ok(Self { is_changed: true, ..Self::default() }),
            _ => {
                let request = Request::new(Verb::List, resource.clone(), registry.ambient().clock.now());
                let at_hand = ListOptions { resource_version: "0".to_owned(), ..ListOptions::default() };
                let list = registry.list_readable(&request, &at_hand).await?;
                let unreadable = list.unreadable.into();
                Ok(Self { last_change, objects: list.items.into(), unreadable, is_changed: true })
            }
        }
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
