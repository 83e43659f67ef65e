//! Removes by force the pods that nobody else will: those of nodes that are gone, and the oldest finished ones when
//! there are too many.
//!
//! It looks at all pods every 20 seconds; [`decide`] says which to remove.
//! In Kubernetes: `pkg/controller/podgc`.

mod decide;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::core_v1::{Node, Pod, PodCondition};
use coracle_client::{Api, Client, DeleteParams, Error, Origin, Patch};
use coracle_controller_runtime::Process;
use coracle_informer::{Lister, SharedInformer};
use coracle_meta::{ObjectKey, Resource, format_time};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::time::{Instant, sleep};

use self::decide::Why;
use crate::Config;

/// How often it looks. In Kubernetes: `gcCheckPeriod`.
const PERIOD: Duration = Duration::from_secs(20);
/// How long a node has to be missing. In Kubernetes: `quarantineTime`.
const QUARANTINE: Duration = Duration::from_secs(40);

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let collector = PodCollector {
        actor: process.actor("pod-garbage-collector"),
        client: config.client(process),
        pods: process.informers.informer(),
        nodes: process.informers.informer(),
        clock: process.ambient.clock.clone(),
        keep: config.terminated_pod_gc_threshold,
        missing: BTreeMap::new(),
    };
    Box::pin(collector.run())
}

struct PodCollector {
    actor: String,
    client: Client,
    pods: SharedInformer<Pod>,
    nodes: SharedInformer<Node>,
    clock: Clock,
    keep: usize,
    /// Nodes that pods name and nobody knows, and when they are looked for.
    missing: BTreeMap<String, Instant>,
}

impl PodCollector {
    async fn run(mut self) {
        self.pods.synced().await;
        self.nodes.synced().await;
        loop {
            self.collect().await;
            sleep(PERIOD).await;
        }
    }

    async fn collect(&mut self) {
        let pods = self.pods.lister().list();
        let nodes = by_name(&self.nodes.lister());
        let gone = self.gone(&pods, &nodes).await;
        for (pod, why) in decide::victims(&pods, &nodes, &gone, self.keep) {
            match self.remove(&pod, why).await {
                Err(error) if !error.is_not_found() => {
                    tracing::debug!(%error, pod = %pod.key(), "a pod was not removed");
                }
                _ => {}
            }
        }
    }

    /// The nodes that have been missing for long enough, and are not there when looked for.
    async fn gone(&mut self, pods: &[Arc<Pod>], nodes: &BTreeMap<String, Arc<Node>>) -> BTreeSet<String> {
        let now = Instant::now();
        for name in pods.iter().filter_map(|pod| pod.node_name()).filter(|name| !nodes.contains_key(*name)) {
            self.missing.entry(name.to_owned()).or_insert(now + QUARANTINE);
        }
        let due: Vec<_> = self.missing.iter().filter(|(_, due)| **due <= now).map(|(name, _)| name.clone()).collect();
        let live: Api<Node> = Api::of(&self.client);
        let mut gone = BTreeSet::new();
        for name in due {
            self.missing.remove(&name);
            let found = live.find(&ObjectKey::cluster(name.as_str())).await;
            if !nodes.contains_key(&name) && matches!(found, Ok(None)) {
                gone.insert(name);
            }
        }
        gone
    }

    /// Marks a pod as failed, unless it has ended, and deletes it at once. In Kubernetes: `markFailedAndDeletePod`.
    async fn remove(&self, pod: &Pod, why: Why) -> Result<(), Error> {
        let key = pod.key();
        let pods: Api<Pod> = Api::of(&self.client.on_behalf_of(Origin::new(&self.actor, &key.to_string(), [])));
        if !pod.is_finished() {
            let mut status = json!({"phase": "Failed", "observedGeneration": pod.metadata.generation});
            if why == Why::NodeGone {
                status["conditions"] = json!([self.disruption(pod)]);
            }
            let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": status});
            pods.patch_status(&key, &Patch::Strategic(patch)).await?;
        }
        pods.delete(&key, &DeleteParams::now()).await.map(drop)
    }

    fn disruption(&self, pod: &Pod) -> PodCondition {
        PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            reason: "DeletionByPodGC".to_owned(),
            message: "PodGC: node no longer exists".to_owned(),
            observed_generation: pod.metadata.generation.unwrap_or(0),
            last_transition_time: Some(format_time(self.clock.now())),
            ..PodCondition::default()
        }
    }
}

fn by_name(nodes: &Lister<Node>) -> BTreeMap<String, Arc<Node>> {
    nodes.list().into_iter().map(|node| (node.metadata.name.clone().unwrap_or_default(), node)).collect()
}
