use coracle_apiserver::NodeTransport;
use coracle_kubelet::NodeApi;

/// The nodes whose usage is served.
pub trait Nodes: NodeTransport {
    /// The API of a node in this process; `None` for other nodes, and for nodes that are powered off.
    fn api_of(&self, node: &str) -> Option<NodeApi>;
}
