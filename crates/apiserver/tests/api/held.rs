//! What answers hold in memory while their clients do not read them.

use coracle_apiserver::Body;
use http::{Method, Response};
use http_body_util::BodyExt;
use serde_json::json;

use crate::server::{CONFIG_MAPS, Server, request};

const OBJECTS: usize = 80;
/// The bytes of each object.
const OBJECT: usize = 40_000;
const CLIENTS: usize = 12;
/// What an answer may hold: a chunk and the next object, in a buffer that has grown to twice its size, and its tasks. A
/// whole answer has 3.2 MB.
const MOST: i64 = 256 * 1024;
/// The state of a compressor.
const COMPRESSOR: i64 = 320 * 1024;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const METADATA_PROTOBUF: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const WATCH_LIST: &str =
    "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

/// Half of an object's bytes are data, and half are metadata.
async fn with_config_maps() -> Server {
    let server = Server::start().await;
    for number in 0..OBJECTS {
        let half = "x".repeat(OBJECT / 2);
        let metadata = json!({"name": format!("m{number:02}"), "annotations": {"large": half}});
        server.call(Method::POST, CONFIG_MAPS, &[], json!({"metadata": metadata, "data": {"large": half}})).await;
    }
    server
}

/// Opens an answer, and reads one frame of it. The client keeps neither.
async fn open(server: &Server, target: &str, headers: &[(&str, &str)]) -> Response<Body> {
    let mut answer = server.open(request(Method::GET, target, headers, Body::empty())).await;
    let frame = answer.body_mut().frame().await.expect("a frame").expect("no error");
    assert!(frame.into_data().is_ok_and(|data| !data.is_empty()));
    answer
}

#[test]
fn clients_that_do_not_read_make_the_server_hold_no_whole_answers() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let server = runtime.block_on(with_config_maps());
    let cases = [
        ("", JSON, "identity"),
        ("", JSON, "gzip"),
        ("?pretty=true", JSON, "identity"),
        ("", YAML, "identity"),
        ("", PROTOBUF, "identity"),
        ("?includeObject=Object", TABLE, "identity"),
        ("", METADATA, "identity"),
        ("", METADATA_PROTOBUF, "identity"),
        (WATCH_LIST, JSON, "identity"),
        (WATCH_LIST, PROTOBUF, "identity"),
    ];
    for (query, accept, encoding) in cases {
        let target = format!("{CONFIG_MAPS}{query}");
        let headers = [("accept", accept), ("accept-encoding", encoding)];
        // What all clients share, such as cached messages, is there after the first one.
        let first = runtime.block_on(open(&server, &target, &headers));
        let mut answers = vec![first];
        let held = allocation_counter::measure(|| {
            for _ in 0..CLIENTS {
                answers.push(runtime.block_on(open(&server, &target, &headers)));
            }
        });
        let each = held.bytes_current / CLIENTS as i64;
        let most = if encoding == "gzip" { MOST + COMPRESSOR } else { MOST };
        assert!(each < most, "{each} bytes for {accept} {encoding} {query}");
    }
}
