//! What kube-apiserver's flags say is what the server does.

use bytes::Bytes;
use coracle_cluster::{ApiServerOptions, Cluster, DefaultTolerationSeconds, Limits, RuntimeConfig};
use coracle_store::{KeyRange, RangeRequest};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

async fn cluster(spec: ApiServerOptions) -> Cluster {
    Cluster::builder().api_server(spec).api_server_only().start().await.unwrap()
}

async fn send(cluster: &Cluster, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let answer = cluster.service().oneshot(request.body(Full::new(body)).unwrap()).await.unwrap();
    let code = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn get(cluster: &Cluster, path: &str) -> (u16, Value) {
    send(cluster, "GET", path, &Value::Null).await
}

#[tokio::test(start_paused = true)]
async fn disabled_resources_are_neither_served_nor_discovered() {
    let runtime_config = RuntimeConfig::parse("apps/v1=false,batch/v1/cronjobs=false").unwrap();
    let cluster = cluster(ApiServerOptions { runtime_config, ..ApiServerOptions::default() }).await;
    assert_eq!(get(&cluster, "/apis/apps/v1/deployments").await.0, 404);
    assert!(!get(&cluster, "/apis").await.1.to_string().contains("\"apps\""));
    assert_eq!(get(&cluster, "/apis/batch/v1/cronjobs").await.0, 404);
    assert_eq!(get(&cluster, "/apis/batch/v1/jobs").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn two_clusters_in_one_store_see_nothing_of_each_other() {
    let one = cluster(ApiServerOptions { etcd_prefix: Some("/one".to_owned()), ..ApiServerOptions::default() }).await;
    let map = json!({"metadata": {"name": "m"}});
    assert_eq!(send(&one, "POST", "/api/v1/namespaces/default/configmaps", &map).await.0, 201);
    assert_eq!(get(&one, "/api/v1/namespaces/default/configmaps/m").await.0, 200);
    let count = async |prefix: &str| {
        let request = RangeRequest { range: KeyRange::prefix(prefix.to_owned()), ..RangeRequest::default() };
        one.store().range(request).await.unwrap().count
    };
    assert_eq!((count("/registry/").await, count("/one/configmaps/default/").await), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn pods_tolerate_nodes_and_services_take_ports_as_the_flags_say() {
    let spec = ApiServerOptions {
        default_tolerations: DefaultTolerationSeconds { not_ready: 7, unreachable: 8 },
        service_node_port_range: (40000, 40000),
        ..ApiServerOptions::default()
    };
    let cluster = cluster(spec).await;
    let account = json!({"metadata": {"name": "default"}});
    send(&cluster, "POST", "/api/v1/namespaces/default/serviceaccounts", &account).await;
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let (code, pod) = send(&cluster, "POST", "/api/v1/namespaces/default/pods", &pod).await;
    assert_eq!(code, 201, "{pod}");
    let seconds = pod["spec"]["tolerations"].as_array().unwrap().iter().map(|one| one["tolerationSeconds"].clone());
    assert_eq!(seconds.collect::<Vec<_>>(), [7, 8]);
    let service =
        |name: &str| json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    let path = "/api/v1/namespaces/default/services";
    let (_, made) = send(&cluster, "POST", path, &service("a")).await;
    assert_eq!(made["spec"]["ports"][0]["nodePort"], 40000);
    assert!(send(&cluster, "POST", path, &service("b")).await.0 >= 400, "there is no other port");
}

#[tokio::test(start_paused = true)]
async fn a_request_may_take_as_long_as_the_flag_says() {
    let limits = Limits { request_seconds: 7, ..Limits::default() };
    let cluster = cluster(ApiServerOptions { limits, ..ApiServerOptions::default() }).await;
    let pending = http_body_util::StreamBody::new(futures_util::stream::pending::<
        Result<http_body::Frame<Bytes>, std::io::Error>,
    >());
    let request = Request::post("/api/v1/namespaces/default/configmaps").header("content-type", "application/json");
    let began = tokio::time::Instant::now();
    let answer = cluster.service().oneshot(request.body(pending).unwrap()).await.unwrap();
    assert_eq!((answer.status().as_u16(), began.elapsed().as_secs()), (504, 7));
}
