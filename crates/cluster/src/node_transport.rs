use std::sync::{Arc, Weak};

use async_trait::async_trait;
use coracle_apiserver::{Body as AnswerBody, NodeFailure, NodeTransport};
use coracle_kubelet::{Kubelet, NodeApi};
use coracle_meta::Status;
use coracle_metrics_server::Nodes;
use coracle_registry::Registry;
use http::{Request, Response};
use parking_lot::Mutex;
use tower::ServiceExt;

#[cfg(feature = "serve")]
use crate::remote_nodes::RemoteNodes;
use crate::{ApiServerOptions, Error, Transport};

/// The transports to nodes: a function call for nodes of this process, HTTPS for all others if there are sockets.
#[derive(Clone, Debug)]
pub struct NodeTransports {
    /// The kubelet of the cluster, which holds a client of this API server.
    kubelet: Arc<Mutex<Weak<Kubelet>>>,
    #[cfg(feature = "serve")]
    far: Option<Arc<RemoteNodes>>,
}

impl NodeTransports {
    /// Transports with the client of `options` for nodes of other processes, in real time.
    ///
    /// # Errors
    /// If a certificate cannot be read.
    #[cfg_attr(not(feature = "serve"), expect(unused_variables, reason = "without sockets there are no calls"))]
    pub fn new(options: &ApiServerOptions) -> Result<Self, Error> {
        Ok(Self {
            kubelet: Arc::default(),
            #[cfg(feature = "serve")]
            far: match &options.kubelet_client {
                Some(client) if !crate::clock::is_paused() => Some(Arc::new(RemoteNodes::new(client)?)),
                _ => None,
            },
        })
    }

    /// Sets the kubelet that serves its nodes.
    pub(crate) fn served_by(&self, kubelet: &Arc<Kubelet>) {
        *self.kubelet.lock() = Arc::downgrade(kubelet);
    }

    /// Whether a node is simulated in this process, or there is no client for nodes of other processes.
    fn is_near(&self, node: &str) -> bool {
        #[cfg(feature = "serve")]
        if self.far.is_some() {
            let kubelet = self.kubelet.lock().upgrade();
            return kubelet.is_some_and(|kubelet| kubelet.has_node(node));
        }
        let _ = node;
        true
    }

    /// Sends a request to a node of another process, at the address and port in its Node.
    #[cfg_attr(not(feature = "serve"), expect(unused_variables, reason = "without sockets there are no calls"))]
    async fn call_far(
        &self,
        registry: &Registry,
        node: &str,
        request: Request<AnswerBody>,
    ) -> Result<Response<AnswerBody>, NodeFailure> {
        #[cfg(feature = "serve")]
        if let Some(far) = &self.far {
            return far.call(registry, node, request).await;
        }
        Err(nobody(node))
    }
}

fn nobody(node: &str) -> NodeFailure {
    NodeFailure::NotAsked(Status::internal(format!("node {node:?} has no API that this server can reach")))
}

impl Nodes for NodeTransports {
    fn api_of(&self, node: &str) -> Option<NodeApi> {
        let kubelet = self.kubelet.lock().upgrade();
        kubelet?.service_for(node)
    }
}

#[async_trait]
impl NodeTransport for NodeTransports {
    async fn call(
        &self,
        registry: &Registry,
        node: &str,
        request: Request<AnswerBody>,
    ) -> Result<Response<AnswerBody>, NodeFailure> {
        if !self.is_near(node) {
            return self.call_far(registry, node, request).await;
        }
        let service = self.api_of(node).ok_or_else(|| nobody(node))?;
        let answer = Transport::to(service).oneshot(request).await;
        let answer = answer.map_err(|error| NodeFailure::NotAsked(Status::internal(error)))?;
        Ok(answer.map(AnswerBody::new))
    }

    fn upgrades(&self, node: &str) -> bool {
        !self.is_near(node)
    }
}
