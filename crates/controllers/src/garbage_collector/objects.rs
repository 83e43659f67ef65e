use coracle_client::{Api, Client, DeleteParams, Error, Patch, Propagation};
use coracle_controller_runtime::ReconcileError;
use coracle_meta::{ObjectKey, OwnerReference, PartialObject, Scope};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::identity::Identity;
use super::mapper::Mapper;

/// How often the removal of a finalizer is tried when another client writes the object at the same time.
const MAX_CONFLICTS: usize = 5;

/// The API access of the collector: objects are found by kind, and changed only if they still have the same uid.
#[derive(Debug)]
pub(crate) struct Objects {
    mapper: Mutex<Mapper>,
}

/// Why an object could not be examined.
#[derive(Debug)]
pub(crate) enum LookupFailure {
    /// It is cluster-scoped and names a namespaced owner: the namespace is unknown.
    NoNamespace,
    /// It failed; to be retried.
    Again(ReconcileError),
}

impl<E: Into<ReconcileError>> From<E> for LookupFailure {
    fn from(error: E) -> Self {
        Self::Again(error.into())
    }
}

impl Objects {
    pub(crate) fn new() -> Self {
        Self { mapper: Mutex::default() }
    }

    /// Stores the result of discovery.
    pub(crate) fn served(&self, mapper: Mapper) {
        *self.mapper.lock() = mapper;
    }

    /// The verbs of an object's kind, its key, and its scope.
    pub(crate) fn find(
        &self,
        client: &Client,
        item: &Identity,
    ) -> Result<(Api<PartialObject>, ObjectKey, Scope), ReconcileError> {
        let mapper = self.mapper.lock();
        let (resource, scope) = mapper.resource(&item.api_version, &item.kind).map_err(ReconcileError::Object)?;
        let namespace = if scope == Scope::Namespaced { &*item.namespace } else { "" };
        Ok((Api::metadata(client, resource), ObjectKey::new(namespace, &*item.name), scope))
    }

    /// The object as it is now; `None` if it is gone or another object has its name.
    pub(crate) async fn get(&self, client: &Client, item: &Identity) -> Result<Option<PartialObject>, LookupFailure> {
        let (api, key, scope) = self.find(client, item)?;
        if scope == Scope::Namespaced && key.namespace.is_empty() {
            return Err(LookupFailure::NoNamespace);
        }
        let found = api.find(&key).await?;
        Ok(found.filter(|object| object.metadata.uid.as_deref() == Some(&item.uid)))
    }

    /// Deletes the object if it has not changed since it was read, or if its owners have not changed. In Kubernetes:
    /// `deleteObject`.
    pub(crate) async fn delete(
        &self,
        client: &Client,
        item: &Identity,
        latest: &PartialObject,
        policy: Propagation,
    ) -> Result<(), LookupFailure> {
        let (api, key, _) = self.find(client, item)?;
        let version = latest.metadata.resource_version.clone().unwrap_or_default();
        let params = DeleteParams::propagating(policy).with_uid(&*item.uid);
        match api.delete(&key, &params.clone().with_resource_version(version.as_str())).await {
            Err(error) if error.is_conflict() => {
                let Some(live) = api.find(&key).await? else { return Ok(()) };
                let same = live.metadata.uid == latest.metadata.uid
                    && live.metadata.resource_version != latest.metadata.resource_version
                    && live.metadata.owner_references == latest.metadata.owner_references;
                if !same {
                    return Err(error.into());
                }
                api.delete(&key, &params).await?;
                Ok(())
            }
            deleted => deleted.map(drop).map_err(LookupFailure::from),
        }
    }

    /// Removes owners from the object's references. In Kubernetes: `GenerateDeleteOwnerRefStrategicMergeBytes`.
    pub(crate) async fn remove_owners(
        &self,
        client: &Client,
        item: &Identity,
        uids: &[String],
    ) -> Result<(), LookupFailure> {
        let references: Vec<_> = uids.iter().map(|uid| json!({"$patch": "delete", "uid": uid})).collect();
        let patch = json!({"metadata": {"ownerReferences": references, "uid": &*item.uid}});
        self.patch_owners(client, item, patch, |owners| owners.retain(|owner| !uids.contains(&owner.uid))).await
    }

    /// Clears `blockOwnerDeletion` in all references. In Kubernetes: `unblockOwnerReferencesStrategicMergePatch`.
    pub(crate) async fn unblock_owners(
        &self,
        client: &Client,
        item: &Identity,
        owners: &[OwnerReference],
    ) -> Result<(), LookupFailure> {
        let blocking = owners.iter().filter(|owner| owner.block_owner_deletion == Some(true)).cloned();
        let unblocked: Vec<_> = blocking.map(unblocked).collect();
        let patch = json!({"metadata": {"ownerReferences": unblocked, "uid": &*item.uid}});
        let unblock_all = |owners: &mut Vec<OwnerReference>| {
            owners.iter_mut().for_each(|owner| owner.block_owner_deletion = Some(false));
        };
        self.patch_owners(client, item, patch, unblock_all).await
    }

    /// Patches the owners: with a strategic merge patch, or, for custom resources, with the whole list.
    async fn patch_owners(
        &self,
        client: &Client,
        item: &Identity,
        strategic: Value,
        change: impl FnOnce(&mut Vec<OwnerReference>),
    ) -> Result<(), LookupFailure> {
        let (api, key, _) = self.find(client, item)?;
        match api.patch(&key, &Patch::Strategic(strategic)).await {
            Err(error) if error.status().is_some_and(|status| status.code == 415) => {}
            patched => return patched.map(drop).map_err(LookupFailure::from),
        }
        let mut live = api.get(&key).await?;
        change(&mut live.metadata.owner_references);
        let merge = json!({"metadata": {
            "resourceVersion": live.metadata.resource_version,
            "ownerReferences": live.metadata.owner_references,
        }});
        api.patch(&key, &Patch::Merge(merge)).await?;
        Ok(())
    }

    /// Removes a finalizer.
    pub(crate) async fn remove_finalizer(
        &self,
        client: &Client,
        item: &Identity,
        finalizer: &str,
    ) -> Result<(), LookupFailure> {
        let mut conflict: Option<Error> = None;
        for _ in 0..MAX_CONFLICTS {
            let Some(live) = self.get(client, item).await? else { return Ok(()) };
            let finalizers: Vec<_> = live.metadata.finalizers.iter().filter(|own| *own != finalizer).collect();
            if finalizers.len() == live.metadata.finalizers.len() {
                return Ok(());
            }
            let version = &live.metadata.resource_version;
            let patch = json!({"metadata": {"resourceVersion": version, "finalizers": finalizers}});
            let (api, key, _) = self.find(client, item)?;
            match api.patch(&key, &Patch::Merge(patch)).await {
                Err(error) if error.is_conflict() => conflict = Some(error),
                Err(error) if error.is_not_found() => return Ok(()),
                patched => return patched.map(drop).map_err(LookupFailure::from),
            }
        }
        conflict.map_or(Ok(()), |error| Err(error.into()))
    }
}

fn unblocked(owner: OwnerReference) -> OwnerReference {
    OwnerReference { block_owner_deletion: Some(false), ..owner }
}
