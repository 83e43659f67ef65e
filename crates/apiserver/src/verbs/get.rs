use axum::body::Body;
use coracle_meta::Status;
use http::{Response, StatusCode};

use super::call::VerbCall;
use crate::answer::negotiate::Negotiated;
use crate::front::options::get_options;
use crate::record::ReadRevision;

/// Returns one object, or a part of it.
pub(super) async fn serve(call: VerbCall) -> Result<Response<Body>, Status> {
    let object = call.server.registry.get(&call.request, &get_options(&call.query)).await?;
    if call.how != Negotiated::JSON {
        call.weight.add(object.len()).await;
    }
    let mut response = call.respond_object(StatusCode::OK, &object)?;
    response.extensions_mut().insert(ReadRevision(object.revision()));
    Ok(response)
}
