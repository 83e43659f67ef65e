use bytes::Bytes;
use coracle_meta::{Status, StatusDetails, go_quote};
use coracle_schema::decode::read_document;
use serde_json::Value;

/// The maximum quoted length of a body that is not a `Status`. In Kubernetes: `maxUnstructuredResponseTextBytes`.
const QUOTED_BYTES: usize = 2048;

/// The response to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingResponse {
    /// The status code.
    pub code: u16,
    /// The whole body.
    pub body: Bytes,
    /// The value of `Retry-After`, in seconds; 0 if it is missing.
    pub retry_after_seconds: u32,
    /// The `Content-Type`; empty if it is missing.
    pub media_type: String,
    /// The `ETag`; empty if it is missing.
    pub etag: String,
}

impl OutgoingResponse {
    /// The body as JSON, or the error in client-go's words.
    /// In Kubernetes: `Request.transformResponse`.
    pub(super) fn into_json(self) -> Result<Value, Status> {
        if !(200..=206).contains(&self.code) {
            return Err(self.failure());
        }
        let why = if self.body.is_empty() {
            let (code, media_type) = (self.code, self.media_type.as_str());
            let media_type = if media_type.is_empty() { "application/json" } else { media_type };
            format!("0-length response with status code: {code} and content type: {media_type}")
        } else {
            match read_document(&self.body) {
                Ok(document) => return Ok(document),
                Err(why) => why,
            }
        };
        Err(Status::failure(0, "", why))
    }

    fn failure(&self) -> Status {
        if let Ok(status) = serde_json::from_slice::<Value>(&self.body)
            && status["kind"] == "Status"
            && status["status"] == "Failure"
            && let Ok(status) = serde_json::from_value::<Status>(status)
        {
            return status;
        }
        let text = if self.media_type.is_empty() || self.media_type.to_ascii_lowercase().starts_with("text/") {
            String::from_utf8_lossy(&self.body[..self.body.len().min(QUOTED_BYTES)]).trim().to_owned()
        } else {
            "unknown".to_owned()
        };
        let (reason, message) = self.words(&text);
        let details = StatusDetails { retry_after_seconds: self.retry_after_seconds, ..StatusDetails::default() };
        Status::failure(self.code, reason, message).with_details(details).with_cause(
            "UnexpectedServerResponse",
            text,
            "",
        )
    }

    /// Reason and message for an error that is not a `Status`.
    fn words(&self, text: &str) -> (&'static str, String) {
        let (reason, message) = match self.code {
            400 => ("BadRequest", "the server rejected our request for an unknown reason"),
            401 => ("Unauthorized", "the server has asked for the client to provide credentials"),
            403 => ("Forbidden", text),
            404 => ("NotFound", "the server could not find the requested resource"),
            405 => ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
            406 if text.is_empty() => {
                ("NotAcceptable", "the server was unable to respond with a content type that the client supports")
            }
            406 => ("NotAcceptable", text),
            409 => ("AlreadyExists", "the server reported a conflict"),
            415 => ("UnsupportedMediaType", text),
            422 => ("Invalid", "the server rejected our request due to an error in our request"),
            429 => {
                let message = "the server has received too many requests and has asked us to try again later";
                ("TooManyRequests", message)
            }
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
            504 => {
                let message = "the server was unable to return a response in the time allotted, \
                               but may still be processing the request";
                ("Timeout", message)
            }
            500.. => {
                let quoted = go_quote(text);
                return (
                    "InternalError",
                    format!("an error on the server ({quoted}) has prevented the request from succeeding"),
                );
            }
            code => {
                let message = "but did not return more information";
                return ("", format!("the server responded with the status code {code} {message}"));
            }
        };
        (reason, message.to_owned())
    }
}
