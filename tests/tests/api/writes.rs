//! What writes of built-in kinds change beside what they say.

use http::Method;
use serde_json::{Value, json};

use crate::front::{api_server, call, get};

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
