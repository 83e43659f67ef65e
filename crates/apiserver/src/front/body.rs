use axum::body::Body;
use bytes::{Bytes, BytesMut};
use coracle_meta::{Object, Status, reason};
use coracle_registry::{DeleteOptions, FieldValidation, Kind, Request, Subresource};
use coracle_schema::decode;
use futures_util::StreamExt;
use http_body::Body as _;
use http_body_util::BodyExt;
use serde_json::Value;

use crate::answer::negotiate::Format;
use crate::limits::budget::Held;
use crate::limits::fairness::too_many_requests;

/// What a request that waits for its body counts in addition to the received bytes: about the size of its headers.
const WAITING: usize = 16 * 1024;

/// Waits for the whole body, of at most `limit` bytes. Received bytes are counted in `held` in the meantime.
///
/// # Errors
/// 413 for a longer body, 429 if the budget of the user has no room, 400 if the connection breaks.
pub(crate) async fn read(mut body: Body, limit: usize, held: Held) -> Result<Bytes, Status> {
    match gather(&mut body, limit, held).await? {
        Gathered::Whole(bytes) => Ok(bytes),
        Gathered::Beginning(_) => {
            let message = format!("Request entity too large: limit is {limit}");
            Err(Status::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, message))
        }
    }
}

/// Waits for a body that is forwarded to another server, up to `limit` bytes; the rest of a longer body is streamed.
///
/// # Errors
/// 429 if the budget of the user has no room, 400 if the connection breaks.
pub(crate) async fn arrived(mut body: Body, limit: usize, held: Held) -> Result<Body, Status> {
    match gather(&mut body, limit, held).await? {
        Gathered::Whole(bytes) => Ok(Body::from(bytes)),
        Gathered::Beginning(bytes) => {
            let beginning = futures_util::stream::iter([Ok(bytes)]);
            Ok(Body::from_stream(beginning.chain(body.into_data_stream())))
        }
    }
}

/// The received part of a body.
enum Gathered {
    Whole(Bytes),
    /// The beginning of a body that is longer than the limit.
    Beginning(Bytes),
}

async fn gather(body: &mut Body, limit: usize, mut held: Held) -> Result<Gathered, Status> {
    if body.is_end_stream() {
        return Ok(Gathered::Whole(Bytes::new()));
    }
    let add = |held: &mut Held, bytes: usize| if held.try_add(bytes) { Ok(()) } else { Err(too_many_requests()) };
    add(&mut held, WAITING)?;
    let mut gathered = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Status::bad_request(format!("the body of the request cannot be read: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        add(&mut held, data.len())?;
        if gathered.is_empty() && data.len() <= limit && body.is_end_stream() {
            return Ok(Gathered::Whole(data));
        }
        gathered.extend_from_slice(&data);
        if gathered.len() > limit {
            return Ok(Gathered::Beginning(gathered.freeze()));
        }
    }
    Ok(Gathered::Whole(gathered.freeze()))
}

/// A body with an object.
pub(crate) struct ObjectBody {
    /// The format.
    pub(crate) format: Format,
    /// The encoded object.
    pub(crate) bytes: Bytes,
}

/// Decodes the object in a body. Unknown fields are dropped, and reported as the request's field validation demands.
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

/// The options of a delete. Any group and version is accepted, because clients send those of the resource.
pub(crate) fn decode_delete_options(body: &ObjectBody) -> Result<Value, Status> {
    let expected = DeleteOptions::body();
    let decoded = decode::decode(&body.bytes, body.format, &expected.gvk, &expected.schema)?;
    Ok(decoded.object.into_value())
}
