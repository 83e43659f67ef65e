use coracle_client::{Api, Client, ListParams, Patch};
use coracle_cluster::{Cluster, User};
use coracle_meta::{GroupVersionResource, Object};
use serde_json::json;

/// Who gives up Leases.
const USER: &str = "coracle";
/// The label of the Leases of API servers.
const OF_API_SERVERS: &str = "apiserver.kubernetes.io/identity";

/// A client for [`give_up`].
pub(crate) fn client(cluster: &Cluster) -> Client {
    cluster.client_as(User::new(USER, ["system:masters"])).with_user_agent(USER)
}

/// Gives up all Leases in some namespaces, as a leader that stops does, so that the next instance acts at once.
pub(crate) async fn give_up(client: &Client, namespaces: &[String]) {
    let resource = GroupVersionResource::new("coordination.k8s.io", "v1", "leases");
    // In Kubernetes: a leader that releases its Lease.
    let released = Patch::Merge(json!({"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}));
    for namespace in namespaces {
        let leases = Api::<Object>::dynamic(client, resource.clone()).within(namespace);
        // Without them, the next instance waits until they expire.
        let Ok(held) = leases.list(&ListParams::default()).await else { continue };
        for lease in held.items.iter().filter(|lease| lease.label(OF_API_SERVERS).is_none()) {
            let _ = leases.patch(&lease.key(), &released).await;
        }
    }
}
