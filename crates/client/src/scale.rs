use coracle_meta::{Object, ObjectKey, Scalable};
use serde_json::json;

use crate::{Api, Patch, Result};

/// The `scale` subresource.
impl<T: Scalable> Api<T> {
    /// Reads the desired and actual number of replicas (`autoscaling/v1` Scale).
    pub async fn scale(&self, key: &ObjectKey) -> Result<Object> {
        self.get_subresource(key, "scale").await
    }

    /// Sets the desired number of replicas.
    pub async fn patch_scale(&self, key: &ObjectKey, replicas: i32) -> Result<Object> {
        self.patch_subresource(key, "scale", &Patch::Merge(json!({"spec": {"replicas": replicas}}))).await
    }
}
