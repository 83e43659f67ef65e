use axum::body::Body;
use bytes::Bytes;
use coracle_meta::{Object, Status, reason};
use coracle_registry::{DeleteOptions, FieldValidation, Kind, Request, Subresource};
use coracle_schema::decode;
use http_body_util::{BodyExt, Limited};
use serde_json::Value;

use crate::answer::negotiate::Format;

/// Reads the whole body, of at most `limit` bytes.
pub(crate) async fn read(body: Body, limit: usize) -> Result<Bytes, Status> {
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
    /// How.
    pub(crate) format: Format,
    /// What.
    pub(crate) bytes: Bytes,
}

/// The object that a body holds. What nobody knows is dropped, and told of as the request wants it.
pub(crate) fn decode(kind: &Kind, request: &Request, body: &ObjectBody) -> Result<Object, Status> {
    let other = kind.subresource(&request.at.subresource).and_then(Subresource::body);
    let (expected, schema) = match &other {
        Some(body) => (&body.gvk, &body.schema),
        None => (kind.gvk(), kind.schema()),
    };
    let decoded = decode::decode(&body.bytes, body.format, expected, schema)?;
    match request.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => decoded.strict.iter().for_each(|finding| request.warnings.add(finding.as_str())),
        FieldValidation::Strict => decoded.strict_error(expected).map_or(Ok(()), Err)?,
    }
    Ok(decoded.object)
}

/// The options of a delete. Their group and version may be any: clients send those of the resource.
pub(crate) fn decode_delete_options(body: &ObjectBody) -> Result<Value, Status> {
    let expected = DeleteOptions::body();
    let decoded = decode::decode(&body.bytes, body.format, &expected.gvk, &expected.schema)?;
    Ok(decoded.object.into_value())
}
