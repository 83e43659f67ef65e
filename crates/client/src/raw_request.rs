use bytes::Bytes;
use http::Method;

use crate::request::{Request, Written};

/// A request as data whose path, headers and body the caller chooses: a Table instead of a list, or the body of a file.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::runtime::RawRequest;
/// use http_body_util::BodyExt;
///
/// let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
/// let request = RawRequest::get("/api/v1/namespaces/default/services", table);
/// let answer = cluster.api_client().send_raw(request).await.unwrap();
/// let body = answer.into_body().collect().await.unwrap().to_bytes();
/// let table: serde_json::Value = serde_json::from_slice(&body).unwrap();
/// assert_eq!(table["rows"][0]["cells"][0], "kubernetes");
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RawRequest {
    /// The HTTP method.
    pub method: Method,
    /// The path and the query.
    pub path: String,
    /// The accepted media types.
    pub accept: &'static str,
    /// The media type of the body; empty without a body.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
}

impl RawRequest {
    /// A request that reads.
    pub fn get(path: impl Into<String>, accept: &'static str) -> Self {
        Self { method: Method::GET, path: path.into(), accept, content_type: "", body: Bytes::new() }
    }

    pub(crate) fn into_request(self) -> Request {
        let Self { method, path, accept, content_type, body } = self;
        let verb = match method {
            Method::POST => Some("create"),
            Method::PUT => Some("update"),
            Method::PATCH => Some("patch"),
            Method::DELETE => Some("delete"),
            _ => None,
        };
        let written = verb.map(|verb| written(verb, &path));
        Request { method, uri: path, accept, content_type, body, written }
    }
}

/// The description of a write, from its path.
fn written(verb: &'static str, path: &str) -> Written {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let after_version = match segments.first() {
        Some(&"api") => segments.get(2..),
        _ => segments.get(3..),
    };
    let within = match after_version.unwrap_or_default() {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    let (resource, name) = (within.first().copied().unwrap_or_default(), within.get(1).copied().unwrap_or_default());
    let resource = match within.get(2..) {
        Some(parts) if !parts.is_empty() => format!("{resource}/{}", parts.join("/")),
        _ => resource.to_owned(),
    };
    Written { verb, resource, name: name.to_owned(), precondition: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_resource_the_object_and_the_subresource() {
        let parts = |path| {
            let Written { resource, name, .. } = written("patch", path);
            (resource, name)
        };
        let pair = |resource: &str, name: &str| (resource.to_owned(), name.to_owned());
        assert_eq!(parts("/api/v1/namespaces/default/pods/web?dryRun=All"), pair("pods", "web"));
        assert_eq!(parts("/api/v1/namespaces/shop"), pair("namespaces", "shop"));
        assert_eq!(parts("/apis/apps/v1/namespaces/a/deployments/web/scale"), pair("deployments/scale", "web"));
        assert_eq!(parts("/apis/rbac.authorization.k8s.io/v1/clusterroles"), pair("clusterroles", ""));
        assert_eq!(parts("/version"), pair("", ""));
    }
}
