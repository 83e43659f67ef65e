use std::time::Duration;

use coracle_apiserver::{Body as AnswerBody, NodeFailure};
use coracle_egress::HttpsCalls;
use coracle_meta::{GroupVersionResource, Status};
use coracle_registry::{GetOptions, Registry, Trust, Verb};
use http::header::{HOST, HeaderValue, USER_AGENT};
use http::{Request, Response};

use crate::node_address::NodeAddress;
use crate::{Error, KubeletClient, boxed};

/// The timeout for the beginning of a node's response.
const PATIENCE: Duration = Duration::from_secs(30);

/// Nodes that are reached over HTTPS, like a kubelet.
///
/// One process can serve many nodes at one address: the header `Host`, `NODE:PORT`, selects the node, as with DNS names
/// of nodes.
pub(crate) struct RemoteNodes {
    calls: HttpsCalls,
    client: KubeletClient,
    trust: Trust,
}

impl std::fmt::Debug for RemoteNodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteNodes").field("client", &self.client).finish_non_exhaustive()
    }
}

impl RemoteNodes {
    /// # Errors
    /// If a certificate cannot be read.
    pub(crate) fn new(client: &KubeletClient) -> Result<Self, Error> {
        let trust = match &client.authority {
            Some(authority) => Trust::Authorities(authority.text()?.into_bytes().into()),
            None => Trust::Anybody,
        };
        Ok(Self { calls: HttpsCalls::new(client.identity.as_ref())?, client: client.clone(), trust })
    }

    /// Sends a request to the node with this name.
    pub(crate) async fn call(
        &self,
        registry: &Registry,
        node: &str,
        mut request: Request<AnswerBody>,
    ) -> Result<Response<AnswerBody>, NodeFailure> {
        let address = self.address_of(registry, node).await?;
        let origin = address.origin();
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let url = format!("{origin}{path}");
        let host = HeaderValue::try_from(format!("{node}:{}", address.port));
        let host = host.map_err(|error| NodeFailure::NotAsked(Status::internal(error)))?;
        request.headers_mut().insert(HOST, host);
        request.headers_mut().entry(USER_AGENT).or_insert(HeaderValue::from_static("kube-apiserver"));
        let sent = self.calls.send(&origin, address.host, &self.trust, request.map(boxed));
        match tokio::time::timeout(PATIENCE, sent).await {
            Ok(Ok(answer)) => Ok(answer.map(AnswerBody::new)),
            Ok(Err(why)) => Err(NodeFailure::NoAnswer { url, why }),
            Err(_) => Err(NodeFailure::NoAnswer { url, why: "net/http: timeout awaiting response headers".to_owned() }),
        }
    }

    async fn address_of(&self, registry: &Registry, node: &str) -> Result<NodeAddress, NodeFailure> {
        let nodes = GroupVersionResource::new("", "v1", "nodes");
        let about = coracle_registry::Request::new(Verb::Get, nodes, registry.ambient().clock.now()).object("", node);
        let found = registry.get(&about, &GetOptions::default()).await.map_err(NodeFailure::NotAsked)?;
        let address = NodeAddress::of(&found.object(), &self.client);
        address.map_err(|why| NodeFailure::NotAsked(Status::failure(500, "", why)))
    }
}
