//! Bad input: whatever bytes arrive, the face answers and goes on.

mod common;

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use common::serve;
use coracle_ambient::{Ambient, Random};
use coracle_etcd::{Face, FaceOptions};
use coracle_journal::Recorder;
use coracle_store::{Engine, Operation, Options, Store, Txn};
use http_body_util::{BodyExt, Full};
use std::sync::Arc;
use tower::ServiceExt;

const METHODS: [&str; 24] = [
    "etcdserverpb.KV/Range",
    "etcdserverpb.KV/RangeStream",
    "etcdserverpb.KV/Put",
    "etcdserverpb.KV/DeleteRange",
    "etcdserverpb.KV/Txn",
    "etcdserverpb.KV/Compact",
    "etcdserverpb.Watch/Watch",
    "etcdserverpb.Lease/LeaseGrant",
    "etcdserverpb.Lease/LeaseRevoke",
    "etcdserverpb.Lease/LeaseKeepAlive",
    "etcdserverpb.Lease/LeaseTimeToLive",
    "etcdserverpb.Lease/LeaseLeases",
    "etcdserverpb.Cluster/MemberList",
    "etcdserverpb.Cluster/MemberAdd",
    "etcdserverpb.Maintenance/Alarm",
    "etcdserverpb.Maintenance/Status",
    "etcdserverpb.Maintenance/Defragment",
    "etcdserverpb.Maintenance/Hash",
    "etcdserverpb.Maintenance/HashKV",
    "etcdserverpb.Maintenance/Snapshot",
    "etcdserverpb.Maintenance/MoveLeader",
    "etcdserverpb.Auth/UserAdd",
    "grpc.health.v1.Health/Check",
    "etcdserverpb.KV/NoSuchMethod",
];

/// Sends one body to one method; returns the gRPC code if the answer has one.
async fn send(face: &Face, method: &str, body: Bytes) -> Option<String> {
    let request = http::Request::post(format!("http://face/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Full::new(body))
        .unwrap();
    let response = face.clone().oneshot(request).await.unwrap();
    let code = |headers: &http::HeaderMap| headers.get("grpc-status").map(|code| code.to_str().unwrap().to_owned());
    let early = code(response.headers());
    let mut body = response.into_body();
    // The watch of health never ends; what it has to say comes at once.
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(Duration::from_secs(1), body.frame()).await {
        if let Some(trailers) = frame.trailers_ref() {
            return code(trailers);
        }
    }
    early
}

fn framed(message: &[u8]) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u8(0);
    body.put_u32(message.len() as u32);
    body.put_slice(message);
    body.freeze()
}

/// Bytes that look like a message: fields with small numbers, some of them messages again.
fn message(random: &Random, depth: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(6) {
        let field = random.below(14) as u8 + 1;
        match random.below(4) {
            0 => {
                bytes.push(field << 3);
                let mut number = random.bits() >> random.below(64);
                while number >= 0x80 {
                    bytes.push(number as u8 | 0x80);
                    number >>= 7;
                }
                bytes.push(number as u8);
            }
            1 if depth > 0 => {
                let inner = message(random, depth - 1);
                if inner.len() < 128 {
                    bytes.extend([field << 3 | 2, inner.len() as u8]);
                    bytes.extend(inner);
                }
            }
            2 => {
                let length = random.below(10) as u8;
                bytes.extend([field << 3 | 2, length]);
                bytes.extend((0..length).map(|_| random.bits() as u8));
            }
            _ => bytes.push(random.bits() as u8),
        }
    }
    bytes
}

#[tokio::test(start_paused = true)]
async fn every_method_answers_random_messages_with_a_code_and_the_store_stays_sound() {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    let face = Face::new(Arc::new(engine.clone()), FaceOptions::default());
    let random = Random::from_seed(99);
    for round in 0..4000 {
        let method = METHODS[round % METHODS.len()];
        let message = message(&random, 3);
        let body = match random.below(8) {
            // Shorter than it says, longer than it says, or said to be compressed.
            0 => framed(&message).slice(..random.below(message.len() as u64 + 5) as usize),
            1 => [&framed(&message)[..], &[1, 2, 3]].concat().into(),
            2 => [&[1][..], &framed(&message)[1..]].concat().into(),
            _ => framed(&message),
        };
        let code = send(&face, method, body).await;
        assert!(code.is_some() || method.ends_with("Health/Watch"), "{method} answers with a code");
    }
    let put = Txn { success: vec![Operation::put("still", "here")], ..Txn::default() };
    assert!(engine.txn(put).await.unwrap().succeeded);
}

#[tokio::test]
async fn a_length_beyond_the_limit_is_refused_before_anything_is_read() {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    let face = Face::new(Arc::new(engine), FaceOptions::default());
    let mut body = BytesMut::new();
    body.put_u8(0);
    body.put_u32(u32::MAX);
    body.put_slice(&[0; 16]);
    assert_eq!(send(&face, "etcdserverpb.KV/Put", body.freeze()).await.as_deref(), Some("11"));
}

#[tokio::test]
async fn transactions_nested_too_deeply_are_refused() {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    let face = Face::new(Arc::new(engine), FaceOptions::default());
    let mut message: Vec<u8> = Vec::new();
    for _ in 0..300 {
        for field in [4_u8, 2] {
            let mut outer = vec![field << 3 | 2];
            let mut length = message.len();
            while length >= 0x80 {
                outer.push(length as u8 | 0x80);
                length >>= 7;
            }
            outer.push(length as u8);
            outer.extend(&message);
            message = outer;
        }
    }
    let code = send(&face, "etcdserverpb.KV/Txn", framed(&message)).await;
    assert_ne!(code.as_deref(), Some("0"));
}

#[tokio::test]
async fn bytes_that_are_no_protocol_at_all_end_their_connection_alone() {
    let served = serve().await;
    let address = served.url.trim_start_matches("http://").to_owned();
    let random = Random::from_seed(5);
    for _ in 0..50 {
        let mut socket = tokio::net::TcpStream::connect(&address).await.unwrap();
        let noise: Vec<u8> = (0..random.below(300)).map(|_| random.bits() as u8).collect();
        let preface: &[u8] = if random.below(2) == 0 { b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" } else { b"" };
        let _ = tokio::io::AsyncWriteExt::write_all(&mut socket, &[preface, &noise].concat()).await;
    }
    let store = common::connect(&served.url).await;
    assert_eq!(store.status().await.unwrap().revision, 1);
}
