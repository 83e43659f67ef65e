use coracle_registry::Call;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};

/// The head of a call's request to `uri`, with what its caller shows of itself.
pub(crate) fn post(uri: &str, call: &Call) -> http::request::Builder {
    let request = http::Request::post(uri).header(CONTENT_TYPE, "application/json");
    let authorization = call.caller.as_ref().and_then(|caller| caller.authorization.as_deref());
    match authorization.map(HeaderValue::try_from) {
        None => request,
        Some(Ok(mut value)) => {
            value.set_sensitive(true);
            request.header(AUTHORIZATION, value)
        }
        // The builder refuses a text that is no header, without saying which.
        Some(Err(_)) => request.header(AUTHORIZATION, "\n"),
    }
}
