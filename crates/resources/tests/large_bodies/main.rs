//! A body of 3 MB, however it is made, takes 300 MB of memory at most.
//!
//! The memory is the most that this process has ever held, as Linux counts it; other systems do not say it in this form.

#[path = "../server/mod.rs"]
mod server;

use coracle_apiserver::Body;
use http_body_util::BodyExt;
use serde_json::json;
use tower::ServiceExt;

use crate::server::{Server, server};

/// The largest body that is read, less room for what an apply says in addition.
const LARGEST: usize = 3 * 1024 * 1024 - 100;
/// What the values of a body may weigh together.
const MOST_WEIGHT: usize = 400_000;
const MOST_MEMORY: usize = 300 * 1024 * 1024;

/// The most memory that this process has held, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

async fn answer(server: &Server, method: &str, path: &str, media_type: &str, body: Vec<u8>) -> (u16, usize) {
    let request = http::Request::builder().method(method).uri(path).header("content-type", media_type);
    let answer = server.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    let code = answer.status().as_u16();
    (code, answer.into_body().collect().await.unwrap().to_bytes().len())
}

/// A body of one long list or map: its elements stand between a head and a tail.
struct Long {
    path: &'static str,
    head: &'static str,
    element: fn(usize) -> String,
    tail: &'static str,
    /// What an element weighs.
    weight: usize,
}

/// At most so many elements, as far as a body has room for them.
fn full(Long { head, element, tail, .. }: &Long, most: usize) -> Vec<u8> {
    let mut text = (*head).to_owned();
    for at in 0..most {
        let element = element(at);
        if text.len() + element.len() + tail.len() + 1 > LARGEST {
            break;
        }
        if at > 0 {
            text.push(',');
        }
        text += &element;
    }
    (text + tail).into_bytes()
}

const PODS: &str = "/api/v1/namespaces/default/pods";

const BODIES: [Long; 11] = [
    of_pods("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[", empty, "]}}", 9),
    of_pods("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[", named, "]}}", 11),
    of_pods("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"volumes\":[", named, "]}}", 11),
    of_pods("{\"metadata\":{\"name\":\"x\",\"finalizers\":[", |_| "\"\"".to_owned(), "]}}", 1),
    of_pods("{\"metadata\":{\"name\":\"x\",\"labels\":{", entry, "}}}", 2),
    of_pods("{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[", empty, "]}}", 9),
    of_pods("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"env\":[", named, "]}]}}", 11),
    of_pods("{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"ports\":[", empty, "]}]}}", 9),
    Long {
        path: "/api/v1/namespaces/default/endpoints",
        head: "{\"metadata\":{\"name\":\"x\"},\"subsets\":[{\"addresses\":[",
        element: |_| "{\"ip\":\"\"}".to_owned(),
        tail: "]}]}",
        weight: 11,
    },
    Long {
        path: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        head: "{\"metadata\":{\"name\":\"x\"},\"rules\":[",
        element: empty,
        tail: "]}",
        weight: 9,
    },
    Long {
        path: "/api/v1/namespaces/default/configmaps",
        head: "{\"metadata\":{\"name\":\"x\"},\"data\":{",
        element: |at| format!("\"/{at}\":\"\""),
        tail: "}}",
        weight: 2,
    },
];

const fn of_pods(head: &'static str, element: fn(usize) -> String, tail: &'static str, weight: usize) -> Long {
    Long { path: PODS, head, element, tail, weight }
}

fn empty(_: usize) -> String {
    "{}".to_owned()
}

fn named(at: usize) -> String {
    format!("{{\"name\":\"a{at}\"}}")
}

fn entry(at: usize) -> String {
    format!("\"a{at}\":\"\"")
}

/// A pod in protobuf whose containers are empty messages.
fn empty_containers() -> Vec<u8> {
    let spec: Vec<u8> = [0x12, 0].repeat(LARGEST / 2 - 40);
    let length = |mut length: usize| {
        let mut bytes = Vec::new();
        while length >= 0x80 {
            bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
            length >>= 7;
        }
        bytes.push(u8::try_from(length).unwrap());
        bytes
    };
    let pod = [vec![0x12], length(spec.len()), spec].concat();
    let kind = [&[0x0a, 2][..], b"v1", &[0x12, 3], b"Pod"].concat();
    let kind = [vec![0x0a], length(kind.len()), kind].concat();
    [&b"k8s\0"[..], &kind, &[0x12], &length(pod.len()), &pod].concat()
}

#[tokio::test(start_paused = true)]
async fn a_body_of_3_mb_takes_no_more_than_300_mb() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let server = server();
    let namespace = json!({"metadata": {"name": "default"}}).to_string().into_bytes();
    assert_eq!(answer(&server, "POST", "/api/v1/namespaces", "application/json", namespace).await.0, 201);
    let mut measured = Vec::new();
    let mut note = |what: String, (code, length): (u16, usize)| {
        assert!(matches!(code, 201 | 422), "{what}: {code}");
        measured.push(format!("{what}: {code}, {length} bytes, {} MB", peak() >> 20));
    };
    for (at, long) in BODIES.iter().enumerate() {
        // All that fits into a body, and of containers almost all that is read.
        let lengths = [usize::MAX, (MOST_WEIGHT - 100) / long.weight];
        for most in lengths.into_iter().take(if at == 0 { 2 } else { 1 }) {
            let body = full(long, most);
            let what = format!("{} {} of {most}", long.path, long.head);
            let path = format!("{}?dryRun=All", long.path);
            note(what, answer(&server, "POST", &path, "application/json", body).await);
        }
    }
    let media_type = "application/vnd.kubernetes.protobuf";
    note("protobuf".to_owned(), answer(&server, "POST", PODS, media_type, empty_containers()).await);
    assert!(peak() < MOST_MEMORY, "{}", measured.join("\n"));
}
