use axum::body::Body;
use coracle_meta::Status;
use coracle_registry::Written;
use http::{Response, StatusCode};

use super::call::Call;
use crate::front::options::{WriteKind, write_options};

/// Replaces an object, or a part of it.
pub(super) async fn serve(mut call: Call) -> Result<Response<Body>, Status> {
    let bytes = call.read_object().await?;
    call.set_write_options(&write_options(WriteKind::Update, &call.query)?);
    let object = call.decode(&bytes)?;
    let written = call.server.registry.update(&call.request, object).await?;
    respond(&call, &written)
}

/// The response: 201 if the object was created.
pub(super) fn respond(call: &Call, written: &Written) -> Result<Response<Body>, Status> {
    let code = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    call.respond_object(code, &written.object)
}
