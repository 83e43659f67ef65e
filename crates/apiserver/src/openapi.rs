//! The documents that say what objects look like: `/openapi/v2` and `/openapi/v3`.

use axum::body::Body;
use coracle_meta::Status;
use coracle_registry::Kinds;
use http::Response;

use crate::server::Received;

/// The documents of one set of kinds, made when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct OpenApi {}

impl OpenApi {
    /// Answers `/openapi/v2`, `/openapi/v3` and what is below; `None` for any other path.
    pub(crate) fn serve(
        &self,
        _kinds: &Kinds,
        _received: &Received,
        _path: &str,
    ) -> Option<Result<Response<Body>, Status>> {
        None
    }
}
