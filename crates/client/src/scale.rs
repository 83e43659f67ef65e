use coracle_meta::{Object, ObjectKey, Scalable};
use serde_json::json;

use crate::{Api, Patch, Result};

/// What kinds that have a `scale` can be asked.
impl<T: Scalable> Api<T> {
    /// Reads how many replicas are wanted and there (`autoscaling/v1` Scale).
    pub async fn scale(&self, key: &ObjectKey) -> Result<Object> {
        self.get_subresource(key, "scale").await
    }

    /// Sets how many replicas are wanted.
    pub async fn patch_scale(&self, key: &ObjectKey, replicas: i32) -> Result<Object> {
        self.patch_subresource(key, "scale", &Patch::Merge(json!({"spec": {"replicas": replicas}}))).await
    }
}
