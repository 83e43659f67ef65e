//! Where a cluster that runs gives a snapshot of itself away: a path of its API, for whoever may `get` it.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use coracle_cluster::{Body, BoxError, Cluster, Kubelet, Transport};
use coracle_store::{Store, disk};
use futures_util::stream;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::{Value, json};

use crate::snapshot;
use crate::state::StateFolder;

/// The path. `system:masters` may get it, and whom a role lets (`nonResourceURLs`).
pub(crate) const PATH: &str = "/coracle/snapshot";
/// Who may get it, the API server is asked by.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// How much of the file goes at once.
const CHUNK: usize = 1 << 16;

/// What a snapshot of a running cluster is taken of.
#[derive(Clone)]
pub(crate) struct SnapshotDoor {
    front: Transport,
    folder: StateFolder,
    store: Arc<dyn Store>,
    kubelet: Kubelet,
    /// One at a time: they are made under the same names.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl SnapshotDoor {
    /// The front door of a cluster, with this beside it.
    pub(crate) fn beside(cluster: &Cluster, folder: &StateFolder) -> Transport {
        let door = Self {
            front: cluster.front_door(),
            folder: folder.clone(),
            store: cluster.store(),
            kubelet: cluster.kubelet().clone(),
            turn: Arc::default(),
        };
        Transport::to(tower::service_fn(move |request: Request<Body>| {
            let door = door.clone();
            async move {
                match request.uri().path() {
                    PATH => door.answer(request).await,
                    _ => door.front.send(request).await,
                }
            }
        }))
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        if request.method() != Method::GET {
            return Ok(refused(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "a snapshot can only be got"));
        }
        let review = self.front.send(review(request)?).await?;
        if !review.status().is_success() {
            return Ok(review);
        }
        let review: Value = serde_json::from_slice(&review.into_body().collect().await?.to_bytes())?;
        if review["status"]["allowed"] != true {
            return Ok(refused(StatusCode::FORBIDDEN, "Forbidden", &format!("you may not get {PATH}")));
        }
        Ok(match self.take().await {
            Ok(file) => sent(file)?,
            Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", &format!("{error:#}")),
        })
    }

    /// The store first, the nodes after it: what a node knows is then never older than what the API says of it.
    async fn take(&self) -> Result<File> {
        let _turn = self.turn.lock().await;
        let live = disk::Live::read(&*self.store).await?;
        let (folder, nodes) = (self.folder.clone(), self.kubelet.save());
        #[expect(clippy::disallowed_methods, reason = "a disk is written, in real time")]
        let written = tokio::task::spawn_blocking(move || snapshot::save_running(&folder, &live, &nodes));
        written.await.context("the snapshot was not written to its end")?
    }
}

/// Asks, as whoever sent the request, whether it may be sent.
fn review(request: Request<Body>) -> Result<Request<Body>, BoxError> {
    let (mut parts, _) = request.into_parts();
    parts.method = Method::POST;
    parts.uri = REVIEWS.parse()?;
    let is_who = |name: &http::HeaderName| *name == AUTHORIZATION || name.as_str().starts_with("impersonate-");
    let who = parts.headers.iter().filter(|(name, _)| is_who(name));
    parts.headers = who.map(|(name, value)| (name.clone(), value.clone())).collect();
    parts.headers.insert(CONTENT_TYPE, "application/json".parse()?);
    let asked = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"nonResourceAttributes": {"path": PATH, "verb": "get"}},
    });
    Ok(Request::from_parts(parts, Body::new(Full::new(Bytes::from(asked.to_string())))))
}

fn refused(code: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    let mut answer = Response::new(Body::new(Full::new(Bytes::from(status.to_string()))));
    *answer.status_mut() = code;
    answer.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    answer
}

/// The file, piece by piece.
fn sent(file: File) -> Result<Response<Body>, BoxError> {
    let length = file.metadata()?.len();
    let pieces = stream::unfold(Some(file), |file| async move {
        let mut file = file?;
        let mut piece = vec![0; CHUNK];
        match file.read(&mut piece) {
            Ok(0) => None,
            Ok(read) => {
                piece.truncate(read);
                Some((Ok(Frame::data(Bytes::from(piece))), Some(file)))
            }
            Err(error) => Some((Err(error), None)),
        }
    });
    let answer = Response::builder().header(CONTENT_TYPE, "application/gzip").header(CONTENT_LENGTH, length);
    Ok(answer.body(Body::new(StreamBody::new(pieces)))?)
}
