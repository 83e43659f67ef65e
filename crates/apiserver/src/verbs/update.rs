use axum::body::Body;
use coracle_meta::Status;
use coracle_registry::Written;
use http::{Response, StatusCode};

use super::call::VerbCall;
use crate::front::options::{WriteKind, write_options};

/// Replaces an object, or a part of it.
pub(super) async fn serve(mut call: VerbCall) -> Result<Response<Body>, Status> {
    let bytes = call.read_object().await?;
    call.set_write_options(&write_options(WriteKind::Update, &call.query)?);
    let object = call.decode(&bytes)?;
    let written = call.server.registry.update(&call.request, object).await?;
    respond(&call, &written)
}

/// The response: 201 if the object was created.
pub(super) fn respond(call: &VerbCall, written: &Written) -> Result<Response<Body>, Status> {
    let code = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    call.respond_object(code, &written.object)
}
