use coracle_api::core_v1::{Node, Pod};
use coracle_client::Client;
use coracle_informer::Lister;

/// What a command in a container needs of the node that speaks for it.
#[derive(Clone)]
pub(crate) struct Reach {
    pub(crate) node: String,
    pub(crate) pods: Lister<Pod>,
    pub(crate) nodes: Lister<Node>,
    pub(crate) client: Client,
}
