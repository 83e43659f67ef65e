use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use coracle_ambient::Timestamp;
use coracle_apiserver::Body as NodeBody;
use coracle_kubelet::{NodeApi, NodeReading, PodReading};
use coracle_meta::ObjectKey;
use coracle_registry::Registry;
use futures_util::StreamExt;
use futures_util::stream;
use http_body_util::{BodyExt, Limited};

use crate::nodes::Nodes;
use crate::summary::reading_of;
use crate::window::Beats;

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many bytes a response may have.
const MOST: usize = 32 * 1024 * 1024;
/// How many nodes are asked at once.
const AT_ONCE: usize = 16;

/// The usage of one node at the last two beats.
pub(crate) enum Usage {
    /// A node of this process, which is asked for each pod separately.
    Near(NodeApi),
    /// A node of another process, with all its readings.
    Far { before: Option<NodeReading>, last: NodeReading },
}

impl Usage {
    /// The usage of the nodes of these names, without those that do not answer.
    pub(crate) async fn of_nodes(
        nodes: &dyn Nodes,
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

    async fn of_node(nodes: &dyn Nodes, registry: &Registry, name: &str, beats: Beats) -> Option<Self> {
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

    /// What the node had used at the last beat but one, and at the last.
    pub(crate) fn node(&self, beats: Beats) -> Option<(NodeReading, NodeReading)> {
        match self {
            Self::Near(api) => Some((api.used(beats.before)?, api.used(beats.last)?)),
            Self::Far { before, last } => Some((before.clone()?, last.clone())),
        }
    }

    /// The same for a pod, which may have no earlier reading.
    pub(crate) fn pod(&self, key: &ObjectKey, beats: Beats) -> Option<(Option<PodReading>, PodReading)> {
        let find = |reading: &NodeReading| reading.pods.iter().find(|pod| pod.key == *key).cloned();
        match self {
            Self::Near(api) => Some((api.used_by(key, beats.before), api.used_by(key, beats.last)?)),
            Self::Far { before, last } => Some((before.as_ref().and_then(find), find(last)?)),
        }
    }
}

/// What a node of another process had used at a moment.
async fn reading(nodes: &dyn Nodes, registry: &Registry, name: &str, at: Timestamp) -> Option<NodeReading> {
    let path = format!("/stats/summary?only_cpu_and_memory=true&at={}", at.as_millisecond());
    let request = http::Request::get(path).body(NodeBody::empty()).ok()?;
    let answer = nodes.call(registry, name, request).await.ok().filter(|answer| answer.status().is_success())?;
    let text: Bytes = Limited::new(answer.into_body(), MOST).collect().await.ok()?.to_bytes();
    reading_of(&serde_json::from_slice(&text).ok()?, at)
}
