use coracle_meta::{ObjectKey, RunsOnNode};
use serde_json::{Value, json};

use crate::{Api, DeleteParams, LogParams, LogStream, Result};

/// Subresources of pods.
impl<P: RunsOnNode> Api<P> {
    /// Binds a pod to a node.
    pub async fn bind(&self, key: &ObjectKey, uid: &str, node: &str) -> Result<()> {
        let mut binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "target": {"kind": "Node", "name": node},
        });
        if !uid.is_empty() {
            binding["metadata"]["uid"] = uid.into();
        }
        let _: Value = self.create_subresource(key, "binding", &binding).await?;
        Ok(())
    }

    /// Evicts a pod, if its disruption budgets allow it.
    pub async fn evict(&self, key: &ObjectKey, params: &DeleteParams) -> Result<()> {
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "deleteOptions": params,
        });
        let _: Value = self.create_subresource(key, "eviction", &eviction).await?;
        Ok(())
    }

    /// Opens a pod's log.
    pub async fn logs(&self, key: &ObjectKey, params: &LogParams) -> Result<LogStream> {
        let body = self.any.client.open(&self.any.one(key, "log").logs(params)?).await?;
        Ok(LogStream { body })
    }
}
