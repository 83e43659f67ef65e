use bytes::Bytes;
use coracle_meta::{GroupVersionKind, Object, Status, reason};
use coracle_registry::FieldValidation;
use coracle_schema::{Table, decode};
use http_body_util::{BodyExt, Limited};
use serde_json::Value;

use crate::answer::negotiate::{Format, body_format};
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
    let subresource = call.kind.row().subresource(&call.request.at.subresource);
    subresource.map_or_else(|| call.kind.gvk().clone(), |row| row.kind.clone())
}

/// The object that a body holds. What nobody knows is dropped, and told of as the request wants it.
pub(crate) fn decode(call: &Call, body: ObjectBody) -> Result<Object, Status> {
    let expected = expected_kind(call);
    let other = (expected != *call.kind.gvk()).then(|| Table::v1_35().kind(&expected)).flatten();
    let schema = other.as_ref().unwrap_or(call.kind.schema());
    let decoded = decode::decode(&body.bytes, format_of(body.format), &expected, schema)?;
    match call.request.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => decoded.strict.iter().for_each(|finding| call.request.warnings.add(finding.as_str())),
        FieldValidation::Strict => decoded.strict_error(&expected).map_or(Ok(()), Err)?,
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

/// The options of a delete, if the body is not empty. Their group and version may be any: clients send those of the
/// resource.
pub(crate) async fn read_delete_options(call: &mut Call) -> Result<Option<Value>, Status> {
    let bytes = read(call).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let format = body_format(&call.headers, &Format::ALL)?;
    let expected = GroupVersionKind::new("", "v1", "DeleteOptions");
    let schema = Table::v1_35().kind(&expected).ok_or_else(|| Status::internal("the table has no DeleteOptions"))?;
    let decoded = decode::decode(&bytes, format_of(format), &expected, &schema)?;
    Ok(Some(decoded.object.into_value()))
}
