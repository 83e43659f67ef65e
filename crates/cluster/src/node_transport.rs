use std::sync::{Arc, Weak};

use async_trait::async_trait;
use coracle_apiserver::{Body as AnswerBody, NodeTransport};
use coracle_kubelet::Kubelet;
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
}

#[async_trait]
impl NodeTransport for LocalNodes {
    async fn call(&self, node: &str, request: Request<AnswerBody>) -> Result<Response<AnswerBody>, Status> {
        let kubelet = self.kubelet.lock().upgrade();
        let Some(service) = kubelet.and_then(|kubelet| kubelet.service_for(node)) else {
            return Err(Status::internal(format!("node {node:?} has no API that this server can reach")));
        };
        let answer = Transport::to(service).oneshot(request).await.map_err(Status::internal)?;
        Ok(answer.map(AnswerBody::new))
    }
}
