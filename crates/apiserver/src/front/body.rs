use axum::body::Body;
use bytes::Bytes;
use coracle_meta::{GroupVersionKind, Object, Status, reason};
use coracle_registry::{FieldValidation, Kind, Request};
use coracle_schema::{Table, decode};
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
    let subresource = kind.row().subresource(&request.at.subresource);
    let expected = subresource.map_or_else(|| kind.gvk(), |row| &row.kind);
    let other = (expected != kind.gvk()).then(|| Table::v1_35().kind(expected)).flatten();
    let schema = other.as_ref().unwrap_or(kind.schema());
    let decoded = decode::decode(&body.bytes, format_of(body.format), expected, schema)?;
    match request.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => decoded.strict.iter().for_each(|finding| request.warnings.add(finding.as_str())),
        FieldValidation::Strict => decoded.strict_error(expected).map_or(Ok(()), Err)?,
    }
    Ok(decoded.object)
}

fn format_of(format: Format) -> decode::Format {
    match format {
        Format::Json => decode::Format::Json,
        Format::Yaml => decode::Format::Yaml,
        Format::Protobuf => decode::Format::Protobuf,
    }
}

/// The options of a delete. Their group and version may be any: clients send those of the resource.
pub(crate) fn decode_delete_options(body: &ObjectBody) -> Result<Value, Status> {
    let expected = GroupVersionKind::new("", "v1", "DeleteOptions");
    let schema = Table::v1_35().kind(&expected).ok_or_else(|| Status::internal("the table has no DeleteOptions"))?;
    let decoded = decode::decode(&body.bytes, format_of(body.format), &expected, &schema)?;
    Ok(decoded.object.into_value())
}
