//! The operations of kubectl on nodes and rollouts: cordon, taint, drain, evict, rollout.

use std::sync::Arc;
use std::time::Duration;

use coracle_client::{Api, Client, ListParams, Patch};
use coracle_cluster::{Manifest, ManifestFolder, MemoryManifests, NodeSpec};
use coracle_meta::{GroupVersionResource, Object, ObjectKey, OwnerReference};
use coracle_sim::World;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::file::{Drain, Evict, NodeShape, Reference, Rollout, RolloutAction, Taint};
use crate::manifests::manifests_of;
use crate::objects::{Objects, Refusal, choose_referred};
use crate::taint::TaintChange;

/// How long a drain waits before it retries an eviction that a budget refused. In kubectl: the same.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// How often a drain checks whether evicted pods are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The spec of a node with this shape, which was checked when the file was read.
pub(crate) fn node_spec(shape: &NodeShape) -> NodeSpec {
    let mut spec = NodeSpec::new(shape.name.as_str());
    spec.labels.extend(shape.labels.clone());
    spec.capacity.extend(shape.capacity.clone());
    let taints = shape.taints.iter().filter_map(|text| text.parse::<TaintChange>().ok());
    spec.taints.extend(taints.map(|taint| (taint.key, taint.value, taint.effect)));
    if !shape.static_pods.is_empty() {
        let manifests = MemoryManifests::default();
        for Manifest { path, content } in manifests_of(shape) {
            manifests.put(&path, &content.unwrap_or_default());
        }
        spec.static_pods = Some(ManifestFolder::new(manifests));
    }
    spec
}

/// Drains a node of any cluster: cordons it, evicts its pods, retries evictions that a budget refuses, and waits until
/// the pods are gone, all within the timeout.
///
/// # Errors
/// Why the drain failed, as a sentence.
pub async fn drain(client: &Client, drain: &Drain, timeout: Duration) -> Result<(), String> {
    Objects::of_core(client).drain(drain, timeout).await.map_err(|refusal| refusal.to_string())
}

impl Objects {
    /// Marks a node as unschedulable or schedulable.
    pub(crate) async fn cordon(&self, node: &str, unschedulable: bool) -> Result<(), Refusal> {
        let value = if unschedulable { json!(true) } else { Value::Null };
        let patch = Patch::Merge(json!({"spec": {"unschedulable": value}}));
        self.core("nodes").patch(&ObjectKey::cluster(node), &patch).await?;
        Ok(())
    }

    /// Adds or removes a taint of a node.
    pub(crate) async fn taint(&self, taint: &Taint) -> Result<(), Refusal> {
        let change: TaintChange = taint.taint.value.parse().map_err(|why: String| Refusal::new(why))?;
        let nodes = self.core("nodes");
        let node = nodes.get(&ObjectKey::cluster(taint.node.value.as_str())).await?;
        let before = node.field("spec.taints").and_then(Value::as_array).cloned().unwrap_or_default();
        let after = change.applied(&before);
        if after.len() == before.len() && change.removes {
            return Err(Refusal::new(format!("taint \"{}\" not found", change.key)));
        }
        // At the version that was read, so that a concurrent change of the taints is not lost.
        let patch = json!({"metadata": {"resourceVersion": node.resource_version()}, "spec": {"taints": after}});
        nodes.patch(&node.key(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Evicts the named pod, or the pods chosen by label; returns the first as it was before.
    pub(crate) async fn evict(&self, evict: &Evict, world: &World) -> Result<Option<Arc<Object>>, Refusal> {
        let chosen = choose_referred(world, &evict.reference, evict.pick, self.namespace()).await?;
        for pod in &chosen {
            match self.evict_one(pod, evict.grace_period_seconds).await {
                Err(error) if error.status().is_some_and(|status| status.code == 429) && evict.refused => {}
                Err(error) => return Err(error.into()),
                Ok(()) if evict.refused => {
                    return Err(Refusal::new(format!("pod {} was evicted, and no budget refused it", pod.name())));
                }
                Ok(()) => {}
            }
        }
        Ok(chosen.into_iter().next())
    }

    async fn evict_one(&self, pod: &Object, grace: Option<i64>) -> Result<(), coracle_client::Error> {
        let mut eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": pod.name(), "namespace": pod.namespace()},
        });
        if let Some(seconds) = grace {
            eviction["deleteOptions"] = json!({"gracePeriodSeconds": seconds});
        }
        let _: Value = self.core("pods").create_subresource(&pod.key(), "eviction", &eviction).await?;
        Ok(())
    }

    /// Cordons a node, evicts its pods, retries evictions that a budget refuses, and waits until the pods are gone.
    /// DaemonSet pods and mirror pods stay. In kubectl: `drain --ignore-daemonsets --delete-emptydir-data`.
    pub(crate) fn drain<'a>(&'a self, drain: &'a Drain, timeout: Duration) -> BoxFuture<'a, Result<(), Refusal>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(async move {
            self.cordon(&drain.node, true).await?;
            let until = Instant::now() + timeout;
            let mut leaving: Vec<Object> = Vec::new();
            for pod in self.pods_of(&drain.node).await? {
                match kept(&pod) {
                    Some(Kept::Stays) => {}
                    Some(Kept::NeedsForce) if !drain.force => {
                        let name = format!("{}/{}", pod.namespace(), pod.name());
                        let why = "cannot delete Pods that declare no controller (set `force`)";
                        return Err(Refusal::new(format!("{why}: {name}")));
                    }
                    _ => leaving.push(pod),
                }
            }
            let mut refused_by = String::new();
            let mut asked = Vec::new();
            loop {
                let mut held = Vec::new();
                for pod in std::mem::take(&mut leaving) {
                    match self.evict_one(&pod, drain.grace_period_seconds).await {
                        Ok(()) => asked.push(pod),
                        Err(error) if error.is_not_found() => {}
                        Err(error) if error.status().is_some_and(|status| status.code == 429) => {
                            refused_by = format!("{}: {error}", pod.name());
                            held.push(pod);
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                leaving = held;
                if leaving.is_empty() && self.all_gone(&asked, until).await? {
                    return Ok(());
                }
                if Instant::now() + ASK_AGAIN > until {
                    let rest: Vec<_> = leaving.iter().chain(&asked).map(Object::name).collect();
                    let why = if refused_by.is_empty() { String::new() } else { format!(" ({refused_by})") };
                    return Err(Refusal::new(format!("{} still holds {}{why}", drain.node, rest.join(", "))));
                }
                tokio::time::sleep(ASK_AGAIN).await;
            }
        })
    }

    /// Waits until these pods are gone; false if that times out.
    async fn all_gone(&self, pods: &[Object], until: Instant) -> Result<bool, Refusal> {
        let api = self.core("pods");
        for pod in pods {
            while api.find(&pod.key()).await?.is_some_and(|found| found.uid() == pod.uid()) {
                if Instant::now() >= until {
                    return Ok(false);
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
        Ok(true)
    }

    async fn pods_of(&self, node: &str) -> Result<Vec<Object>, Refusal> {
        let params = ListParams::fields(format!("spec.nodeName={node}"));
        Ok(self.core("pods").list_all(&params).await?.items)
    }

    /// Undoes, pauses, resumes or restarts a rollout.
    pub(crate) async fn rollout(&self, rollout: &Rollout, now: String) -> Result<(), Refusal> {
        let Reference { api_version, kind, name, namespace, .. } = &rollout.reference;
        let namespace = namespace.as_deref().unwrap_or(self.namespace());
        let api = self.api_of(&api_version.value, &kind.value, namespace)?;
        let key = ObjectKey::new(namespace, name.clone().unwrap_or_default());
        let object = api.get(&key).await?;
        let patch = match rollout.action {
            RolloutAction::Pause => Patch::Strategic(json!({"spec": {"paused": true}})),
            RolloutAction::Resume => Patch::Strategic(json!({"spec": {"paused": null}})),
            RolloutAction::Restart => {
                let annotations = json!({"kubectl.kubernetes.io/restartedAt": now});
                let template = json!({"metadata": {"annotations": annotations}});
                Patch::Strategic(json!({"spec": {"template": template}}))
            }
            RolloutAction::Undo => self.undo(&object, rollout.to_revision).await?,
        };
        api.patch(&key, &patch).await?;
        Ok(())
    }

    /// The patch that restores an earlier template: of a ReplicaSet, or of a ControllerRevision.
    async fn undo(&self, object: &Object, to: Option<i64>) -> Result<Patch, Refusal> {
        let is_deployment = object.kind() == "Deployment";
        let plural = if is_deployment { "replicasets" } else { "controllerrevisions" };
        let resource = GroupVersionResource::new("apps", "v1", plural);
        let api = Api::dynamic(self.client(), resource).within(object.namespace());
        let mut history: Vec<_> = api
            .list_all(&ListParams::default())
            .await?
            .items
            .into_iter()
            .filter(|one| controller(one).is_some_and(|owner| owner.uid == object.uid()))
            .map(|one| (revision(&one), one))
            .collect();
        history.sort_by_key(|(revision, _)| *revision);
        let found = match to {
            Some(to) => history.into_iter().find(|(revision, _)| *revision == to),
            None => history.into_iter().rev().nth(1),
        };
        let wanted = to.map_or("an earlier revision".to_owned(), |to| format!("revision {to}"));
        let (_, earlier) = found.ok_or_else(|| Refusal::new(format!("there is no {wanted} of {}", object.name())))?;
        if !is_deployment {
            return Ok(Patch::Strategic(earlier.field("data").cloned().unwrap_or_default()));
        }
        let mut template = earlier.field("spec.template").cloned().unwrap_or_default();
        if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove("pod-template-hash");
        }
        template["$patch"] = "replace".into();
        Ok(Patch::Strategic(json!({"spec": {"template": template}})))
    }

    fn core(&self, plural: &str) -> Api<Object> {
        Api::dynamic(self.client(), GroupVersionResource::new("", "v1", plural))
    }
}

/// The revision number of an object.
fn revision(object: &Object) -> i64 {
    match object.field("revision").and_then(Value::as_i64) {
        Some(revision) => revision,
        None => {
            let annotations = object.field("metadata.annotations");
            let text = annotations.and_then(|all| all.get("deployment.kubernetes.io/revision")).and_then(Value::as_str);
            text.and_then(|text| text.parse().ok()).unwrap_or(0)
        }
    }
}

fn controller(object: &Object) -> Option<OwnerReference> {
    object.owner_references().into_iter().find(|owner| owner.controller == Some(true))
}

/// Pods that a drain does not evict.
enum Kept {
    Stays,
    NeedsForce,
}

fn kept(pod: &Object) -> Option<Kept> {
    let annotations = pod.field("metadata.annotations");
    let is_mirror = annotations.is_some_and(|all| all.get("kubernetes.io/config.mirror").is_some());
    let is_finished = matches!(pod.text("status.phase"), "Succeeded" | "Failed");
    match controller(pod) {
        _ if is_mirror => Some(Kept::Stays),
        _ if is_finished => None,
        Some(owner) if owner.kind == "DaemonSet" => Some(Kept::Stays),
        Some(_) => None,
        None => Some(Kept::NeedsForce),
    }
}
