use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, GroupVersionKind, Object, ObjectKey, Status};
use coracle_registry::Registry;
use coracle_storage::{Attempt, Draft, Freshness, ListQuery, Resource, Storage, Write};
use serde_json::json;

/// After how many seconds without a renewal an API server counts as gone.
/// In Kubernetes: `DefaultEndpointReconcilerTTL`.
const TTL_SECONDS: i64 = 15;
/// The time between two renewals. In Kubernetes: `DefaultEndpointReconcilerInterval`.
pub(super) const INTERVAL: Duration = Duration::from_secs(10);

/// The API servers of a shared store, each with a lease in it. In Kubernetes: `storageLeases`.
pub(super) struct MasterLeases {
    storage: Storage,
    resource: Arc<Resource>,
}

impl MasterLeases {
    pub(super) fn new(registry: &Registry) -> Self {
        let mut resource = Resource::new(GroupResource::new("", "masterleases"), "masterleases", false);
        if let Some(root) = registry.store_root() {
            resource.root = Arc::clone(root);
        }
        Self { storage: registry.storage().clone(), resource: Arc::new(resource) }
    }

    /// The addresses of the API servers with a lease.
    pub(super) async fn list(&self) -> Result<BTreeSet<String>, Status> {
        let list = self.storage.list(&self.resource, &ListQuery::default()).await?;
        let address = |object: Arc<Object>| {
            let subset = object.list("subsets").first()?;
            let address = subset.list("addresses").first()?;
            Some(address.text("ip").to_owned()).filter(|ip| !ip.is_empty())
        };
        Ok(list.items.iter().filter_map(|stored| address(stored.object())).collect())
    }

    /// Renews the lease of the server at `address`.
    pub(super) async fn renew(&self, address: &str) -> Result<(), Status> {
        let key = ObjectKey::new("", address);
        let mut object = Object::of_kind(&GroupVersionKind::new("", "v1", "Endpoints"));
        object.set("subsets", json!([{"addresses": [{"ip": address}]}]));
        loop {
            let current = self.storage.get(&self.resource, &key, Freshness::Newest).await?;
            // As in Kubernetes, the generation makes each renewal another value, so that it is written.
            let renewals = current.as_ref().map_or(0, |stored| stored.object().generation());
            object.set("metadata", json!({"name": address, "generation": renewals + 1}));
            let draft = Draft::new(object.clone());
            let write = Write::Put { draft: &draft, ttl_seconds: Some(TTL_SECONDS) };
            if let Attempt::Done(_) = self.storage.write(&self.resource, &key, current.as_ref(), write, None).await? {
                return Ok(());
            }
        }
    }

    /// Removes the lease of the server at `address`.
    pub(super) async fn remove(&self, address: &str) -> Result<(), Status> {
        let key = ObjectKey::new("", address);
        loop {
            let current = self.storage.get(&self.resource, &key, Freshness::Newest).await?;
            if current.is_none() {
                return Ok(());
            }
            let write = self.storage.write(&self.resource, &key, current.as_ref(), Write::Delete, None).await?;
            if let Attempt::Done(_) = write {
                return Ok(());
            }
        }
    }
}
