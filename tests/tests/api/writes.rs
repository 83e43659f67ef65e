//! What writes of built-in kinds change beside what they say.

use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::front::{api_server, call, get, send};

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

fn web() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    })
}

#[tokio::test(start_paused = true)]
async fn a_status_counts_no_generation_even_with_annotations() {
    let cluster = api_server().await;
    call(&cluster, Method::POST, "/apis/apps/v1/namespaces/default/deployments", &web()).await;
    let reported = json!({"metadata": {"annotations": {"seen": "1"}}, "status": {"replicas": 1}});
    let after = call(&cluster, Method::PATCH, &format!("{WEB}/status"), &reported).await.json();
    assert_eq!((&after["metadata"]["annotations"]["seen"], &after["metadata"]["generation"]), (&json!("1"), &json!(1)));
    let asked = json!({"metadata": {"annotations": {"seen": "2"}}});
    let after = call(&cluster, Method::PATCH, WEB, &asked).await.json();
    assert_eq!(after["metadata"]["generation"], 2, "a deployment counts its annotations");
    let scaled = json!({"spec": {"replicas": 3}});
    call(&cluster, Method::PATCH, &format!("{WEB}/scale"), &scaled).await;
    assert_eq!(get(&cluster, WEB).await["metadata"]["generation"], 3, "a scale asks for something new");
}

#[tokio::test(start_paused = true)]
async fn a_status_is_not_created() {
    let cluster = api_server().await;
    let mut body = web();
    body["status"] = json!({"replicas": 7});
    let made = call(&cluster, Method::POST, "/apis/apps/v1/namespaces/default/deployments", &body).await.json();
    assert_eq!(made["status"], json!({}));
    let node = json!({"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}});
    let made = call(&cluster, Method::POST, "/api/v1/nodes", &node).await.json();
    assert_eq!(made["status"]["capacity"]["cpu"], "4", "nodes register with theirs");
}

#[tokio::test(start_paused = true)]
async fn the_data_of_a_revision_may_not_even_be_written_otherwise() {
    const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";
    let cluster = api_server().await;
    let write = async |method: Method, path: &str, media_type: &str, body: &str| {
        let request = Request::builder().method(method).uri(path).header("content-type", media_type);
        send(&cluster, request.body(body.as_bytes().to_vec()).unwrap()).await
    };
    let revision =
        |name: &str, data: &str| format!(r#"{{"metadata": {{"name": "{name}"}}, "revision": 1, "data": {data}}}"#);
    let labels = r#"{"metadata": {"labels": {"a": "b"}}}"#;
    let merge = "application/merge-patch+json";
    let strategic = "application/strategic-merge-patch+json";
    for (name, data, by_merge, by_strategic) in [
        ("plain", r#"{"a":1,"b":"\u003c"}"#, 200, 200),
        ("unsorted", r#"{"b":1,"a":2}"#, 200, 422),
        ("spaced", r#"{"a": 1}"#, 422, 422),
    ] {
        assert_eq!(write(Method::POST, REVISIONS, "application/json", &revision(name, data)).await.code, 201);
        let path = format!("{REVISIONS}/{name}");
        let version = get(&cluster, &path).await["metadata"]["resourceVersion"].clone();
        let again = write(Method::PUT, &path, "application/json", &revision(name, data)).await.json();
        assert_eq!(again["metadata"]["resourceVersion"], version, "{name}: the same bytes change nothing");
        let patched = write(Method::PATCH, &path, strategic, labels).await;
        assert_eq!(patched.code, by_strategic, "{name}: a strategic patch goes by maps: {:?}", patched.json());
        let patched = write(Method::PATCH, &path, merge, labels).await;
        assert_eq!(patched.code, by_merge, "{name}: a merge patch goes by what was encoded: {:?}", patched.json());
    }
}

#[tokio::test(start_paused = true)]
async fn a_grace_period_below_zero_is_a_second() {
    let cluster = api_server().await;
    let default = "/api/v1/namespaces/default";
    call(&cluster, Method::POST, &format!("{default}/serviceaccounts"), &json!({"metadata": {"name": "default"}}))
        .await;
    let spec = json!({"terminationGracePeriodSeconds": -1, "containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"metadata": {"name": "p"}, "spec": spec});
    let made = call(&cluster, Method::POST, &format!("{default}/pods"), &pod).await;
    assert_eq!(made.json()["spec"]["terminationGracePeriodSeconds"], 1, "{:?}", made.json());
}

#[tokio::test(start_paused = true)]
async fn resources_within_custom_objects_have_the_types_and_metadata_of_the_api() {
    let cluster = api_server().await;
    let template = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "template": template, "list": {"type": "array", "items": template}}}}});
    let definition = json!({"metadata": {"name": "boxes.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "boxes", "kind": "Box"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    let at = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(call(&cluster, Method::POST, at, &definition).await.code, StatusCode::CREATED);
    let boxes = "/apis/example.com/v1/namespaces/default/boxes";
    let named = |name: &str, spec: &Value| json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": name}, "spec": spec});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "other": 1}, "free": 1});
    let spec = json!({"template": pod, "list": [pod]});
    let strict = format!("{boxes}?fieldValidation=Strict");
    let refused = call(&cluster, Method::POST, &strict, &named("a", &spec)).await;
    assert_eq!(refused.code, StatusCode::BAD_REQUEST);
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    for path in ["spec.template.metadata.other", "spec.list[0].metadata.other"] {
        assert!(message.contains(&format!("unknown field \"{path}\"")), "{message}");
    }
    let made = call(&cluster, Method::POST, boxes, &named("a", &spec)).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    let template = &made.json()["spec"]["template"];
    assert_eq!((&template["metadata"], &template["free"]), (&json!({"name": "p"}), &json!(1)));

    let nothing = json!({"list": [{"metadata": {}}]});
    let refused = call(&cluster, Method::POST, boxes, &named("b", &nothing)).await;
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY);
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("[spec.list[0].apiVersion: Required value, spec.list[0].kind: Required value]"),
        "{message}"
    );
}
