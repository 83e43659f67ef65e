use coracle_apiserver::Body;
use coracle_meta::GroupVersion;
use coracle_schema::Table;
use coracle_schema::decode::{Format, decode};
use http::{Method, StatusCode};
use serde_json::json;

use crate::server::{Server, request};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

#[tokio::test(start_paused = true)]
async fn the_older_documents_name_groups_versions_and_resources() {
    let server = Server::start().await;
    assert_eq!(server.get("/api").await.json()["versions"], json!(["v1"]));
    let groups = server.get("/apis").await.json();
    assert_eq!(groups["groups"][0]["preferredVersion"]["groupVersion"], "apps/v1");
    let resources = server.get("/apis/apps/v1").await.json();
    let names: Vec<_> = resources["resources"].as_array().unwrap().iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["deployments", "deployments/scale", "deployments/status"]);
    assert_eq!(server.get("/apis/nope").await.code, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn the_older_documents_say_the_same_in_protobuf() {
    let server = Server::start().await;
    let v1 = GroupVersion::new("", "v1");
    for path in ["/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1"] {
        let in_json = server.get(path).await.json();
        let accept = [("accept", "application/vnd.kubernetes.protobuf")];
        let answer = server.send(request(Method::GET, path, &accept, Body::empty())).await;
        let kind = v1.kind(in_json["kind"].as_str().unwrap());
        let schema = Table::newest().kind(&kind).unwrap();
        let mut read = decode(&answer.body, Format::Protobuf, &kind, &schema).unwrap().object.to_value();
        if in_json.get("apiVersion").is_none() {
            read.as_object_mut().unwrap().remove("apiVersion");
        }
        assert_eq!(read, in_json, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn aggregated_discovery_is_one_document_that_is_not_sent_twice() {
    let server = Server::start().await;
    let first = server.send(request(Method::GET, "/apis", &[("accept", AGGREGATED)], Body::empty())).await;
    assert_eq!(first.header("content-type"), AGGREGATED);
    assert_eq!(first.header("vary"), "Accept");
    assert_eq!(first.json()["items"][0]["versions"][0]["resources"][0]["resource"], "deployments");
    let headers = [("accept", AGGREGATED), ("if-none-match", first.header("etag"))];
    let second = server.send(request(Method::GET, "/apis", &headers, Body::empty())).await;
    assert_eq!((second.code, second.body.len()), (StatusCode::NOT_MODIFIED, 0));
}

#[tokio::test(start_paused = true)]
async fn health_is_reported_short_verbose_and_by_check() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz").await.body, b"ok");
    let full = String::from_utf8(server.get("/readyz?verbose").await.body).unwrap();
    assert!(full.contains("[+]etcd ok\n") && full.ends_with("readyz check passed\n"), "{full}");
    assert_eq!(server.get("/livez/ping").await.body, b"ok");
    assert_eq!(server.get("/livez/unknown").await.code, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn the_version_and_the_metrics_are_served() {
    let server = Server::start().await;
    let version = server.get("/version").await.json();
    let (major, minor) = coracle_release::Release::default().major_minor();
    assert_eq!((&version["major"], &version["minor"]), (&json!(major), &json!(minor)));
    server.create_config_map("a").await;
    let metrics = String::from_utf8(server.get("/metrics").await.body).unwrap();
    assert!(metrics.contains("apiserver_request_total{code=\"201\","), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn methods_and_subresources_that_clients_make_up_are_no_labels() {
    let server = Server::start().await;
    for number in 0..100 {
        let method = http::Method::from_bytes(format!("MADEUP{number}").as_bytes()).unwrap();
        for path in ["/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/configmaps/a", "/nowhere"] {
            server.call(method.clone(), path, &[], json!({})).await;
        }
        let path = format!("/api/v1/namespaces/default/configmaps/a/madeup{number}?timeout=madeup");
        server.get(&path).await;
    }
    let metrics = String::from_utf8(server.get("/metrics").await.body).unwrap();
    assert!(!metrics.to_lowercase().contains("madeup"), "{metrics}");
    assert!(metrics.contains("verb=\"other\""), "{metrics}");
    assert!(metrics.len() < 50_000, "{}", metrics.len());
}
