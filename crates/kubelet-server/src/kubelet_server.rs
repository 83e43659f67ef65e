use std::sync::Arc;
use std::task::{Context, Poll};

use coracle_apiserver::{Body as ServerBody, PeerCertificates, remote_command};
use coracle_client::Client;
use coracle_handover::{Body, BoxError};
use coracle_kubelet::Kubelet;
use coracle_meta::{ObjectKey, Status};
use coracle_registry::User;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use tower::{Service, ServiceExt};

use crate::attributes::{subresources, verb};
use crate::reviews::Reviews;

/// Serves the API of the nodes of a kubelet process. If the process has several nodes, the header `Host` names one, or
/// the request names a pod and is for the node of that pod.
#[derive(Clone)]
pub struct KubeletServer {
    kubelet: Kubelet,
    reviews: Arc<Reviews>,
}

impl std::fmt::Debug for KubeletServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubeletServer").field("kubelet", &self.kubelet).finish_non_exhaustive()
    }
}

impl KubeletServer {
    /// A server that uses `client` for TokenReviews and SubjectAccessReviews.
    pub fn new(kubelet: Kubelet, client: &Client) -> Self {
        Self { kubelet, reviews: Arc::new(Reviews::new(client)) }
    }

    /// # Errors
    /// If the requested node is powered off or partitioned: it does not respond.
    async fn serve(self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let (head, body) = request.into_parts();
        let Some(user) = self.known(&head).await else {
            return Ok(text(StatusCode::UNAUTHORIZED, "Unauthorized"));
        };
        let node = self.node_of(&head);
        if let Some(refusal) = self.refused(&user, &head, node.as_deref().unwrap_or_default()).await {
            return Ok(refusal);
        }
        let Some(node) = node else {
            let why = "several nodes are simulated here: the header Host has to say which one, as NODE:PORT\n";
            return Ok(text(StatusCode::NOT_FOUND, why));
        };
        let Some(api) = self.kubelet.service_for(&node) else {
            return Err(format!("node {node:?} does not answer").into());
        };
        let is_stream = matches!(steps(&head).first(), Some(&("exec" | "attach")));
        let request = Request::from_parts(head, ServerBody::new(body));
        if !is_stream {
            return Ok(api.oneshot(request).await.map(|answer| answer.map(Body::new))?);
        }
        let call = |request: Request<ServerBody>| async {
            let answer = api.oneshot(request).await.map_err(Status::internal)?;
            Ok(answer.map(ServerBody::new))
        };
        match remote_command(request, call).await {
            Ok(answer) => Ok(answer.map(Body::new)),
            Err(status) => Ok(text(code(&status), &status.message)),
        }
    }

    /// The user of a request; `None` if it has no valid credentials.
    async fn known(&self, head: &Parts) -> Option<User> {
        let shown = head.extensions.get::<PeerCertificates>().and_then(|chain| chain.0.first());
        if let Some(user) = shown.and_then(|certificate| coracle_auth::certified_user(certificate)) {
            return Some(user);
        }
        let said = head.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, token) = said.trim().split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") { self.reviews.whose(token.trim()).await } else { None }
    }

    /// The node of a request.
    fn node_of(&self, head: &Parts) -> Option<String> {
        let host = head.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| head.uri.authority().map(http::uri::Authority::as_str)).unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        if self.kubelet.has_node(name) {
            return Some(name.to_owned());
        }
        let mut all = self.kubelet.nodes();
        if all.len() == 1 {
            return all.pop();
        }
        match steps(head).as_slice() {
            ["containerLogs" | "exec" | "attach", namespace, pod, ..] => {
                self.kubelet.node_of(&ObjectKey::new(*namespace, *pod))
            }
            _ => None,
        }
    }

    /// The response to an unauthorized request.
    async fn refused(&self, user: &User, head: &Parts, node: &str) -> Option<Response<Body>> {
        let (verb, subresources) = (verb(&head.method), subresources(head.uri.path()));
        for subresource in &subresources {
            match self.reviews.allows(user, verb, node, subresource).await {
                Ok(true) => return None,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, user = user.name, "the node cannot authorize a request");
                    let (user, about) = (&user.name, "Authorization error");
                    let why = format!("{about} (user={user}, verb={verb}, resource=nodes, subresource={subresource})");
                    return Some(text(StatusCode::INTERNAL_SERVER_ERROR, &why));
                }
            }
        }
        let (user, all) = (&user.name, subresources.join(" "));
        let why = format!("Forbidden (user={user}, verb={verb}, resource=nodes, subresource(s)=[{all}])\n");
        Some(text(StatusCode::FORBIDDEN, &why))
    }
}

fn steps(head: &Parts) -> Vec<&str> {
    head.uri.path().trim_matches('/').split('/').collect()
}

fn code(status: &Status) -> StatusCode {
    StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn text(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::from(text.to_owned())));
    *response.status_mut() = status;
    let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

impl Service<Request<Body>> for KubeletServer {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().serve(request))
    }
}
