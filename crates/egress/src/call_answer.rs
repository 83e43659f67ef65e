use bytes::Bytes;
use coracle_handover::BoxError;
use coracle_registry::OutgoingResponse;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, ETAG, HeaderName, RETRY_AFTER};
use http_body_util::{BodyExt, Limited};

/// How much of an answer is read.
const LONGEST_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Reads a whole answer.
///
/// # Errors
/// If the connection breaks, or the body is longer than 16 MiB.
pub async fn read_answer<B>(answer: http::Response<B>) -> Result<OutgoingResponse, String>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<BoxError>,
{
    let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let (media_type, etag) = (text(answer.headers(), CONTENT_TYPE), text(answer.headers(), ETAG));
    let code = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), LONGEST_ANSWER_BYTES).collect().await;
    let body = body.map_err(|error| format!("unexpected error when reading response body: {error}"))?;
    Ok(OutgoingResponse {
        code,
        body: body.to_bytes(),
        retry_after_seconds: retry_after.unwrap_or(0),
        media_type,
        etag,
    })
}

fn text(headers: &HeaderMap, name: HeaderName) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned()
}
