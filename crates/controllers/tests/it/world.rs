use std::time::Duration;

use coracle_client::{Api, Client};
use coracle_cluster::Cluster;
use coracle_meta::Resource;

/// A whole control plane in this process, in virtual time.
pub(crate) struct World {
    _cluster: Cluster,
    client: Client,
}

impl World {
    pub(crate) async fn start() -> Self {
        let cluster = Cluster::builder().start().await.unwrap();
        let client = Client::new(cluster.service(), cluster.ambient());
        Self { _cluster: cluster, client }
    }

    pub(crate) fn api<K: Resource>(&self) -> Api<K> {
        Api::of(&self.client)
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
