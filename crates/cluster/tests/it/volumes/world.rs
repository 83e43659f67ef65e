use std::time::Duration;

use coracle_api::apps_v1::StatefulSet;
use coracle_api::core_v1::{Event, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use coracle_client::{Api, Client, DeleteParams, ListParams, Patch};
use coracle_cluster::{Cluster, NodeSpec};
use coracle_meta::{ObjectKey, Resource};
use serde_json::{Value, json};

/// A cluster with the simulated CSI driver, in virtual time.
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    client: Client,
}

impl World {
    pub(crate) async fn with_nodes(count: usize) -> Self {
        Self::with_specs((1..=count).map(|number| NodeSpec::new(format!("node-{number}"))).collect()).await
    }

    pub(crate) async fn with_specs(nodes: Vec<NodeSpec>) -> Self {
        Self::of(Cluster::builder().node_specs(nodes).csi_driver().start().await.unwrap()).await
    }

    pub(crate) async fn of(cluster: Cluster) -> Self {
        let client = Client::new(cluster.service(), cluster.ambient());
        // The namespace has its service account then, and pods may be made.
        tokio::time::sleep(Duration::from_secs(1)).await;
        Self { cluster, client }
    }

    pub(crate) fn api<K: Resource>(&self) -> Api<K> {
        Api::of(&self.client)
    }

    /// Makes an object of its JSON.
    pub(crate) async fn create<K: Resource>(&self, object: Value) -> K {
        self.api().create(&serde_json::from_value(object).unwrap()).await.unwrap()
    }

    /// A claim of the default class, with annotations.
    pub(crate) async fn claim(&self, name: &str, annotations: Value) -> PersistentVolumeClaim {
        self.create(json!({
            "metadata": {"namespace": "default", "name": name, "annotations": annotations},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }))
        .await
    }

    /// A pod with these volumes, each mounted at `/` and its name.
    pub(crate) async fn pod(&self, name: &str, volumes: Value) -> Pod {
        let mounts: Vec<Value> = (volumes.as_array().unwrap().iter())
            .map(
                |volume| json!({"name": volume["name"], "mountPath": format!("/{}", volume["name"].as_str().unwrap())}),
            )
            .collect();
        self.create(json!({
            "metadata": {"namespace": "default", "name": name},
            "spec": {
                "containers": [{"name": "c", "image": "web:1", "volumeMounts": mounts}],
                "volumes": volumes, "terminationGracePeriodSeconds": 1,
            },
        }))
        .await
    }

    /// A pod that uses a claim.
    pub(crate) async fn pod_with_claim(&self, name: &str, claim: &str) -> Pod {
        self.pod(name, json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])).await
    }

    pub(crate) async fn delete<K: Resource>(&self, key: &ObjectKey) {
        self.api::<K>().delete(key, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn annotate<K: Resource>(&self, key: &ObjectKey, annotations: Value) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        self.api::<K>().patch(key, &patch).await.unwrap();
    }

    pub(crate) async fn is_ready(&self, pod: &str) -> bool {
        self.api::<Pod>().find(&key(pod)).await.unwrap().is_some_and(|pod| pod.is_ready())
    }

    pub(crate) async fn bound_claim(&self, name: &str) -> Option<PersistentVolumeClaim> {
        let claim = self.api::<PersistentVolumeClaim>().find(&key(name)).await.unwrap()?;
        (claim.status.phase == "Bound").then_some(claim)
    }

    /// The volume of a claim, as soon as it is bound.
    pub(crate) async fn volume_of(&self, claim: &str) -> PersistentVolume {
        until("the claim is bound", async || self.bound_claim(claim).await.is_some()).await;
        let name = self.bound_claim(claim).await.unwrap().spec.volume_name;
        self.api().get(&ObjectKey::cluster(name)).await.unwrap()
    }

    /// The volumes that the status of a node says are in use.
    pub(crate) async fn in_use(&self, node: &str) -> Vec<String> {
        self.api::<Node>().get(&ObjectKey::cluster(node)).await.unwrap().status.volumes_in_use
    }

    /// The node of a pod; none if it is gone or has none.
    pub(crate) async fn node_of(&self, pod: &str) -> Option<String> {
        self.api::<Pod>().find(&key(pod)).await.unwrap()?.node_name().map(str::to_owned)
    }

    /// A StatefulSet with a claim for each pod.
    pub(crate) async fn stateful_set(&self, name: &str, replicas: u32) {
        let labels = json!({"app": name});
        self.create::<StatefulSet>(json!({
            "metadata": {"namespace": "default", "name": name},
            "spec": {
                "serviceName": name, "replicas": replicas, "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "terminationGracePeriodSeconds": 1,
                        "containers": [{"name": "c", "image": "web:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
                    },
                },
                "volumeClaimTemplates": [{
                    "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }],
            },
        }))
        .await;
    }

    /// The events about an object, as `reason: message`.
    pub(crate) async fn events_of(&self, name: &str) -> Vec<String> {
        let events = self.api::<Event>().list(&ListParams::default()).await.unwrap().items;
        let own = events.into_iter().filter(|event| event.involved_object.name == name);
        own.map(|event| format!("{}: {}", event.reason, event.message)).collect()
    }

    pub(crate) async fn has_event_beginning(&self, name: &str, start: &str) -> bool {
        self.events_of(name).await.iter().any(|line| line.starts_with(start))
    }
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// Waits, for at most twenty minutes of virtual time, until something holds.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(1200), wait).await.is_err() {
        panic!("not within twenty minutes: {what}");
    }
}
