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
use crate::front::budget::Held;
use crate::front::fairness::too_many_requests;

/// What a request counts that waits for its body, besides the bytes that have come: about what its headers take.
const WAITING: usize = 16 * 1024;

/// Waits for the whole body, of at most `limit` bytes. What has come is on the account of `held` meanwhile.
///
/// # Errors
/// 413 for a longer body, 429 if the account has no room, 400 if the connection breaks.
pub(crate) async fn read(mut body: Body, limit: usize, held: Held) -> Result<Bytes, Status> {
    match gather(&mut body, limit, held).await? {
        Gathered::Whole(bytes) => Ok(bytes),
        Gathered::Beginning(_) => {
            let message = format!("Request entity too large: limit is {limit}");
            Err(Status::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, message))
        }
    }
}

/// Waits for a body that another server reads. Of one that is longer than `limit` it waits for so much; the rest follows
/// as it comes.
///
/// # Errors
/// 429 if the account has no room, 400 if the connection breaks.
pub(crate) async fn arrived(mut body: Body, limit: usize, held: Held) -> Result<Body, Status> {
    match gather(&mut body, limit, held).await? {
        Gathered::Whole(bytes) => Ok(Body::from(bytes)),
        Gathered::Beginning(bytes) => {
            let beginning = futures_util::stream::iter([Ok(bytes)]);
            Ok(Body::from_stream(beginning.chain(body.into_data_stream())))
        }
    }
}

/// What has come of a body.
enum Gathered {
    Whole(Bytes),
    /// More than what was waited for, and not all.
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
