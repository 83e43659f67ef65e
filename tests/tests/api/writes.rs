//! What writes of built-in kinds change beside what they say.

use http::{Method, Request};
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
