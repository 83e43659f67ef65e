//! Registers CSI drivers on a node. In Kubernetes: `pkg/volume/csi/nodeinfomanager`.

use coracle_api::core_v1::Node;
use coracle_api::storage_v1::{CSINode, CSINodeDriver};
use coracle_client::{Api, Client, Error};
use coracle_kubelet_api::NodeService;
use coracle_meta::{ObjectKey, OwnerReference, Resource};

/// Adds a driver to the CSINode of the node.
///
/// # Errors
/// The error of the API server.
pub(crate) async fn register_csi_driver(client: &Client, node: &Node, driver: &dyn NodeService) -> Result<(), Error> {
    let api: Api<CSINode> = Api::of(client);
    let info = driver.node_info(node);
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
        object.spec.drivers = vec![info];
        return api.create(&object).await.map(drop);
    };
    let registered = with_driver(&found, info);
    if registered == found { Ok(()) } else { api.update(&registered).await.map(drop) }
}

fn with_driver(found: &CSINode, info: CSINodeDriver) -> CSINode {
    let mut object = found.clone();
    object.spec.drivers.retain(|driver| driver.name != info.name);
    object.spec.drivers.push(info);
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registering_a_driver_leaves_other_drivers_alone() {
        let driver = |name: &str| CSINodeDriver { name: name.to_owned(), ..CSINodeDriver::default() };
        let mut found = CSINode::default();
        found.spec.drivers = vec![driver("other")];
        let first = with_driver(&found, driver("own"));
        let names: Vec<_> = first.spec.drivers.iter().map(|driver| driver.name.as_str()).collect();
        assert_eq!(names, ["other", "own"]);
        assert_eq!(with_driver(&first, driver("own")), first);
    }
}
