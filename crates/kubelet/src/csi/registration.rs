//! Registers the driver on a node through the node's kubelet.
//!
//! In Kubernetes: `NodeGetInfo` of CSI, and `pkg/volume/csi/nodeinfomanager`.

use coracle_api::core_v1::Node;
use coracle_api::storage_v1::{CSINode, CSINodeDriver, VolumeNodeResources};
use coracle_client::{Api, Client, Error};
use coracle_meta::{ObjectKey, OwnerReference, Resource};

use super::DRIVER;
use super::topology::{HOSTNAME, ZONE};

/// How many volumes of the driver a node can attach by default.
const LIMIT: i32 = 25;
/// The annotation of a Node that sets another limit. The kubelet reads it when the node starts.
const LIMIT_ANNOTATION: &str = "coracle.dev/volume-limit";

/// Adds the driver to the CSINode of the node.
///
/// # Errors
/// The error of the API server.
pub(crate) async fn register(client: &Client, node: &Node) -> Result<(), Error> {
    let api: Api<CSINode> = Api::of(client);
    let Some(found) = api.find(&ObjectKey::cluster(node.key().name.as_str())).await? else {
        let mut object = CSINode::default();
        object.metadata.name.clone_from(&node.metadata.name);
        object.metadata.owner_references = vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Node".to_owned(),
            name: node.key().name,
            uid: node.metadata.uid.clone().unwrap_or_default(),
            ..OwnerReference::default()
        }];
        object.spec.drivers = vec![driver(node)];
        return api.create(&object).await.map(drop);
    };
    let registered = with_driver(&found, node);
    if registered == found { Ok(()) } else { api.update(&registered).await.map(drop) }
}

fn with_driver(found: &CSINode, node: &Node) -> CSINode {
    let mut object = found.clone();
    object.spec.drivers.retain(|driver| driver.name != DRIVER);
    object.spec.drivers.push(driver(node));
    object
}

/// The driver's entry for a node: its node id, its topology keys and its volume limit.
fn driver(node: &Node) -> CSINodeDriver {
    let told = node.metadata.annotations.get(LIMIT_ANNOTATION).and_then(|limit| limit.parse().ok());
    let limit = told.filter(|limit| *limit > 0).unwrap_or(LIMIT);
    let labels = [HOSTNAME, ZONE].into_iter().filter(|label| node.metadata.labels.contains_key(*label));
    CSINodeDriver {
        name: DRIVER.to_owned(),
        node_id: node.key().name,
        topology_keys: labels.map(str::to_owned).collect(),
        allocatable: Some(Box::new(VolumeNodeResources { count: Some(limit), ..VolumeNodeResources::default() })),
        ..CSINodeDriver::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_says_how_many_volumes_it_takes_and_where_it_is_and_leaves_other_drivers_alone() {
        let mut node = Node::default();
        node.metadata.name = Some("n".to_owned());
        node.metadata.labels.insert(HOSTNAME.to_owned(), "n".to_owned());
        let mut found = CSINode::default();
        found.spec.drivers = vec![CSINodeDriver { name: "other".to_owned(), ..CSINodeDriver::default() }];
        let first = with_driver(&found, &node);
        let names: Vec<_> = first.spec.drivers.iter().map(|driver| driver.name.as_str()).collect();
        assert_eq!(names, ["other", DRIVER]);
        assert_eq!(with_driver(&first, &node), first);
        assert_eq!(driver(&node).topology_keys, [HOSTNAME]);
        let count = |node: &Node| driver(node).allocatable.and_then(|resources| resources.count);
        assert_eq!(count(&node), Some(LIMIT));
        for (told, limit) in [("3", 3), ("0", LIMIT), ("many", LIMIT)] {
            node.metadata.annotations.insert(LIMIT_ANNOTATION.to_owned(), told.to_owned());
            assert_eq!(count(&node), Some(limit), "{told}");
        }
    }
}
