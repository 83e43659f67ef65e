use std::time::Duration;

use coracle_apiserver::Body;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::server::{CONFIG_MAPS, Server, request};

/// The events of a watch that has ended.
fn events(body: &[u8]) -> Vec<Value> {
    let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn told<'a>(events: &'a [Value]) -> Vec<(&'a str, &'a str)> {
    let name = |event: &'a Value| event["object"]["metadata"]["name"].as_str().unwrap_or_default();
    events.iter().map(|event| (event["type"].as_str().unwrap(), name(event))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_watch_sends_the_events_after_its_version_and_ends_at_its_timeout() {
    let server = Server::start().await;
    let first = server.create_config_map("a").await;
    server.create_config_map("b").await;
    server.call(Method::DELETE, &format!("{CONFIG_MAPS}/a"), &[], json!({})).await;
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    let started = tokio::time::Instant::now();
    let answer = server.get(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=7")).await;
    assert_eq!(told(&events(&answer.body)), [("ADDED", "b"), ("DELETED", "a")]);
    assert_eq!(started.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_ends_its_initial_events_with_a_bookmark() {
    let server = Server::start().await;
    server.create_config_map("a").await;
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let answer = server.get(&format!("{CONFIG_MAPS}?{query}&timeoutSeconds=1")).await;
    let events = events(&answer.body);
    assert_eq!(told(&events), [("ADDED", "a"), ("BOOKMARK", "")]);
    assert_eq!(events[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(events[1]["object"]["kind"], "ConfigMap");
}

#[tokio::test(start_paused = true)]
async fn headers_come_before_the_first_event_and_events_as_they_happen() {
    let server = Server::start().await;
    let version = server.create_config_map("a").await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let target = format!("{CONFIG_MAPS}?watch=1&resourceVersion={version}");
    let answer = server.open(request(Method::GET, &target, &[], Body::empty())).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let mut body = answer.into_body();
    server.create_config_map("b").await;
    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(told(&events(&frame)), [("ADDED", "b")]);
}

#[tokio::test(start_paused = true)]
async fn several_events_that_are_ready_share_a_frame() {
    let server = Server::start().await;
    let answer = server.open(request(Method::GET, &format!("{CONFIG_MAPS}?watch=1"), &[], Body::empty())).await;
    let mut body = answer.into_body();
    for name in ["a", "b", "c"] {
        server.create_config_map(name).await;
    }
    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(told(&events(&frame)), [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_shuts_down_ends_its_watches_cleanly_and_is_not_ready() {
    let server = Server::start().await;
    let answer = server.open(request(Method::GET, &format!("{CONFIG_MAPS}?watch=1"), &[], Body::empty())).await;
    let mut body = answer.into_body();
    let shutdown = server.shutdown.clone();
    let going = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        shutdown.begin();
    };
    let (end, ()) = tokio::join!(body.frame(), going);
    assert!(end.is_none());
    assert_eq!(server.get("/readyz").await.code, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(server.get("/livez").await.code, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_table_watch_sends_its_columns_once() {
    let server = Server::start().await;
    server.create_config_map("a").await;
    server.create_config_map("b").await;
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let target = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    let answer = server.send(request(Method::GET, &target, &accept, Body::empty())).await;
    let events = events(&answer.body);
    assert!(events[0]["object"]["columnDefinitions"].is_array());
    assert!(events[1]["object"]["columnDefinitions"].is_null());
    assert_eq!(events[1]["object"]["rows"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_older_paths_of_watches_still_watch() {
    let server = Server::start().await;
    server.create_config_map("a").await;
    server.create_config_map("b").await;
    let all = server.get("/api/v1/watch/namespaces/default/configmaps?timeoutSeconds=1").await;
    assert_eq!(told(&events(&all.body)), [("ADDED", "a"), ("ADDED", "b")]);
    let one = server.get("/api/v1/watch/namespaces/default/configmaps/b?timeoutSeconds=1").await;
    assert_eq!(told(&events(&one.body)), [("ADDED", "b")]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_in_protobuf_frames_each_event_with_its_length() {
    let server = Server::start().await;
    server.create_config_map("a").await;
    let accept = [("accept", "application/vnd.kubernetes.protobuf, application/json")];
    let target = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1");
    let answer = server.send(request(Method::GET, &target, &accept, Body::empty())).await;
    assert_eq!(answer.header("content-type"), "application/vnd.kubernetes.protobuf;stream=watch");
    let length = u32::from_be_bytes(answer.body[..4].try_into().unwrap()) as usize;
    assert_eq!(answer.body.len(), 4 + length);
}
