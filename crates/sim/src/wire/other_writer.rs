use coracle_cluster::{Body, Transport, User, boxed};
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Method, Request};
use http_body_util::Full;
use serde_json::json;

/// The user who writes, and the manager of the field.
const USER: &str = "system:coracle:faults";
/// The annotation that is written.
pub(crate) const CONFLICT: &str = "coracle.dev/conflict";

/// Changes the annotation of the object of a request to `audit_id`, so that the object has another resource version. The
/// request has this path, and acts on this subresource, which may be empty. If that fails, no write conflicts: the
/// answer of the write shows it.
pub(super) async fn write(transport: &Transport, path: &str, subresource: &str, audit_id: &str) {
    let body = json!({"metadata": {"annotations": {CONFLICT: audit_id}}}).to_string();
    let request = Request::builder()
        .method(Method::PATCH)
        .uri(format!("{}?fieldManager={USER}", object_path(path, subresource)))
        .header(CONTENT_TYPE, "application/merge-patch+json")
        .header(USER_AGENT, "coracle-faults")
        .header("audit-id", audit_id)
        .extension(User::new(USER, ["system:masters"]))
        .body::<Body>(boxed(Full::from(body)));
    if let Ok(request) = request {
        // The failure is in the event log, as the answer of the API server.
        let _ = transport.send(request).await;
    }
}

/// The path of the object itself, also for a request of its subresource.
fn object_path<'p>(path: &'p str, subresource: &str) -> &'p str {
    let path = path.trim_end_matches('/');
    let of_object = || path.strip_suffix(subresource)?.strip_suffix('/');
    if subresource.is_empty() { path } else { of_object().unwrap_or(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_that_of_the_object() {
        let web = "/api/v1/namespaces/shop/pods/web";
        assert_eq!(object_path(web, ""), web);
        assert_eq!(object_path(&format!("{web}/"), ""), web);
        assert_eq!(object_path(&format!("{web}/status"), "status"), web);
        let status = "/api/v1/namespaces/shop/pods/status";
        assert_eq!(object_path(status, ""), status);
        assert_eq!(object_path(&format!("{status}/status"), "status"), status);
    }
}
