use bytes::Bytes;
use coracle_cluster::{Body, PathRequest, boxed};
use coracle_meta::Status;
use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use serde_json::Value;

use crate::ControlledCluster;
use crate::paths::parts;

/// A future of a response.
pub(super) type Answer = BoxFuture<'static, Result<Response<Body>, Status>>;

/// A method of a path.
pub(super) struct Endpoint {
    pub(super) verb: &'static str,
    /// Below the prefix, with `{name}` for a name.
    pub(super) path: &'static str,
    /// What it does, for the OpenAPI document.
    pub(super) summary: &'static str,
    /// The fields of the body: name, type in words of OpenAPI, description.
    pub(super) fields: &'static [(&'static str, &'static str, &'static str)],
    /// The parameters: name and description.
    pub(super) parameters: &'static [(&'static str, &'static str)],
    /// The media type of the answer.
    pub(super) answers: &'static str,
    pub(super) handler: fn(ControlledCluster, PathRequest) -> Answer,
}

impl Endpoint {
    /// An endpoint without parameters, whose answer is JSON.
    pub(super) const fn new(
        verb: &'static str,
        path: &'static str,
        summary: &'static str,
        handler: fn(ControlledCluster, PathRequest) -> Answer,
    ) -> Self {
        Self { verb, path, summary, fields: &[], parameters: &[], answers: "application/json", handler }
    }

    pub(super) fn method(&self) -> Method {
        match self.verb {
            "post" => Method::POST,
            "put" => Method::PUT,
            "delete" => Method::DELETE,
            _ => Method::GET,
        }
    }

    /// Whether its path begins with this part.
    pub(super) fn begins(&self, part: &str) -> bool {
        parts(self.path).0 == part
    }

    /// Whether a path below the prefix is its own.
    pub(super) fn matches(&self, path: &str) -> bool {
        let (own, asked): (Vec<_>, Vec<_>) = (self.path.split('/').collect(), path.split('/').collect());
        own.len() == asked.len()
            && own.iter().zip(&asked).all(|(own, asked)| own == asked || (*own == "{name}" && !asked.is_empty()))
    }

    pub(super) fn answer(&self, controlled: ControlledCluster, asked: PathRequest) -> Answer {
        (self.handler)(controlled, asked)
    }
}

/// An answer in JSON.
pub fn json(code: StatusCode, value: &Value) -> Response<Body> {
    text(code, "application/json", format!("{value}\n"))
}

/// An answer in a text format.
pub(super) fn text(code: StatusCode, media_type: &'static str, text: String) -> Response<Body> {
    of_body(code, media_type, boxed(Full::new(Bytes::from(text))))
}

pub(super) fn of_body(code: StatusCode, media_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
