use coracle_registry::OutgoingCall;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};

/// The head of a call's request to `uri`, with what its caller shows of itself.
pub fn post_request(uri: &str, call: &OutgoingCall) -> http::request::Builder {
    let request = http::Request::post(uri).header(CONTENT_TYPE, "application/json");
    let authorization = call.caller.as_ref().and_then(|caller| caller.authorization.as_deref());
    match authorization.map(HeaderValue::try_from) {
        None => request,
        Some(Ok(mut value)) => {
            value.set_sensitive(true);
            request.header(AUTHORIZATION, value)
        }
        // The builder refuses an invalid header value, without the name of the header.
        Some(Err(_)) => request.header(AUTHORIZATION, "\n"),
    }
}
