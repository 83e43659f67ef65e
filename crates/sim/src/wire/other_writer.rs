use std::fmt::Write;

use coracle_cluster::{Body, Transport, User, boxed};
use coracle_meta::ResourcePath;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Method, Request};
use http_body_util::Full;
use serde_json::json;

/// The user who writes, and the manager of the field.
const USER: &str = "system:coracle:faults";
/// The annotation that is written.
const ANNOTATION: &str = "coracle.dev/conflict";

/// Changes the annotation of an object to `audit_id`, so that the object has another resource version. If that fails,
/// no write conflicts: the answer of the write shows it.
pub(super) async fn write(transport: &Transport, at: &ResourcePath, audit_id: &str) {
    let body = json!({"metadata": {"annotations": {ANNOTATION: audit_id}}}).to_string();
    let request = Request::builder()
        .method(Method::PATCH)
        .uri(path(at))
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

/// The path of the object itself, also for a write of its subresource.
fn path(at: &ResourcePath) -> String {
    let resource = &at.resource;
    let mut path = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    if !at.namespace.is_empty() {
        let _ = write!(path, "/namespaces/{}", at.namespace);
    }
    let _ = write!(path, "/{}/{}?fieldManager={USER}", resource.resource, at.name);
    path
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionResource;

    use super::*;

    #[test]
    fn the_path_is_that_of_the_object() {
        let pods = ResourcePath::new(GroupVersionResource::new("", "v1", "pods")).object("shop", "web");
        let of_status = pods.clone().subresource("status");
        assert_eq!(path(&of_status), path(&pods));
        assert_eq!(path(&pods), "/api/v1/namespaces/shop/pods/web?fieldManager=system:coracle:faults");
        let class = ResourcePath::new(GroupVersionResource::new("storage.k8s.io", "v1", "storageclasses"));
        assert_eq!(
            path(&class.object("", "fast")),
            "/apis/storage.k8s.io/v1/storageclasses/fast?fieldManager=system:coracle:faults"
        );
    }
}
