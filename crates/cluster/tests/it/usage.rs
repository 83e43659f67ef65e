//! What nodes tell of what their pods use, in virtual time.

use std::time::Duration;

use coracle_api::core_v1::{Event, Pod};
use coracle_client::{Api, Client, DeleteParams, ListParams};
use coracle_cluster::{Cluster, Release};
use coracle_meta::{GroupVersionResource, Object, ObjectKey};
use coracle_registry::User;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::sleep;

const WEB: &str = "web";

/// A cluster of one node in which a pod uses what these annotations say, as soon as it runs.
async fn cluster(annotations: Value) -> Cluster {
    let cluster = Cluster::builder().nodes(1).start().await.unwrap();
    // The namespace has its service account then, and pods may be made.
    sleep(Duration::from_secs(1)).await;
    let pods = pods(&cluster);
    let metadata = json!({"name": WEB, "namespace": "default", "annotations": annotations});
    let pod = json!({"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "web:1"}]}});
    pods.create(&serde_json::from_value(pod).unwrap()).await.unwrap();
    while !pods.get(&key()).await.unwrap().is_ready() {
        sleep(Duration::from_millis(100)).await;
    }
    cluster
}

fn key() -> ObjectKey {
    ObjectKey::new("default", WEB)
}

fn pods(cluster: &Cluster) -> Api<Pod> {
    Api::of(&cluster.client_as(ann()))
}

fn ann() -> User {
    User::new("ann", ["system:masters"])
}

async fn get(cluster: &Cluster, user: User, path: &str) -> (u16, String) {
    let request = http::Request::get(path).body(coracle_cluster::boxed(http_body_util::Empty::new())).unwrap();
    let answer = cluster.service_as(user).send(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn at_the_node(cluster: &Cluster, path: &str) -> (u16, String) {
    get(cluster, ann(), &format!("/api/v1/nodes/node-1/proxy/{path}")).await
}

/// Nanoseconds of processor time, and bytes of memory, of the only pod.
async fn used(cluster: &Cluster) -> (u64, u64) {
    let (status, summary) = at_the_node(cluster, "stats/summary").await;
    assert_eq!(status, 200, "{summary}");
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let pod = &summary["pods"][0];
    (pod["cpu"]["usageCoreNanoSeconds"].as_u64().unwrap(), pod["memory"]["workingSetBytes"].as_u64().unwrap())
}

async fn annotate(cluster: &Cluster, annotations: Value) {
    let patch = coracle_client::Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    pods(cluster).patch(&key(), &patch).await.unwrap();
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_counter_grows_by_the_annotated_usage_and_continues_after_a_change() {
    let cluster = cluster(json!({"coracle.dev/cpu": "250m", "coracle.dev/memory": "64Mi"})).await;
    let (before, memory) = used(&cluster).await;
    sleep(Duration::from_secs(100)).await;
    let (after, _) = used(&cluster).await;
    assert_eq!((after - before, memory), (25_000_000_000, 64 << 20));
    annotate(&cluster, json!({"coracle.dev/cpu": "1m", "coracle.dev/c.memory": "128Mi"})).await;
    let (changed, memory) = used(&cluster).await;
    assert_eq!((changed - after, memory), (1_000, 128 << 20), "a millisecond at a thousandth of a core");
}

#[tokio::test(start_paused = true)]
async fn an_amount_that_cannot_be_read_is_a_warning_and_that_pod_alone_stays_with_the_default() {
    let cluster = cluster(json!({"coracle.dev/cpu": "lots", "coracle.dev/memory": "64Mi"})).await;
    let (before, memory) = used(&cluster).await;
    sleep(Duration::from_secs(100)).await;
    assert_eq!((used(&cluster).await.0 - before, memory), (100_000_000, 64 << 20));
    let events =
        Api::<Event>::of(&cluster.client_as(ann())).list(&coracle_client::ListParams::default()).await.unwrap();
    let warnings: Vec<_> = events.items.iter().filter(|event| event.type_ == "Warning").collect();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!(warning.reason, "InvalidUsage");
    assert!(warning.message.starts_with("annotation coracle.dev/cpu is not heeded: \"lots\" is no quantity"));
}

#[tokio::test(start_paused = true)]
async fn a_nodes_own_api_is_reached_through_the_api_server_by_who_may_proxy() {
    let cluster = cluster(json!({})).await;
    assert_eq!(at_the_node(&cluster, "healthz").await, (200, "ok".to_owned()));
    let (_, metrics) = at_the_node(&cluster, "metrics/resource").await;
    assert!(metrics.contains("container_start_time_seconds{container=\"c\",namespace=\"default\",pod=\"web\"} "));
    let (_, pods) = at_the_node(&cluster, "pods").await;
    let pods: Value = serde_json::from_str(&pods).unwrap();
    assert_eq!((&pods["kind"], &pods["items"][0]["metadata"]["name"]), (&json!("PodList"), &json!(WEB)));
    let (status, why) = at_the_node(&cluster, "logs/").await;
    assert_eq!((status, why.as_str()), (501, "/logs is not supported: simulated nodes do not have it\n"));
    let (status, why) = at_the_node(&cluster, "run/default/web/c").await;
    assert!(status == 501 && why.contains("nodes/proxy is not supported: run goes by way of the pod"), "{why}");
    assert_eq!(get(&cluster, ann(), "/api/v1/nodes/elsewhere/proxy/healthz").await.0, 404);
    assert_eq!(get(&cluster, ann(), "/api/v1/nodes/node-1:9/proxy/healthz").await.0, 501);
    let bob = User::new("bob", ["system:authenticated"]);
    let (status, why) = get(&cluster, bob, "/api/v1/nodes/node-1/proxy/healthz").await;
    assert!(status == 403 && why.contains("cannot get resource \\\"nodes/proxy\\\""), "{why}");
}

async fn metrics(cluster: &Cluster, path: &str) -> (u16, Value) {
    let (status, body) = get(cluster, ann(), &format!("/apis/metrics.k8s.io/v1beta1/{path}")).await;
    (status, serde_json::from_str(&body).unwrap_or(body.into()))
}

async fn cluster_with_metrics(annotations: Value) -> Cluster {
    let cluster = Cluster::builder().nodes(1).metrics_server(true).start().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let metadata = json!({"name": WEB, "namespace": "default", "labels": {"app": "web"}, "annotations": annotations});
    let pod = json!({"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "web:1"}]}});
    pods(&cluster).create(&serde_json::from_value(pod).unwrap()).await.unwrap();
    cluster
}

#[tokio::test(start_paused = true)]
async fn metrics_are_served_by_an_api_service_that_is_available() {
    let cluster = cluster_with_metrics(json!({"coracle.dev/cpu": "250m", "coracle.dev/memory": "64Mi"})).await;
    let (_, none) = metrics(&cluster, "namespaces/default/pods").await;
    assert_eq!((&none["kind"], &none["items"]), (&json!("PodMetricsList"), &json!([])), "too fresh");
    sleep(Duration::from_secs(40)).await;
    let (_, service) = get(&cluster, ann(), "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io").await;
    let service: Value = serde_json::from_str(&service).unwrap();
    let condition = &service["status"]["conditions"][0];
    assert_eq!((&condition["type"], &condition["status"]), (&json!("Available"), &json!("True")));
    let (_, groups) = get(&cluster, ann(), "/apis").await;
    assert!(groups.contains("metrics.k8s.io/v1beta1"), "{groups}");

    let (_, pod) = metrics(&cluster, "namespaces/default/pods/web").await;
    assert_eq!(pod["containers"], json!([{"name": "c", "usage": {"cpu": "250m", "memory": "64Mi"}}]));
    assert_eq!((&pod["window"], &pod["timestamp"]), (&json!("15s"), &json!("2026-01-01T00:00:30Z")));
    assert_eq!(pod["metadata"]["labels"], json!({"app": "web"}));
    let (_, node) = metrics(&cluster, "nodes/node-1").await;
    assert_eq!((&node["kind"], &node["usage"]), (&json!("NodeMetrics"), &json!({"cpu": "300m", "memory": "320Mi"})));
    let count = async |path: &str| metrics(&cluster, path).await.1["items"].as_array().map(Vec::len);
    assert_eq!(count("pods?labelSelector=app%3Dweb").await, Some(1));
    assert_eq!(count("pods?labelSelector=app%3Dother").await, Some(0));
    assert_eq!(count("pods?fieldSelector=metadata.name%3Dother").await, Some(0));
    assert_eq!(count("nodes?fieldSelector=metadata.name%3Dnode-1").await, Some(1));
}

/// The content of the discovery documents of `metrics.k8s.io`: the versions, the preferred one, and those of the
/// aggregated document.
async fn discovered(cluster: &Cluster) -> (Vec<String>, String, Vec<String>) {
    let (_, group) = get(cluster, ann(), "/apis/metrics.k8s.io").await;
    let group: Value = serde_json::from_str(&group).unwrap();
    let names = |versions: &Value| {
        let versions = versions.as_array().into_iter().flatten();
        versions.map(|version| version["version"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let request = http::Request::get("/apis").header("accept", accept);
    let request = request.body(coracle_cluster::boxed(http_body_util::Empty::new())).unwrap();
    let answer = cluster.service_as(ann()).send(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let groups: Value = serde_json::from_slice(&body).unwrap();
    let groups = groups["items"].as_array().unwrap();
    let aggregated = groups.iter().find(|group| group["metadata"]["name"] == "metrics.k8s.io").unwrap();
    let preferred = group["preferredVersion"]["version"].as_str().unwrap().to_owned();
    (names(&group["versions"]), preferred, names(&aggregated["versions"]))
}

#[tokio::test(start_paused = true)]
async fn both_versions_of_metrics_are_served_from_1_37_on_and_differ_only_in_name() {
    let cluster = cluster_with_metrics(json!({"coracle.dev/cpu": "250m"})).await;
    sleep(Duration::from_secs(40)).await;
    let both = vec!["v1".to_owned(), "v1beta1".to_owned()];
    assert_eq!(discovered(&cluster).await, (both.clone(), "v1".to_owned(), both));
    let mut answers = Vec::new();
    for version in ["v1", "v1beta1"] {
        let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/{version}.metrics.k8s.io");
        let service: Value = serde_json::from_str(&get(&cluster, ann(), &path).await.1).unwrap();
        assert_eq!(service["status"]["conditions"][0]["status"], "True", "{service}");
        let (_, openapi) = get(&cluster, ann(), &format!("/openapi/v3/apis/metrics.k8s.io/{version}")).await;
        assert!(openapi.contains(&format!("io.k8s.metrics.pkg.apis.metrics.{version}.PodMetrics")), "{openapi}");
        let (status, pods) = get(&cluster, ann(), &format!("/apis/metrics.k8s.io/{version}/pods")).await;
        assert!(status == 200 && pods.contains("250m"), "{pods}");
        answers.push(pods.replace(&format!("metrics.k8s.io/{version}"), "metrics.k8s.io"));
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test(start_paused = true)]
async fn releases_before_1_37_serve_metrics_in_v1beta1_only() {
    let release = Release::named("1.35").unwrap();
    let cluster = Cluster::builder().kubernetes(release).nodes(1).metrics_server(true).start().await.unwrap();
    sleep(Duration::from_secs(40)).await;
    let only = vec!["v1beta1".to_owned()];
    assert_eq!(discovered(&cluster).await, (only.clone(), "v1beta1".to_owned(), only));
    assert_eq!(metrics(&cluster, "nodes").await.0, 200);
    assert_eq!(get(&cluster, ann(), "/apis/metrics.k8s.io/v1/nodes").await.0, 404);
    assert_eq!(get(&cluster, ann(), "/apis/apiregistration.k8s.io/v1/apiservices/v1.metrics.k8s.io").await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn unmeasured_pods_are_not_found_in_metrics_servers_words() {
    let cluster = cluster_with_metrics(json!({"coracle.dev/start": "false"})).await;
    sleep(Duration::from_secs(40)).await;
    let (code, why) = metrics(&cluster, "namespaces/default/pods/web").await;
    assert_eq!((code, &why["message"]), (404, &json!("podmetrics.metrics.k8s.io \"default/web\" not found")));
    assert_eq!(metrics(&cluster, "namespaces/default/pods/none").await.1["message"], "pods \"none\" not found");
    cluster.kubelet().stop_node("node-1");
    let (code, why) = metrics(&cluster, "nodes/node-1").await;
    assert_eq!((code, &why["message"]), (404, &json!("nodemetrics.metrics.k8s.io \"node-1\" not found")));
    let bob = User::new("bob", ["system:authenticated"]);
    let (status, why) = get(&cluster, bob, "/apis/metrics.k8s.io/v1beta1/nodes").await;
    assert!(status == 403 && why.contains("nodes.metrics.k8s.io is forbidden"), "{why}");
}

/// KWOK's kinds that say what pods use, as they are served.
async fn usages(client: &Client) -> [Api<Object>; 2] {
    let group = "kwok.x-k8s.io";
    let of = [("ResourceUsage", "Namespaced"), ("ClusterResourceUsage", "Cluster")].map(async |(kind, scope)| {
        let (singular, plural) = (kind.to_lowercase(), format!("{}s", kind.to_lowercase()));
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": scope,
                "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular},
                "versions": [{
                    "name": "v1alpha1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        });
        let definitions = GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        Api::<Object>::dynamic(client, definitions).create(&Object::from_value(definition).unwrap()).await.unwrap();
        let api = Api::<Object>::dynamic(client, GroupVersionResource::new(group, "v1alpha1", plural));
        while api.list(&ListParams::default()).await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
        api
    });
    let [own, of_cluster] = of;
    [own.await, of_cluster.await]
}

fn usage(kind: &str, metadata: Value, spec: Value) -> Object {
    let object = json!({"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
    Object::from_value(object).unwrap()
}

#[tokio::test(start_paused = true)]
async fn objects_of_kwok_say_what_pods_use_and_go_before_annotations() {
    let cluster = Cluster::builder().nodes(1).stages(Vec::new()).start().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let annotations =
        json!({"coracle.dev/cpu": "250m", "coracle.dev/memory": "64Mi", "kwok.x-k8s.io/usage-cpu": "700m"});
    let metadata = json!({"name": WEB, "namespace": "default", "annotations": annotations});
    let pod = json!({"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "web:1"}]}});
    pods(&cluster).create(&serde_json::from_value(pod).unwrap()).await.unwrap();
    let client = cluster.client_as(ann());
    let [own, of_cluster] = usages(&client).await;
    let used = async || {
        sleep(Duration::from_secs(5)).await;
        let now = cluster.ambient().clock.now();
        let reading = cluster.kubelet().service_for("node-1").unwrap().used_by(&key(), now).unwrap();
        (reading.containers[0].cpu_now / 1_000_000, reading.containers[0].memory >> 20)
    };
    assert_eq!(used().await, (250, 64));
    let text = "Quantity(pod.metadata.annotations['kwok.x-k8s.io/usage-cpu'])";
    let spec = json!({"selector": {"matchNames": [WEB]}, "usages": [{"usage": {"cpu": {"expression": text}}}]});
    of_cluster.create(&usage("ClusterResourceUsage", json!({"name": "all"}), spec)).await.unwrap();
    assert_eq!(used().await, (700, 64), "what it does not say is as the pod says");
    let spec = json!({"usages": [{"usage": {"cpu": {"value": "2"}, "memory": {"value": "1Gi"}}}]});
    own.create(&usage("ResourceUsage", json!({"name": WEB, "namespace": "default"}), spec)).await.unwrap();
    assert_eq!(used().await, (2000, 1024));
    own.delete(&key(), &DeleteParams::default()).await.unwrap();
    assert_eq!(used().await, (700, 64));
    let spec = json!({"usages": [{"usage": {"cpu": {"expression": "pod.SinceSecond()"}}}]});
    own.create(&usage("ResourceUsage", json!({"name": WEB, "namespace": "default"}), spec)).await.unwrap();
    assert_eq!(used().await, (700, 64), "what is refused says nothing");
    let events = Api::<Event>::of(&client).list(&ListParams::fields("reason=UsageRefused")).await.unwrap().items;
    assert_eq!(events.len(), 1);
    assert!(events[0].message.contains("SinceSecond"), "{}", events[0].message);
}
