use async_trait::async_trait;
use axum::body::Body;
use coracle_meta::{Status, reason};
use coracle_registry::Registry;

/// The transport to the kubelet API of nodes (logs, commands, usage): a function call for nodes in this process, HTTPS
/// for other nodes.
#[async_trait]
pub trait NodeTransport: Send + Sync + 'static {
    /// Sends a request to a node, with the path and query of the kubelet API. A connection in its extensions is joined
    /// to the node's, if the node [upgrades](Self::upgrades) connections and accepts the upgrade.
    async fn call(
        &self,
        registry: &Registry,
        node: &str,
        request: http::Request<Body>,
    ) -> Result<http::Response<Body>, NodeFailure>;

    /// Whether this node runs commands over upgraded connections, as between machines. Otherwise a command is a
    /// sequence of pieces ([`coracle_meta::channels`]) in the bodies of a request and its response.
    fn upgrades(&self, node: &str) -> bool;
}

/// Why a node did not respond.
#[derive(Clone, Debug)]
pub enum NodeFailure {
    /// The request was not sent.
    NotAsked(Status),
    /// There was no response.
    NoAnswer {
        /// The requested URL: `https://172.18.0.2:10250/containerLogs/…`.
        url: String,
        /// The reason in the words of Go's HTTP client: `dial tcp 172.18.0.2:10250: connect: connection refused`.
        why: String,
    },
}

impl NodeFailure {
    /// In Kubernetes: the error of `LocationStreamer`.
    pub(crate) fn of_log(self) -> Status {
        self.told(|url, why| Status::failure(500, "", format!("Get {url:?}: {why}")))
    }

    /// In Kubernetes: the error of `DialForUpgrade`.
    pub(crate) fn of_stream(self) -> Status {
        self.told(|_, why| Status::failure(500, "", format!("error dialing backend: {why}")))
    }

    /// In Kubernetes: the error of `proxyutil.Transport`.
    pub(crate) fn of_proxy(self) -> Status {
        let message = |why: &str| format!("error trying to reach service: {why}");
        self.told(|_, why| Status::failure(503, reason::SERVICE_UNAVAILABLE, message(why)))
    }

    fn told(self, tell: impl FnOnce(&str, &str) -> Status) -> Status {
        match self {
            Self::NotAsked(status) => status,
            Self::NoAnswer { url, why } => tell(&url, &why),
        }
    }
}

/// A transport without nodes: every call fails with an error that says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNodes;

#[async_trait]
impl NodeTransport for NoNodes {
    async fn call(
        &self,
        _registry: &Registry,
        node: &str,
        _request: http::Request<Body>,
    ) -> Result<http::Response<Body>, NodeFailure> {
        let why = format!("this server has no way to the API of node {node:?}");
        Err(NodeFailure::NotAsked(Status::internal(why)))
    }

    fn upgrades(&self, _node: &str) -> bool {
        false
    }
}
