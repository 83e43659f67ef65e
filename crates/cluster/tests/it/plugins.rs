//! Admission plug-ins that are off by default, on the whole server.

use bytes::Bytes;
use coracle_cluster::{ApiServerOptions, Cluster};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

struct Answer {
    code: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

async fn send(cluster: &Cluster, request: Request<Vec<u8>>) -> Answer {
    let answer = cluster.service().oneshot(request.map(|body| Full::new(body.into()))).await.unwrap();
    let (head, body) = answer.into_parts();
    Answer { code: head.status, headers: head.headers, body: body.collect().await.unwrap().to_bytes() }
}

async fn call(cluster: &Cluster, method: Method, path: &str, body: &Value) -> Answer {
    let media_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", media_type);
    send(cluster, request.body(body.to_string().into_bytes()).unwrap()).await
}

async fn get(cluster: &Cluster, path: &str) -> Value {
    send(cluster, Request::get(path).body(Vec::new()).unwrap()).await.json()
}

async fn cluster(plugins: &[&str]) -> Cluster {
    let enable_admission_plugins = plugins.iter().map(|name| (*name).to_owned()).collect();
    let spec = ApiServerOptions { enable_admission_plugins, ..ApiServerOptions::default() };
    Cluster::builder().api_server(spec).api_server_only().start().await.unwrap()
}

/// A request of a node.
async fn of_node(cluster: &Cluster, node: &str, method: Method, path: &str, body: &Value) -> Answer {
    let media_type = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", media_type);
    let request = request.header("impersonate-user", format!("system:node:{node}"));
    let request = request.header("impersonate-group", "system:nodes");
    send(cluster, request.body(body.to_string().into_bytes()).unwrap()).await
}

fn message(answer: &Answer) -> String {
    answer.json()["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_node_registers_itself_without_labels_that_others_rely_on() {
    let cluster = cluster(&["NodeRestriction"]).await;
    let node = |labels: Value| json!({"metadata": {"name": "a", "labels": labels}});
    let nodes = "/api/v1/nodes";
    let refused = of_node(&cluster, "b", Method::POST, nodes, &node(json!({}))).await;
    assert_eq!(message(&refused), "nodes \"a\" is forbidden: node \"b\" is not allowed to modify node \"a\"");
    let label = json!({"node-role.kubernetes.io/control-plane": ""});
    let refused = of_node(&cluster, "a", Method::POST, nodes, &node(label)).await;
    let expected = "nodes \"a\" is forbidden: node \"a\" is not allowed to set the following labels: \
        node-role.kubernetes.io/control-plane";
    assert_eq!((refused.code, message(&refused)), (StatusCode::FORBIDDEN, expected.to_owned()));
    let made = of_node(&cluster, "a", Method::POST, nodes, &node(json!({"kubernetes.io/os": "linux"}))).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    let account = json!({"metadata": {"name": "default"}});
    call(&cluster, Method::POST, "/api/v1/namespaces/default/serviceaccounts", &account).await;
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "i"}]}});
    let refused = of_node(&cluster, "a", Method::POST, "/api/v1/namespaces/default/pods", &pod).await;
    let expected = "pods \"p\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" annotation, node \"a\" can \
        only create mirror pods";
    assert_eq!(message(&refused), expected);
}

#[tokio::test(start_paused = true)]
async fn a_node_gets_tokens_of_its_own_pods_alone_and_does_not_touch_other_nodes_or_their_pods() {
    let cluster = cluster(&["NodeRestriction"]).await;
    for node in ["a", "b"] {
        call(&cluster, Method::POST, "/api/v1/nodes", &json!({"metadata": {"name": node}})).await;
    }
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let pods = "/api/v1/namespaces/default/pods";
    for account in ["default", "boss"] {
        call(&cluster, Method::POST, accounts, &json!({"metadata": {"name": account}})).await;
    }
    let mut uids = Vec::new();
    for (name, node) in [("own", "a"), ("other", "b")] {
        let spec = json!({"nodeName": node, "containers": [{"name": "c", "image": "i"}]});
        let made = call(&cluster, Method::POST, pods, &json!({"metadata": {"name": name}, "spec": spec})).await;
        uids.push(made.json()["metadata"]["uid"].clone());
    }
    let bound = |name: &str, uid: &Value| json!({"kind": "Pod", "apiVersion": "v1", "name": name, "uid": uid});
    let own = json!({"spec": {"boundObjectRef": bound("own", &uids[0])}});
    let token = async |account: &str, body: &Value| {
        of_node(&cluster, "a", Method::POST, &format!("{accounts}/{account}/token"), body).await
    };
    assert_eq!(token("default", &own).await.code, StatusCode::CREATED);
    for (what, account, body) in [
        ("of an account that no pod of the node has", "boss", own.clone()),
        ("bound to nothing", "default", json!({"spec": {}})),
        ("bound to a pod of another node", "default", json!({"spec": {"boundObjectRef": bound("other", &uids[1])}})),
        ("bound to another pod of that name", "default", json!({"spec": {"boundObjectRef": bound("own", &uids[1])}})),
        (
            "for an audience that the pod does not need",
            "default",
            json!({"spec": {"boundObjectRef": bound("own", &uids[0]), "audiences": ["elsewhere"]}}),
        ),
    ] {
        assert_eq!(token(account, &body).await.code, StatusCode::FORBIDDEN, "{what}");
    }
    let status = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}, "status": {}});
    let label = json!({"metadata": {"labels": {"mine": "true"}}});
    for (method, path, body) in [
        (Method::PUT, "/api/v1/nodes/b/status".to_owned(), &status),
        (Method::PATCH, "/api/v1/nodes/b".to_owned(), &label),
        (Method::DELETE, format!("{pods}/other"), &json!({})),
        (Method::PATCH, format!("{pods}/other/status"), &json!({"status": {"reason": "x"}})),
    ] {
        let refused = of_node(&cluster, "a", method.clone(), &path, body).await;
        assert_eq!(refused.code, StatusCode::FORBIDDEN, "{method} {path}");
    }
    let own_label = of_node(&cluster, "a", Method::PATCH, "/api/v1/nodes/a", &label).await;
    assert_eq!(own_label.code, StatusCode::OK, "{:?}", own_label.json());
}

#[tokio::test(start_paused = true)]
async fn plug_ins_that_are_asked_for_change_and_refuse_pods() {
    let plugins = ["AlwaysPullImages", "NamespaceAutoProvision", "PodNodeSelector", "LimitPodHardAntiAffinityTopology"];
    let without = "ServiceAccount".to_owned();
    let enable_admission_plugins = plugins.iter().map(|name| (*name).to_owned()).collect();
    let spec = ApiServerOptions {
        enable_admission_plugins,
        disable_admission_plugins: vec![without],
        ..ApiServerOptions::default()
    };
    let cluster = Cluster::builder().api_server(spec).api_server_only().start().await.unwrap();
    let pod = |more: Value| {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
        for (field, value) in more.as_object().unwrap() {
            pod["spec"][field] = value.clone();
        }
        pod
    };
    let made = call(&cluster, Method::POST, "/api/v1/namespaces/made/pods", &pod(json!({}))).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    assert_eq!(made.json()["spec"]["containers"][0]["imagePullPolicy"], json!("Always"));
    assert_eq!(get(&cluster, "/api/v1/namespaces/made").await["metadata"]["name"], json!("made"));
    let annotation = json!({"scheduler.alpha.kubernetes.io/node-selector": "disk=fast"});
    let namespace = json!({"metadata": {"name": "chosen", "annotations": annotation}});
    call(&cluster, Method::POST, "/api/v1/namespaces", &namespace).await;
    let pods = "/api/v1/namespaces/chosen/pods";
    let refused = call(&cluster, Method::POST, pods, &pod(json!({"nodeSelector": {"disk": "slow"}}))).await;
    let conflict = "pods \"p\" is forbidden: pod node label selector conflicts with its namespace node label selector";
    assert_eq!(message(&refused), conflict);
    let term = json!({"topologyKey": "zone", "labelSelector": {}});
    let affinity = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
    let refused = call(&cluster, Method::POST, pods, &pod(json!({ "affinity": affinity }))).await;
    assert!(message(&refused).ends_with("has TopologyKey zone but only key kubernetes.io/hostname is allowed"));
    let chosen = call(&cluster, Method::POST, pods, &pod(json!({"nodeSelector": {"zone": "a"}}))).await;
    assert_eq!(chosen.json()["spec"]["nodeSelector"], json!({"disk": "fast", "zone": "a"}));
}

#[tokio::test(start_paused = true)]
async fn stricter_namespace_labels_return_warnings_about_existing_pods() {
    let cluster = cluster(&[]).await;
    call(&cluster, Method::POST, "/api/v1/namespaces", &json!({"metadata": {"name": "n"}})).await;
    let account = json!({"metadata": {"name": "default"}});
    call(&cluster, Method::POST, "/api/v1/namespaces/n/serviceaccounts", &account).await;
    let pod = json!({
        "metadata": {"name": "p"}, "spec": {"hostNetwork": true, "containers": [{"name": "c", "image": "i"}]}
    });
    let made = call(&cluster, Method::POST, "/api/v1/namespaces/n/pods", &pod).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}});
    let changed = call(&cluster, Method::PATCH, "/api/v1/namespaces/n", &labels).await;
    let warnings: Vec<_> = changed.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("existing pods in namespace"), "{warnings:?}");
    assert!(warnings[1].contains("p: host namespaces"), "{warnings:?}");
}
