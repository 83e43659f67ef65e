use coracle_api::core_v1::{Node, Pod};
use coracle_client::Client;
use coracle_informer::Lister;

/// What a command in a container needs from the agent of its node.
#[derive(Clone)]
pub(crate) struct ExecContext {
    pub(crate) node: String,
    pub(crate) pods: Lister<Pod>,
    pub(crate) nodes: Lister<Node>,
    pub(crate) client: Client,
}
