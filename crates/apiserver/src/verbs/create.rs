use axum::body::Body;
use coracle_meta::Status;
use http::{Response, StatusCode};

use super::call::VerbCall;
use crate::front::options::{WriteKind, write_options};

/// Creates an object, or runs a subresource that is an action.
pub(super) async fn serve(mut call: VerbCall) -> Result<Response<Body>, Status> {
    let bytes = call.read_object().await?;
    call.set_write_options(&write_options(WriteKind::Create, &call.query)?);
    let object = call.decode(&bytes)?;
    let created = call.server.registry.create(&call.request, object).await?;
    call.respond_object(StatusCode::CREATED, &created)
}
