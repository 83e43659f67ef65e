//! Force-deletes the pods that no other component will: those of deleted nodes, and the oldest finished ones when
//! there are too many.
//!
//! Checks all pods when a pod or a node has changed, at most every 20 seconds; [`decide`] selects the pods. In
//! Kubernetes: `pkg/controller/podgc`, which checks every 20 seconds.

mod decide;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{Clock, TimeShift};
use coracle_api::core_v1::{Node, Pod, PodCondition};
use coracle_client::{Api, DeleteParams, Error, Patch};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::{Lister, Notification};
use coracle_journal::EntryId;
use coracle_meta::{ApiObject, ObjectKey, Resource, format_time};
use coracle_workqueue::WorkQueue;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use self::decide::Why;
use crate::Config;

/// The minimum time between two checks. In Kubernetes: `gcCheckPeriod`.
const PERIOD: Duration = Duration::from_secs(20);
/// How long a node must be missing. In Kubernetes: `quarantineTime`.
const QUARANTINE: Duration = Duration::from_secs(40);

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let pods = process.informers.informer::<Pod>();
    let nodes = process.informers.informer::<Node>();
    let collector = PodCollector {
        pods: pods.lister(),
        nodes: nodes.lister(),
        clock: process.ambient.clock.clone(),
        keep: config.terminated_pod_gc_threshold,
        missing: Mutex::default(),
    };
    let controller = Controller::new(process, "pod-garbage-collector", collector)
        .client(config.client(process))
        .reads(&pods)
        .reads(&nodes);
    let began = Instant::now();
    pods.add_handler(controller.actor(), at_next_look(began, controller.queue()));
    nodes.add_handler(controller.actor(), at_next_look(began, controller.queue()));
    controller.queue().add(ALL, &[]);
    Box::pin(controller.run())
}

/// The only key: all pods.
const ALL: &str = "pods";

/// A handler that triggers the next periodic check.
fn at_next_look<T: ApiObject>(
    began: Instant,
    queue: WorkQueue<&'static str>,
) -> impl FnMut(&Notification<T>, &[EntryId]) + Send + 'static {
    move |_, causes| {
        let since = began.elapsed().as_nanos() % PERIOD.as_nanos();
        let since = Duration::from_nanos(u64::try_from(since).unwrap_or_default());
        queue.add_after(ALL, PERIOD - since, causes);
    }
}

struct PodCollector {
    pods: Lister<Pod>,
    nodes: Lister<Node>,
    clock: Clock,
    keep: usize,
    /// Nodes that pods name and that do not exist, and the time of their live lookup.
    missing: Mutex<BTreeMap<String, Instant>>,
}

impl Reconciler<&'static str> for PodCollector {
    async fn reconcile(&self, pass: &Pass, _: &&'static str) -> Result<Action, ReconcileError> {
        let pods = self.pods.list();
        let nodes = by_name(&self.nodes);
        let gone = self.gone(pass, &pods, &nodes).await;
        let mut has_failed = false;
        let victims = decide::victims(&pods, &nodes, &gone, self.keep);
        if victims.is_empty() {
            pass.decided(|| format!("see {} pods: none to remove", pods.len()));
        }
        for (pod, why) in victims {
            pass.decided(|| format!("remove {}: {}", pod.key(), why.word()));
            match self.remove(pass, &pod, why).await {
                Err(error) if !error.is_not_found() => {
                    tracing::debug!(%error, pod = %pod.key(), "a pod was not removed");
                    has_failed = true;
                }
                _ => {}
            }
        }
        let next = self.missing.lock().values().min().map(|due| due.saturating_duration_since(Instant::now()));
        Ok(match next {
            _ if has_failed => Action::RequeueAfter(PERIOD),
            Some(next) => Action::RequeueAfter(next.max(PERIOD)),
            None => Action::Done,
        })
    }
}

impl PodCollector {
    /// The nodes that have been missing for long enough, and are not found by a live lookup.
    async fn gone(&self, pass: &Pass, pods: &[Arc<Pod>], nodes: &BTreeMap<String, Arc<Node>>) -> BTreeSet<String> {
        let live = pass.api::<Node>();
        let mut gone = BTreeSet::new();
        for name in self.due(pods, nodes) {
            let found = live.find(&ObjectKey::cluster(name.as_str())).await;
            if !nodes.contains_key(&name) && matches!(found, Ok(None)) {
                gone.insert(name);
            }
        }
        gone
    }

    /// The missing nodes whose quarantine is over.
    fn due(&self, pods: &[Arc<Pod>], nodes: &BTreeMap<String, Arc<Node>>) -> Vec<String> {
        let now = Instant::now();
        let mut missing = self.missing.lock();
        for name in pods.iter().filter_map(|pod| pod.node_name()).filter(|name| !nodes.contains_key(*name)) {
            missing.entry(name.to_owned()).or_insert(now.later(QUARANTINE));
        }
        missing.extract_if(.., |_, due| *due <= now).map(|(name, _)| name).collect()
    }

    /// Marks a pod as failed, unless it has ended, and deletes it at once. In Kubernetes: `markFailedAndDeletePod`.
    async fn remove(&self, pass: &Pass, pod: &Pod, why: Why) -> Result<(), Error> {
        let key = pod.key();
        let pods: Api<Pod> = pass.api();
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
