use axum::body::Body;
use coracle_meta::Status;
use http::Response;

use super::call::VerbCall;
use crate::answer::stream;
use crate::front::options::list_options;
use crate::record::ReadRevision;

/// Returns the objects of a collection.
pub(super) async fn serve(call: VerbCall) -> Result<Response<Body>, Status> {
    let options = list_options(&call.query, false)?;
    let list = call.server.registry.list(&call.request, &options).await?;
    let revision = list.revision;
    let mut response = stream::list(call.rendering()?, list, &call.headers, &call.request.audit).await?;
    response.extensions_mut().insert(ReadRevision(revision));
    Ok(response)
}
