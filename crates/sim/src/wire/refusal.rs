use coracle_cluster::{Body, BoxError, boxed, status_value};
use coracle_meta::Status;
use http::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http_body_util::Full;

/// How many seconds an overloaded server asks to wait. In Kubernetes: `retryAfter` of `WithMaxInFlightLimit`.
const RETRY_AFTER_SECONDS: u32 = 1;

/// The answer of an API server that does not carry out a request, with the texts of Kubernetes.
pub(super) fn refused(code: u16) -> Result<Response<Body>, BoxError> {
    let status = status(code);
    let mut answer = Response::builder().status(code).header(CONTENT_TYPE, "application/json");
    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if seconds > 0 {
        answer = answer.header(RETRY_AFTER, seconds);
    }
    Ok(answer.body(boxed(Full::from(status_value(&status).to_string())))?)
}

fn status(code: u16) -> Status {
    match code {
        429 => Status::too_many_requests("Too many requests, please try again later.", RETRY_AFTER_SECONDS),
        500 => Status::internal("the request was not carried out"),
        504 => Status::timeout("request did not complete within the allotted timeout", 0),
        code => Status::failure(code, "ServiceUnavailable", "the server is currently unable to handle the request"),
    }
}
