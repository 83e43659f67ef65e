use coracle_cluster::User;
use http::Method;
use serde_json::{Value, json};

use crate::controlled::{Stepped, ask_as};

#[tokio::test(flavor = "multi_thread")]
async fn each_request_needs_its_verb_in_the_group_of_coracle() {
    let stepped = Stepped::start().await;
    let api = stepped.api();
    let jane = || User::new("jane", ["system:authenticated"]);
    let paths = [
        (Method::GET, "/coracle/v1"),
        (Method::GET, "/coracle/v1/clock"),
        (Method::POST, "/coracle/v1/clock/advance"),
        (Method::POST, "/coracle/v1/settle"),
        (Method::POST, "/coracle/v1/reset"),
        (Method::GET, "/coracle/v1/snapshots"),
        (Method::PUT, "/coracle/v1/snapshots/a"),
        (Method::POST, "/coracle/v1/forks"),
        (Method::GET, "/coracle/v1/faults"),
        (Method::DELETE, "/coracle/v1/faults"),
        (Method::GET, "/coracle/v1/events"),
        (Method::GET, "/coracle/v1/report"),
        (Method::POST, "/coracle/v1/check"),
    ];
    for (method, path) in &paths {
        let (code, status) = ask_as(&api, jane(), method.clone(), path, Value::Null).await;
        assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")), "{method} {path}: {status}");
    }
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "time"},
        "rules": [{"apiGroups": ["coracle.dev"], "resources": ["clocks"], "verbs": ["get", "advance"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "time"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "time"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    });
    stepped.ask(Method::POST, "/apis/rbac.authorization.k8s.io/v1/clusterroles", role).await;
    stepped.ask(Method::POST, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).await;
    let advance = json!({"duration": "1s"});
    let (code, answer) = ask_as(&api, jane(), Method::POST, "/coracle/v1/clock/advance", advance).await;
    assert_eq!(code, 200, "{answer}");
    let (code, _) = ask_as(&api, jane(), Method::POST, "/coracle/v1/reset", Value::Null).await;
    assert_eq!(code, 403);
    stepped.controlled.end().await;
}
