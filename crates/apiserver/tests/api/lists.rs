use coracle_apiserver::Body;
use coracle_meta::GroupVersionKind;
use coracle_schema::Table;
use coracle_schema::decode::{Format, decode};
use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::server::{CONFIG_MAPS, Server, request};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// What is written at a time, and the largest object of these tests.
const LARGEST_FRAME: usize = 64 * 1024 + 301_000;

async fn with_large_config_maps(count: usize) -> Server {
    let server = Server::start().await;
    for number in 0..count {
        let data = json!({"large": "x".repeat(300_000), "number": number.to_string()});
        let body = json!({"metadata": {"name": format!("m{number:02}")}, "data": data});
        server.call(Method::POST, CONFIG_MAPS, &[], body).await;
    }
    server
}

/// Reads an answer frame by frame; none is larger than it has to be, so whoever stops reading holds no more than that.
async fn frames(server: &Server, accept: &str) -> Vec<u8> {
    frames_of(server, CONFIG_MAPS, accept).await
}

async fn frames_of(server: &Server, target: &str, accept: &str) -> Vec<u8> {
    let answer = server.open(request(Method::GET, target, &[("accept", accept)], Body::empty())).await;
    let (mut body, mut read) = (answer.into_body(), Vec::new());
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap();
        assert!(data.len() <= LARGEST_FRAME, "a frame of {} bytes", data.len());
        read.extend_from_slice(&data);
    }
    read
}

#[tokio::test(start_paused = true)]
async fn a_large_list_comes_in_pieces_and_is_the_same_in_both_formats() {
    let server = with_large_config_maps(30).await;
    let in_json: Value = serde_json::from_slice(&frames(&server, "application/json").await).unwrap();
    let kind = GroupVersionKind::new("", "v1", "ConfigMapList");
    let schema = Table::newest().kind(&kind).unwrap();
    for _ in 0..2 {
        let in_protobuf = frames(&server, PROTOBUF).await;
        let decoded = decode(&in_protobuf, Format::Protobuf, &kind, &schema).unwrap();
        assert_eq!(decoded.object.into_value(), in_json);
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_list_in_yaml_or_indented_comes_in_pieces_too() {
    let server = with_large_config_maps(30).await;
    let in_json: Value = serde_json::from_slice(&frames(&server, "application/json").await).unwrap();
    let pretty = frames_of(&server, &format!("{CONFIG_MAPS}?pretty=true"), "application/json").await;
    assert_eq!(String::from_utf8(pretty).unwrap(), serde_json::to_string_pretty(&in_json).unwrap() + "\n");
    let in_yaml = frames(&server, "application/yaml").await;
    let kind = GroupVersionKind::new("", "v1", "ConfigMapList");
    let schema = Table::newest().kind(&kind).unwrap();
    assert_eq!(decode(&in_yaml, Format::Yaml, &kind, &schema).unwrap().object.into_value(), in_json);
    let table = "application/yaml;as=Table;v=v1;g=meta.k8s.io";
    let text =
        String::from_utf8(frames_of(&server, &format!("{CONFIG_MAPS}?includeObject=Object"), table).await).unwrap();
    assert_eq!(text.matches("\n- cells:\n").count(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_small_list_in_protobuf_is_the_one_in_json() {
    let server = Server::start().await;
    server.create_config_map("a").await;
    server.create_config_map("b").await;
    let in_json: Value = serde_json::from_slice(&frames(&server, "application/json").await).unwrap();
    let kind = GroupVersionKind::new("", "v1", "ConfigMapList");
    let schema = Table::newest().kind(&kind).unwrap();
    for _ in 0..2 {
        let in_protobuf = frames(&server, PROTOBUF).await;
        let decoded = decode(&in_protobuf, Format::Protobuf, &kind, &schema).unwrap();
        assert_eq!(decoded.object.into_value(), in_json);
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_of_metadata_has_no_items_and_any_other_has_none_in_it() {
    let server = Server::start().await;
    for (accept, member, nothing) in [
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "items", Value::Null),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", "rows", json!([])),
        ("application/json", "items", json!([])),
    ] {
        let list: Value = serde_json::from_slice(&frames(&server, accept).await).unwrap();
        assert_eq!(list.get(member), Some(&nothing), "{accept}");
    }
    let in_protobuf = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    assert!(frames(&server, in_protobuf).await.starts_with(b"k8s\0"));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_metadata_in_protobuf_is_the_one_in_json_whether_it_comes_at_once_or_in_pieces() {
    let v1 = GroupVersionKind::new("meta.k8s.io", "v1", "PartialObjectMetadataList");
    let schema = Table::newest().kind(&v1).unwrap();
    for (version, count) in [("v1", 2), ("v1", 30), ("v1beta1", 2), ("v1beta1", 30)] {
        let server = with_large_config_maps(count).await;
        let as_list = format!("as=PartialObjectMetadataList;v={version};g=meta.k8s.io");
        let in_json = frames(&server, &format!("application/json;{as_list}")).await;
        let mut in_json: Value = serde_json::from_slice(&in_json).unwrap();
        let kind = GroupVersionKind::new("meta.k8s.io", version, "PartialObjectMetadataList");
        let in_protobuf = frames(&server, &format!("{PROTOBUF};{as_list}")).await;
        let decoded = decode(&in_protobuf, Format::Protobuf, &kind, &schema).unwrap();
        // In protobuf, items of lists have no kind.
        for item in in_json["items"].as_array_mut().unwrap() {
            item.as_object_mut().unwrap().retain(|name, _| name == "metadata");
        }
        assert_eq!(decoded.object.into_value(), in_json);
    }
}
