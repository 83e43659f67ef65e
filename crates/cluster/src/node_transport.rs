use std::sync::Arc;

use async_trait::async_trait;
use coracle_apiserver::{Body as AnswerBody, NodeTransport};
use coracle_meta::Status;
use http::{Request, Response};
use parking_lot::Mutex;
use tower::ServiceExt;

use crate::Transport;

/// The way to the nodes that live in this process: a function call.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalNodes {
    api: Arc<Mutex<Option<NodeApiOf>>>,
}

/// Gives the API of one node.
type NodeApiOf = coracle_kubelet::Kubelet;

impl LocalNodes {
    /// From now on, this kubelet answers for its nodes.
    pub(crate) fn served_by(&self, kubelet: NodeApiOf) {
        *self.api.lock() = Some(kubelet);
    }
}

#[async_trait]
impl NodeTransport for LocalNodes {
    async fn call(&self, node: &str, request: Request<AnswerBody>) -> Result<Response<AnswerBody>, Status> {
        let kubelet = self.api.lock().clone();
        let Some(service) = kubelet.and_then(|kubelet| kubelet.service_for(node)) else {
            return Err(Status::internal(format!("node {node:?} has no API that this server can reach")));
        };
        let answer = Transport::to(service).oneshot(request).await.map_err(Status::internal)?;
        Ok(answer.map(AnswerBody::new))
    }
}
