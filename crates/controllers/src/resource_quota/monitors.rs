//! A cache of every countable kind; its changes queue quotas.

use std::collections::BTreeMap;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{PersistentVolumeClaim, Pod, ResourceQuota, Service};
use coracle_api::pod_resources::Amounts;
use coracle_api::quota_usage;
use coracle_api::resource_v1::ResourceClaim;
use coracle_client::ApiResource;
use coracle_controller_runtime::Process;
use coracle_informer::{AnyInformer, Lister, Notification};
use coracle_journal::EntryId;
use coracle_meta::{GroupResource, GroupVersionResource, ObjectKey, Quantity, Resource, Scope};
use coracle_workqueue::WorkQueue;
use parking_lot::Mutex;
use serde_json::Value;

use super::{changes, decide};

/// The counted objects.
pub(super) struct Tracked {
    /// Kinds whose objects are measured; for all others only the number of objects counts.
    measured: Vec<(GroupResource, AnyInformer, Box<Objects>)>,
    counted: Mutex<BTreeMap<GroupVersionResource, AnyInformer>>,
}

/// The objects of a namespace.
type Objects = dyn Fn(&str) -> Vec<Value> + Send + Sync;

impl Tracked {
    pub(super) fn new(process: &Process) -> Self {
        let measured = vec![
            measured::<Pod>(process),
            measured::<Service>(process),
            measured::<PersistentVolumeClaim>(process),
            measured::<ResourceClaim>(process),
        ];
        Self { measured, counted: Mutex::default() }
    }

    /// The usage of a quota, and the name of a kind that cannot be counted yet.
    pub(super) fn count(&self, quota: &ResourceQuota, now: Timestamp) -> (Amounts, Option<String>) {
        let namespace = quota.metadata.namespace.as_deref().unwrap_or_default();
        let (mut sums, mut unknown) = (Amounts::new(), None);
        let scopes = serde_json::json!({"spec": {
            "scopes": quota.spec.scopes,
            "scopeSelector": quota.spec.scope_selector,
        }});
        for (resource, informer, objects) in &self.measured {
            let mut sum = decide::nothing_of(resource, quota);
            if sum.is_empty() {
                continue;
            }
            if !informer.has_synced() {
                unknown = Some(resource.to_string());
                continue;
            }
            for object in objects(namespace) {
                if quota_usage::is_in_scope(resource, &object, &scopes) {
                    decide::count_in(&mut sum, &quota_usage::usage(resource, &object, now));
                }
            }
            sums.append(&mut sum);
        }
        // Objects of other kinds match no scope.
        let has_scopes = !quota.spec.scopes.is_empty() || quota.spec.scope_selector.is_some();
        for (resource, informer) in self.counted.lock().iter() {
            let resource = resource.group_resource();
            let names = decide::nothing_of(&resource, quota);
            if !names.is_empty() && !informer.has_synced() {
                unknown = Some(resource.to_string());
                continue;
            }
            let count = if names.is_empty() || has_scopes { 0 } else { informer.count(namespace) };
            let count = Quantity::of(i64::try_from(count).unwrap_or(i64::MAX));
            sums.extend(names.into_keys().map(|name| (name, count)));
        }
        (sums, unknown)
    }
}

fn measured<K: Resource>(process: &Process) -> (GroupResource, AnyInformer, Box<Objects>) {
    let informer = process.informers.informer::<K>();
    let lister: Lister<K> = informer.lister();
    let objects = move |namespace: &str| {
        let objects = lister.list_namespace(namespace);
        objects.iter().filter_map(|object| serde_json::to_value(object.as_ref()).ok()).collect()
    };
    (K::resource().group_resource(), informer.any().clone(), Box::new(objects))
}

/// Watches the countable kinds.
pub(super) struct Monitors {
    process: Process,
    actor: String,
    tracked: std::sync::Arc<Tracked>,
    quotas: Lister<ResourceQuota>,
    queue: WorkQueue<ObjectKey>,
}

impl Monitors {
    pub(super) fn new(
        process: &Process,
        name: &str,
        tracked: std::sync::Arc<Tracked>,
        quotas: Lister<ResourceQuota>,
        queue: WorkQueue<ObjectKey>,
    ) -> Self {
        let monitors = Self { process: process.clone(), actor: process.actor(name), tracked, quotas, queue };
        let clock = process.ambient.clock.clone();
        monitors.watch::<Pod>(move |old, new| changes::of_pod(old, new, clock.now()));
        monitors.watch::<Service>(changes::of_service);
        monitors.watch::<PersistentVolumeClaim>(changes::of_claim);
        monitors.watch::<ResourceClaim>(|_, _| false);
        monitors
    }

    /// Waits until the caches are synced.
    pub(super) async fn synced(&self) {
        let informers: Vec<_> = self.tracked.counted.lock().values().cloned().collect();
        for informer in informers.iter().chain(self.tracked.measured.iter().map(|(_, informer, _)| informer)) {
            informer.synced().await;
        }
    }

    /// Watches the served kinds, and stops watching the others.
    pub(super) fn update(&mut self, served: &[ApiResource]) {
        let mut before = std::mem::take(&mut *self.tracked.counted.lock());
        let mut now = BTreeMap::new();
        for found in served.iter().filter(|found| is_counted(found)) {
            let resource = &found.resource;
            if self.tracked.measured.iter().any(|(measured, ..)| *measured == resource.group_resource()) {
                continue;
            }
            // An informer that another user has stopped is started again.
            let known = before.remove(resource).filter(|informer| !informer.is_stopped());
            now.insert(resource.clone(), known.unwrap_or_else(|| self.count(resource)));
        }
        for gone in before.keys() {
            self.process.informers.forget(gone);
        }
        *self.tracked.counted.lock() = now;
    }

    /// Starts to count the objects of a resource.
    fn count(&self, resource: &GroupVersionResource) -> AnyInformer {
        let informer = self.process.informers.any(resource);
        let recount = self.recount(resource.group_resource());
        informer.add_handler(&self.actor, move |notification, causes| {
            if let Notification::Deleted { object, .. } = notification {
                recount(&object.object_key().namespace, causes);
            }
        });
        informer
    }

    /// Watches measured objects; `matters` decides which changes concern quotas.
    fn watch<K: Resource>(&self, matters: impl Fn(&K, &K) -> bool + Send + 'static) {
        let recount = self.recount(K::resource().group_resource());
        self.process.informers.informer::<K>().add_handler(&self.actor, move |notification, causes| {
            let concerned = match notification {
                Notification::Added { .. } => false,
                Notification::Updated { old, new } => matters(old, new),
                Notification::Deleted { .. } => true,
            };
            if concerned {
                recount(&notification.object().key().namespace, causes);
            }
        });
    }

    /// Queues the quotas of a namespace that concern a resource.
    fn recount(&self, resource: GroupResource) -> impl Fn(&str, &[EntryId]) + Send + 'static {
        let (quotas, queue) = (self.quotas.clone(), self.queue.clone());
        move |namespace, causes| {
            for quota in quotas.list_namespace(namespace) {
                if quota.status.hard.keys().any(|name| quota_usage::tracks(&resource, name)) {
                    queue.add(quota.key(), causes);
                }
            }
        }
    }
}

/// In Kubernetes: `GetQuotableResources`, without the kinds ignored by default: events.
fn is_counted(found: &ApiResource) -> bool {
    found.preferred
        && found.scope == Scope::Namespaced
        && found.resource.resource != "events"
        && found.supports(&["create", "list", "watch", "delete"])
}
