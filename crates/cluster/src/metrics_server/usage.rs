use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use coracle_ambient::Timestamp;
use coracle_apiserver::{Body as NodeBody, NodeTransport};
use coracle_kubelet::{NodeApi, NodeReading, PodReading};
use coracle_meta::ObjectKey;
use coracle_registry::Registry;
use futures_util::StreamExt;
use futures_util::stream;
use http_body_util::{BodyExt, Limited};

use super::summary::reading_of;
use super::window::Beats;
use crate::node_transport::NodeTransports;

/// How long a node may take, and how much it may say.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST: usize = 32 * 1024 * 1024;
/// How many nodes are asked at once.
const AT_ONCE: usize = 16;

/// What one node can say of the last two beats.
pub(super) enum Usage {
    /// A node of this process, which is asked for each pod.
    Near(NodeApi),
    /// Another, which has been asked for all that it knows.
    Far { before: Option<NodeReading>, last: NodeReading },
}

impl Usage {
    /// What the nodes of these names can say; those that do not answer are left out.
    pub(super) async fn of_nodes(
        nodes: &NodeTransports,
        registry: &Registry,
        names: BTreeSet<String>,
        beats: Beats,
    ) -> BTreeMap<String, Self> {
        let asked = names.into_iter().map(|name| async move {
            let usage = Self::of_node(nodes, registry, &name, beats).await?;
            Some((name, usage))
        });
        stream::iter(asked).buffer_unordered(AT_ONCE).filter_map(std::future::ready).collect().await
    }

    async fn of_node(nodes: &NodeTransports, registry: &Registry, name: &str, beats: Beats) -> Option<Self> {
        if let Some(api) = nodes.api_of(name) {
            return Some(Self::Near(api));
        }
        if !nodes.upgrades(name) {
            return None;
        }
        let asked = async {
            let last = reading(nodes, registry, name, beats.last).await?;
            Some(Self::Far { before: reading(nodes, registry, name, beats.before).await, last })
        };
        tokio::time::timeout(PATIENCE, asked).await.ok().flatten()
    }

    /// What the node used until the beat before the last, and until the last.
    pub(super) fn node(&self, beats: Beats) -> Option<(NodeReading, NodeReading)> {
        match self {
            Self::Near(api) => Some((api.used(beats.before)?, api.used(beats.last)?)),
            Self::Far { before, last } => Some((before.clone()?, last.clone())),
        }
    }

    /// The same of a pod, which may not have been there before.
    pub(super) fn pod(&self, key: &ObjectKey, beats: Beats) -> Option<(Option<PodReading>, PodReading)> {
        let find = |reading: &NodeReading| reading.pods.iter().find(|pod| pod.key == *key).cloned();
        match self {
            Self::Near(api) => Some((api.used_by(key, beats.before), api.used_by(key, beats.last)?)),
            Self::Far { before, last } => Some((before.as_ref().and_then(find), find(last)?)),
        }
    }
}

/// What a node of another process said of a moment.
async fn reading(nodes: &NodeTransports, registry: &Registry, name: &str, at: Timestamp) -> Option<NodeReading> {
    let path = format!("/stats/summary?only_cpu_and_memory=true&at={}", at.as_millisecond());
    let request = http::Request::get(path).body(NodeBody::empty()).ok()?;
    let answer = nodes.call(registry, name, request).await.ok().filter(|answer| answer.status().is_success())?;
    let text: Bytes = Limited::new(answer.into_body(), MOST).collect().await.ok()?.to_bytes();
    reading_of(&serde_json::from_slice(&text).ok()?, at)
}
