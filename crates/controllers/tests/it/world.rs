use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_client::{Api, Client, ListParams};
use coracle_cluster::{Builder, Cluster};
use coracle_controllers::Config;
use coracle_meta::{GroupVersionResource, Object, Resource};

/// A whole control plane in this process, in virtual time.
pub(crate) struct World {
    _cluster: Cluster,
    pub(crate) client: Client,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with_nodes(0).await
    }

    pub(crate) async fn with_nodes(count: usize) -> Self {
        Self::of(Cluster::builder().nodes(count)).await
    }

    /// With controllers that were told something.
    pub(crate) async fn start_with(controllers: Config) -> Self {
        Self::of(Cluster::builder().kubernetes(controllers.release.clone()).controllers(controllers)).await
    }

    async fn of(builder: Builder) -> Self {
        let cluster = builder.start().await.unwrap();
        let client = Client::new(cluster.service(), cluster.ambient());
        Self { _cluster: cluster, client }
    }

    /// Makes an object of its JSON.
    pub(crate) async fn create<K: Resource>(&self, object: serde_json::Value) -> K {
        self.api().create(&serde_json::from_value(object).unwrap()).await.unwrap()
    }

    /// The pods of namespace `default`.
    pub(crate) async fn pods(&self) -> Vec<Pod> {
        self.api().within("default").list(&ListParams::default()).await.unwrap().items
    }

    pub(crate) fn dynamic(&self, resource: GroupVersionResource) -> Api<Object> {
        Api::dynamic(&self.client, resource)
    }

    pub(crate) fn api<K: Resource>(&self) -> Api<K> {
        Api::of(&self.client)
    }
}

/// Grants rights to the service account of a controller, as the bootstrap roles of a later release do.
pub(crate) async fn allow(client: &Client, account: &str, rules: serde_json::Value) {
    let name = format!("test:{account}");
    let role = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules,
    });
    let binding = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": "kube-system", "name": account}],
    });
    for (resource, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let resource = GroupVersionResource::new("rbac.authorization.k8s.io", "v1", resource);
        let kinds = Api::<Object>::dynamic(client, resource);
        kinds.create(&serde_json::from_value(object).unwrap()).await.unwrap();
    }
}

/// Waits, for at most ten minutes of virtual time, until something holds.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    if tokio::time::timeout(Duration::from_secs(600), wait).await.is_err() {
        panic!("not within ten minutes: {what}");
    }
}
