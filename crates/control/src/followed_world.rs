use std::sync::Arc;

use coracle_cluster::Cluster;
use coracle_sim::World;
use tokio::task::JoinSet;

/// The objects of a cluster. They are followed until the set is dropped. Call it on the runtime of the cluster.
pub(crate) fn follow(cluster: &Cluster, namespace: &str) -> (World, JoinSet<()>) {
    let world = World::new(cluster.store(), namespace, Arc::new(cluster.plurals()), Vec::new());
    let (followed, mut following) = (world.clone(), JoinSet::new());
    // Without a store, the questions about the world fail.
    following.spawn(async move { drop(followed.follow().await) });
    (world, following)
}
