use axum::body::Body;
use coracle_meta::Status;
use coracle_yaml::to_yaml;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use crate::answer::negotiate::{Format, Negotiated, Offer, Transform, negotiate};
use crate::query::Query;

/// The format of errors for this client: an accepted one of all formats, otherwise JSON.
pub(crate) fn error_format(headers: &HeaderMap) -> Negotiated {
    let offer = Offer { formats: &Format::ALL, transforms: true, lists: true };
    let negotiated = negotiate(headers, &Query::default(), offer).unwrap_or(Negotiated::JSON);
    Negotiated { transform: Transform::None, ..negotiated }
}

/// A Status as a response, with its headers.
pub(crate) fn status(status: &Status, how: Negotiated) -> Response<Body> {
    if status.code == 404 && status.message == NOT_FOUND_PAGE.trim_end() {
        return not_found_page();
    }
    let code = match (status.code, status.status.as_str()) {
        (0, "Success") => StatusCode::OK,
        (code, _) => StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
    };
    let mut response = value(code, &status_value(status), how);
    response.extensions_mut().insert(status.clone());
    let retry_after = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry_after > 0 && matches!(status.code, 429 | 500 | 503 | 504) {
        response.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from(retry_after));
    }
    response
}

/// A Status as an object of the API.
pub fn status_value(status: &Status) -> Value {
    let mut tree = serde_json::Map::new();
    tree.insert("kind".into(), "Status".into());
    tree.insert("apiVersion".into(), "v1".into());
    tree.insert("metadata".into(), json!({}));
    if let Ok(Value::Object(members)) = serde_json::to_value(status) {
        tree.extend(members);
    }
    Value::Object(tree)
}

/// The response to an unknown path.
pub(crate) fn not_found_page() -> Response<Body> {
    text(StatusCode::NOT_FOUND, NOT_FOUND_PAGE)
}

const NOT_FOUND_PAGE: &str = "404 page not found\n";

/// The error whose response is [`not_found_page`].
pub(crate) fn no_such_page() -> Status {
    Status::failure(404, "", NOT_FOUND_PAGE.trim_end())
}

/// A JSON value as a response in the negotiated format.
pub(crate) fn value(code: StatusCode, value: &Value, how: Negotiated) -> Response<Body> {
    bytes(code, how.format, encode(value, how))
}

/// A JSON value, encoded in the negotiated format.
pub(crate) fn encode(value: &Value, how: Negotiated) -> Vec<u8> {
    match how.format {
        Format::Json if how.pretty => {
            let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
            text.push('\n');
            text.into_bytes()
        }
        Format::Json => {
            let mut bytes = serde_json::to_vec(value).unwrap_or_default();
            bytes.push(b'\n');
            bytes
        }
        Format::Yaml => to_yaml(value).into_bytes(),
        Format::Protobuf => crate::answer::protobuf::encode(value),
    }
}

/// A plain text response.
pub(crate) fn text(code: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// A JSON response.
pub(crate) fn json(body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let value = HeaderValue::from_static(Format::Json.media_type());
    response.headers_mut().insert(http::header::CONTENT_TYPE, value);
    response
}

/// Encoded bytes as a response.
pub(crate) fn bytes(code: StatusCode, format: Format, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    let media_type = HeaderValue::from_static(format.media_type());
    response.headers_mut().insert(http::header::CONTENT_TYPE, media_type);
    response
}

/// Adds a `Warning` header for each text. In Kubernetes: `net.NewWarningHeader`.
pub(crate) fn add_warnings(response: &mut Response<Body>, texts: &[String]) {
    for text in texts {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_stands_in_kubernetes_order_and_a_success_is_200() {
        let bytes = encode(&status_value(&Status::unauthorized()), Negotiated::JSON);
        let expected = r#""status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401"#;
        let text = String::from_utf8(bytes).unwrap();
        for part in expected.split(',') {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(status(&Status::success(), Negotiated::JSON).status(), StatusCode::OK);
    }

    #[test]
    fn warnings_are_quoted() {
        let mut response = Response::new(Body::empty());
        add_warnings(&mut response, &["unknown field \"spec.foo\"".to_owned()]);
        assert_eq!(response.headers()["warning"], "299 - \"unknown field \\\"spec.foo\\\"\"");
    }

    #[test]
    fn retry_after_is_a_header_too() {
        let response = status(&Status::too_many_requests("later", 7), Negotiated::JSON);
        assert_eq!(response.headers()["retry-after"], "7");
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    }
}
