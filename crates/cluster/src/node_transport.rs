use std::sync::{Arc, Weak};

use async_trait::async_trait;
use coracle_apiserver::{Body as AnswerBody, NodeTransport};
use coracle_kubelet::{Kubelet, NodeApi};
use coracle_meta::Status;
use http::{Request, Response};
use parking_lot::Mutex;
use tower::ServiceExt;

use crate::Transport;

/// The way to the nodes that live in this process: a function call.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalNodes {
    /// The cluster's, which asks the API server that asks this one.
    kubelet: Arc<Mutex<Weak<Kubelet>>>,
}

impl LocalNodes {
    /// From now on, this kubelet answers for its nodes.
    pub(crate) fn served_by(&self, kubelet: &Arc<Kubelet>) {
        *self.kubelet.lock() = Arc::downgrade(kubelet);
    }

    /// The API of a node; none of one that is not here, or has no power.
    pub(crate) fn api_of(&self, node: &str) -> Option<NodeApi> {
        let kubelet = self.kubelet.lock().upgrade();
        kubelet?.service_for(node)
    }
}

#[async_trait]
impl NodeTransport for LocalNodes {
    async fn call(&self, node: &str, request: Request<AnswerBody>) -> Result<Response<AnswerBody>, Status> {
        let Some(service) = self.api_of(node) else {
            return Err(Status::internal(format!("node {node:?} has no API that this server can reach")));
        };
        let answer = Transport::to(service).oneshot(request).await.map_err(Status::internal)?;
        Ok(answer.map(AnswerBody::new))
    }
}
