//! What answers carry beside their bodies, and the older paths.

use http::{Method, Request, StatusCode};
use serde_json::{Value, json};

use crate::front::{api_server, call, get, send};

#[tokio::test(start_paused = true)]
async fn every_answer_names_its_flow() {
    let cluster = api_server().await;
    let schema = get(&cluster, "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt").await;
    let level = get(&cluster, "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/exempt").await;
    for path in ["/version", "/api/v1/nodes", "/api/v1/nodes/absent"] {
        let answer = send(&cluster, Request::get(path).body(Vec::new()).unwrap()).await;
        let uid = |header: &str| answer.headers[header].to_str().unwrap().to_owned();
        assert_eq!(uid("x-kubernetes-pf-flowschema-uid"), schema["metadata"]["uid"]);
        assert_eq!(uid("x-kubernetes-pf-prioritylevel-uid"), level["metadata"]["uid"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_older_path_of_bindings_binds() {
    let cluster = api_server().await;
    let default = "/api/v1/namespaces/default";
    call(&cluster, Method::POST, &format!("{default}/serviceaccounts"), &json!({"metadata": {"name": "default"}}))
        .await;
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(call(&cluster, Method::POST, &format!("{default}/pods"), &pod).await.code, StatusCode::CREATED);
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    let bound = call(&cluster, Method::POST, &format!("{default}/bindings"), &binding).await;
    assert_eq!((bound.code, &bound.json()["status"]), (StatusCode::CREATED, &json!("Success")));
    assert_eq!(get(&cluster, &format!("{default}/pods/p")).await["spec"]["nodeName"], "n");
}

#[tokio::test(start_paused = true)]
async fn the_components_are_three_and_the_store_is_healthy() {
    let cluster = api_server().await;
    let list = get(&cluster, "/api/v1/componentstatuses").await;
    let of = |item: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&item["metadata"]["name"]), text(&item["conditions"][0]["status"]))
    };
    let healths: Vec<(String, String)> = list["items"].as_array().unwrap().iter().map(of).collect();
    let expected = [("controller-manager", "False"), ("scheduler", "False"), ("etcd-0", "True")];
    assert_eq!(healths, expected.map(|(name, status)| (name.to_owned(), status.to_owned())));
    assert_eq!(list["items"][2]["conditions"][0], json!({"type": "Healthy", "status": "True", "message": "ok"}));
    let absent = send(&cluster, Request::get("/api/v1/componentstatuses/x").body(Vec::new()).unwrap()).await;
    assert_eq!(absent.code, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_reviewed_for_the_audiences_that_are_asked_for() {
    let cluster = api_server().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    call(&cluster, Method::POST, accounts, &json!({"metadata": {"name": "robot"}})).await;
    let wanted = json!({"spec": {"audiences": ["vault", "safe"]}});
    let made = call(&cluster, Method::POST, &format!("{accounts}/robot/token"), &wanted).await.json();
    let review = async |audiences: &[&str]| {
        let body = json!({"spec": {"token": made["status"]["token"], "audiences": audiences}});
        let answer = call(&cluster, Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", &body).await;
        answer.json()["status"].clone()
    };
    let fits = review(&["safe", "other", "vault"]).await;
    assert_eq!((&fits["authenticated"], &fits["audiences"]), (&json!(true), &json!(["safe", "vault"])));
    assert_eq!(fits["user"]["username"], "system:serviceaccount:default:robot");
    for (audiences, targets) in [(&["other"][..], "other"), (&[], "https://kubernetes.default.svc")] {
        let error = format!(
            "[invalid bearer token, token audiences [\"vault\" \"safe\"] is invalid for the target audiences [\"{targets}\"]]"
        );
        assert_eq!(review(audiences).await, json!({"user": {}, "error": error}));
    }
}

#[tokio::test(start_paused = true)]
async fn unsupported_pod_connections_are_refused_with_a_message() {
    let cluster = api_server().await;
    let default = "/api/v1/namespaces/default";
    call(&cluster, Method::POST, &format!("{default}/serviceaccounts"), &json!({"metadata": {"name": "default"}}))
        .await;
    call(&cluster, Method::POST, "/api/v1/nodes", &json!({"metadata": {"name": "n"}})).await;
    let spec = json!({"nodeName": "n", "containers": [{"name": "c", "image": "i"}]});
    call(&cluster, Method::POST, &format!("{default}/pods"), &json!({"metadata": {"name": "p"}, "spec": spec})).await;
    let required = "Upgrade request required";
    let ports = "pods/portforward is not supported: simulated pods listen on no ports";
    let proxy = "pods/proxy is not supported: simulated pods serve no HTTP of their own";
    for (path, method, upgrade, code, why) in [
        ("exec?command=ls", "GET", "", 400, required),
        ("attach", "POST", "SPDY/2", 400, required),
        ("portforward?ports=80", "GET", "websocket", 501, ports),
        ("proxy/index.html", "GET", "", 501, proxy),
    ] {
        let mut request = Request::builder().method(method).uri(format!("{default}/pods/p/{path}"));
        if !upgrade.is_empty() {
            let protocol = "v5.channel.k8s.io";
            request = request.header("connection", "Upgrade").header("upgrade", upgrade);
            request =
                request.header("sec-websocket-version", "13").header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==");
            request = request.header("sec-websocket-protocol", protocol).header("x-stream-protocol-version", protocol);
        }
        let answer = send(&cluster, request.body(Vec::new()).unwrap()).await;
        assert_eq!((answer.code.as_u16(), answer.json()["message"].as_str()), (code, Some(why)), "{path}");
    }
}
