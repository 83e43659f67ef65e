use axum::body::Body;
use coracle_meta::Status;
use http::Response;

use super::Call;
use crate::options::list_options;
use crate::stream;

/// Answers with the objects of a collection.
pub(super) async fn serve(call: Call) -> Result<Response<Body>, Status> {
    let options = list_options(&call.query, false)?;
    let list = call.server.registry.list(&call.request, &options).await?;
    stream::list(call, list).await
}
