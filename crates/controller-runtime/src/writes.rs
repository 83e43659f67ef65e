//! Writes that need no `match`: an object that already exists, is already deleted or has the desired state is not an
//! error and causes no write.

use coracle_client::{DeleteParams, Error};
use coracle_meta::{ObjectKey, Resource};

use crate::{Pass, ReconcileError};

/// How often a write with a conflict is tried again on the current version.
const TRIES: usize = 4;

impl Pass {
    /// Creates an object; `None` if one of its name exists.
    pub async fn create_if_missing<K: Resource>(&self, object: &K) -> Result<Option<K>, ReconcileError> {
        match self.api::<K>().create(object).await {
            Ok(created) => Ok(Some(created)),
            Err(error) if error.is_already_exists() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes an object, or starts its deletion; false if it does not exist.
    pub async fn delete_if_there<K: Resource>(
        &self,
        key: &ObjectKey,
        params: &DeleteParams,
    ) -> Result<bool, ReconcileError> {
        match self.api::<K>().delete(key, params).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Updates an object, if `change` changes anything; on a conflict, `change` is applied to the current version.
    /// Returns the updated object; `None` if it is deleted.
    pub async fn update<K: Resource + PartialEq>(
        &self,
        seen: &K,
        change: impl Fn(&mut K) + Send + Sync,
    ) -> Result<Option<K>, ReconcileError> {
        self.write(seen, &change, false).await
    }

    /// As [`update`](Self::update), for the status.
    pub async fn update_status<K: Resource + PartialEq>(
        &self,
        seen: &K,
        change: impl Fn(&mut K) + Send + Sync,
    ) -> Result<Option<K>, ReconcileError> {
        self.write(seen, &change, true).await
    }

    async fn write<K: Resource + PartialEq>(
        &self,
        seen: &K,
        change: &(impl Fn(&mut K) + Send + Sync),
        status: bool,
    ) -> Result<Option<K>, ReconcileError> {
        let api = self.api::<K>();
        let mut current = seen.clone();
        for tries_left in (0..TRIES).rev() {
            let mut changed = current.clone();
            change(&mut changed);
            if changed == current {
                return Ok(Some(current));
            }
            let written = if status { api.update_status(&changed).await } else { api.update(&changed).await };
            match written {
                Ok(written) => return Ok(Some(written)),
                Err(error) if error.is_not_found() => return Ok(None),
                Err(error) if error.is_conflict() && tries_left > 0 => match api.find(&seen.key()).await? {
                    Some(fresh) if fresh.meta().uid == seen.meta().uid => current = fresh,
                    _ => return Ok(None),
                },
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

/// Ignores the error that the object does not exist.
pub fn unless_gone<T>(done: Result<T, Error>) -> Result<(), Error> {
    match done {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}
