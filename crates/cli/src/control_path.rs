//! Paths that control a running cluster, in addition to those of its API: for members of `system:masters`.

use bytes::Bytes;
use coracle_cluster::{Body, PathRequest, PathService, Transport};
use coracle_meta::Status;
use http::header::CONTENT_TYPE;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::Value;

/// The group with access. A permission for `nonResourceURLs` does not suffice: a snapshot contains the key of the
/// authority, and a fault acts on every user.
const MASTERS: &str = "system:masters";

/// The API of a cluster, whose requests for some paths go to `service`. The API server authenticates and authorizes them.
pub(crate) fn in_front_of(front: Transport, is_of_service: fn(&str) -> bool, service: PathService) -> Transport {
    Transport::to(tower::service_fn(move |mut request: Request<Body>| {
        if is_of_service(request.uri().path()) {
            request.extensions_mut().insert(service.clone());
        }
        let front = front.clone();
        async move { front.send(request).await }
    }))
}

/// Refuses a user without access; `verb` says what the user may not do with `path`.
pub(crate) fn only_masters(asked: &PathRequest, verb: &str, path: &str) -> Result<(), Status> {
    if asked.user.is_in(MASTERS) {
        return Ok(());
    }
    Err(Status::failure(403, "Forbidden", format!("you may not {verb} {path}: only members of {MASTERS} may")))
}

/// An answer in JSON.
pub(crate) fn respond(code: StatusCode, body: &Value) -> Result<Response<Full<Bytes>>, Status> {
    let answer = Response::builder().status(code).header(CONTENT_TYPE, "application/json");
    answer
        .body(Full::from(format!("{body}\n")))
        .map_err(|error| Status::failure(500, "InternalError", error.to_string()))
}
