use bytes::Bytes;
use coracle_meta::{GroupVersionKind, Object, Status, reason};
use http_body_util::{BodyExt, Limited};
use serde_json::Value;

use crate::negotiate::{Format, body_format};
use crate::verbs::Call;

/// Reads the whole body, up to the server's limit.
pub(crate) async fn read(call: &mut Call) -> Result<Bytes, Status> {
    let limit = call.server.limits.body_bytes;
    let body = std::mem::take(&mut call.body);
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            let message = format!("Request entity too large: limit is {limit}");
            Err(Status::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, message))
        }
        Err(error) => Err(Status::bad_request(format!("the body of the request cannot be read: {error}"))),
    }
}

/// A body that holds an object, and how it is written.
pub(crate) struct ObjectBody {
    format: Format,
    bytes: Bytes,
}

/// Reads a body that holds an object; of an unknown media type it is not even read.
pub(crate) async fn read_object(call: &mut Call) -> Result<ObjectBody, Status> {
    let formats = if call.kind.is_custom() { &Format::WITHOUT_PROTOBUF[..] } else { &Format::ALL[..] };
    let format = body_format(&call.headers, formats)?;
    Ok(ObjectBody { format, bytes: read(call).await? })
}

/// The kind that a body at this path has.
fn expected_kind(call: &Call) -> GroupVersionKind {
    let subresource = call.kind.row().subresource(&call.request.subresource);
    subresource.map_or_else(|| call.kind.gvk().clone(), |row| row.kind.clone())
}

/// The object that a body holds. What nobody knows is dropped, and told of as the request wants it.
pub(crate) fn decode(call: &Call, body: ObjectBody) -> Result<Object, Status> {
    let _ = (expected_kind(call), body.format);
    let value: Value = serde_json::from_slice(&body.bytes).map_err(|error| Status::bad_request(error.to_string()))?;
    Object::from_value(value).map_err(|error| Status::bad_request(error.to_string()))
}

/// The options of a delete, if the body is not empty.
pub(crate) async fn read_delete_options(call: &mut Call) -> Result<Option<Value>, Status> {
    let bytes = read(call).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let _format = body_format(&call.headers, &Format::ALL)?;
    let value = serde_json::from_slice(&bytes).map_err(|error| Status::bad_request(error.to_string()))?;
    Ok(Some(value))
}
