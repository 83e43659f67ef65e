use axum::body::Body;
use coracle_meta::Status;
use coracle_registry::Deleted;
use http::{Response, StatusCode};

use super::call::VerbCall;
use crate::answer::negotiate::{Format, Negotiated, Transform, body_format};
use crate::answer::respond;
use crate::answer::stream;
use crate::front::body::{self, ObjectBody};
use crate::front::options::{DeleteRequest, delete_options, list_options};

/// Deletes one object, or starts its deletion.
pub(super) async fn one(mut call: VerbCall) -> Result<Response<Body>, Status> {
    let options = read_options(&mut call).await?;
    let asked_to_keep_dependents = options.options.orphan_dependents;
    match call.server.registry.delete(&call.request, &options.options).await? {
        // The older form of a background deletion answers 202 while the object stays; newer clients get 200.
        Deleted::Object(object) => {
            let pending = object.object().is_terminating() && asked_to_keep_dependents == Some(false);
            call.respond_object(if pending { StatusCode::ACCEPTED } else { StatusCode::OK }, &object)
        }
        Deleted::Status(status) => {
            let how = Negotiated { transform: Transform::None, ..call.how };
            Ok(respond::status(&status, how))
        }
    }
}

/// Deletes all selected objects, and returns them.
pub(super) async fn collection(mut call: VerbCall) -> Result<Response<Body>, Status> {
    let selection = list_options(&call.query, false)?;
    let options = read_options(&mut call).await?;
    let deleted = call.server.registry.delete_collection(&call.request, &options.options, &selection).await?;
    stream::list(call.rendering()?, deleted, &call.headers, &call.request.audit).await
}

async fn read_options(call: &mut VerbCall) -> Result<DeleteRequest, Status> {
    let bytes = call.read_body().await?;
    let body = if bytes.is_empty() {
        None
    } else {
        let format = body_format(&call.headers, &Format::ALL)?;
        let options = body::decode_delete_options(&ObjectBody { format, bytes })?;
        call.request.audit.request(|| options.clone());
        Some(options)
    };
    let options = delete_options(&call.query, body.as_ref())?;
    call.request.dry_run = options.dry_run;
    Ok(options)
}
