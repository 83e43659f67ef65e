//! Static pods of a node: reads their manifests, and keeps a mirror pod of each in the API.
//!
//! In Kubernetes: `sourceFile.listConfig`, `tryReconcileMirrorPods`, and the part of `HandlePodCleanups` about mirrors.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::{Node, Pod};
use coracle_client::{DeleteParams, Error};
use coracle_controller_runtime::{EventType, Pass};
use coracle_meta::{ApiObject, ObjectKey};
use tokio::time::Instant;

use crate::node::agent::Agent;
use crate::node::pod_key::PodKey;
use crate::pod::container::LOOKS_AGAIN;
use crate::static_pods::{Bound, Called, is_mirror, is_mirror_of, mirror_of, static_pod};
use crate::sync::pod_workers::PodWorkers;

/// How often manifests are read. In Kubernetes: `fileCheckFrequency`.
const FILE_CHECK: Duration = Duration::from_secs(20);

impl PodWorkers {
    /// The pod of this name on the node, from a manifest or from the API; none if it has no such pod any more.
    pub(crate) async fn bound(&self, node: &Agent, pass: &Pass, key: &ObjectKey) -> Option<Bound> {
        if node.machine.static_pods.next().is_none() {
            // Before the first read of the manifests, no mirror can be known to be superfluous.
            self.look_at_manifests(node, pass);
        }
        let seen = node.pod_view.pod(key);
        let mirror = seen.clone().filter(|pod| is_mirror(pod));
        match (node.machine.static_pods.get(key), mirror) {
            (None, Some(mirror)) => {
                self.delete_mirror(node, pass, &mirror).await;
                None
            }
            (None, None) => seen.map(Bound::of_api),
            (Some(Called::Ending(pod)), mirror) => Some(Bound::of_manifest(&pod, mirror, None)),
            (Some(Called::Wanted(pod)), Some(mirror)) if !mirror.is_terminating() && is_mirror_of(&mirror, &pod) => {
                Some(Bound::of_manifest(&pod, Some(mirror), None))
            }
            (Some(Called::Wanted(pod)), Some(mirror)) => {
                // The node creates a new mirror after this one is gone.
                let again = self.delete_mirror(node, pass, &mirror).await;
                Some(Bound::of_manifest(&pod, None, again))
            }
            (Some(Called::Wanted(pod)), None) => {
                let again = self.create_mirror(node, pass, &pod).await;
                Some(Bound::of_manifest(&pod, None, again))
            }
        }
    }

    /// Forgets a static pod that has stopped because its manifest was removed or changed; a changed pod starts now.
    pub(crate) fn static_pod_ended(&self, node: &Agent, key: &ObjectKey) {
        node.machine.static_pods.ended(key);
        node.machine.remove(key);
        node.machine.meters.forget(key, self.clock.now());
        node.machine.shortage.forget(key);
        self.retry_deferred(node);
        self.queue.add(PodKey { node: node.name.clone(), pod: key.clone() }, &[]);
    }

    /// Reads the manifests if that is due; returns how soon that is again. None for a node without a manifest folder.
    pub(crate) fn look_at_manifests(&self, node: &Agent, pass: &Pass) -> Option<Duration> {
        let (folder, table, now) = (node.spec.static_pods.as_ref()?, &node.machine.static_pods, Instant::now());
        if let Some(next) = table.next().filter(|next| *next > now) {
            return Some(next - now);
        }
        table.read_again(now + FILE_CHECK);
        let mut faults = Vec::new();
        match folder.read() {
            Ok(manifests) => {
                let (mut pods, mut names) = (Vec::new(), BTreeSet::new());
                for manifest in &manifests {
                    match static_pod(manifest, &node.name) {
                        Ok(pod) if names.insert(pod.object_key()) => pods.push(pod),
                        Ok(pod) => faults.push(format!(
                            "Error validating pod {} from file due to duplicate pod name, ignoring {}",
                            pod.object_key(),
                            manifest.path
                        )),
                        Err(why) => faults.push(format!("Could not process manifest file {}: {why}", manifest.path)),
                    }
                }
                for pod in table.replace(pods, self.clock.now()) {
                    self.queue.add(PodKey { node: node.name.clone(), pod }, pass.cause().as_slice());
                }
            }
            Err(why) => faults.push(format!("Unable to read config path: {why}")),
        }
        for fault in table.new_faults(faults) {
            self.record_manifest_fault(node, pass, fault);
        }
        Some(FILE_CHECK)
    }

    /// Records an event about a manifest. Unlike Kubernetes, where the kubelet only logs it.
    fn record_manifest_fault(&self, node: &Agent, pass: &Pass, fault: String) {
        let mut object = Node::default();
        object.metadata.name = Some(node.name.to_string());
        let events = node.events.in_pass(pass);
        events.event_on(node.reference(&object), EventType::Warning, "InvalidManifest", fault);
    }

    fn node_object(&self, node: &Agent) -> Option<Arc<Node>> {
        self.node_objects.get(&ObjectKey::cluster(&*node.name))
    }

    /// Creates the mirror of a static pod; returns when to retry if that failed. The pod runs in any case.
    async fn create_mirror(&self, node: &Agent, pass: &Pass, pod: &Pod) -> Option<Duration> {
        // Without a Node there is no mirror.
        let object = self.node_object(node)?;
        match pass.api::<Pod>().create(&mirror_of(pod, &object)).await {
            Ok(_) => None,
            // Another pod has the name, or the cache has not seen the mirror yet.
            Err(error) if error.is_already_exists() => None,
            Err(Error::Transport { .. }) if node.machine.is_cut_off() => None,
            Err(error) => {
                if error.is_invalid() || error.is_forbidden() {
                    let fault = format!("Failed creating a mirror pod for {}: {error}", pod.object_key());
                    self.record_manifest_fault(node, pass, fault);
                }
                tracing::debug!(%error, node = &*node.name, "a mirror could not be made");
                Some(LOOKS_AGAIN)
            }
        }
    }

    async fn delete_mirror(&self, node: &Agent, pass: &Pass, mirror: &Pod) -> Option<Duration> {
        let uid = mirror.metadata.uid.clone().unwrap_or_default();
        match pass.api::<Pod>().delete(&mirror.object_key(), &DeleteParams::now().with_uid(uid)).await {
            Ok(_) => None,
            Err(error) if error.is_not_found() || error.is_conflict() => None,
            Err(Error::Transport { .. }) if node.machine.is_cut_off() => None,
            Err(error) => {
                tracing::debug!(%error, node = &*node.name, "a mirror could not be deleted");
                Some(LOOKS_AGAIN)
            }
        }
    }
}
