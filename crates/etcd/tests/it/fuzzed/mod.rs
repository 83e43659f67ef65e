//! What the target `messages` of `fuzz` does with its bytes, and the tests with those of `fuzz/corpus/messages`.
#![allow(clippy::allow_attributes, dead_code, reason = "the target uses a part of it")]

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use coracle_ambient::Ambient;
use coracle_etcd::{Face, FaceOptions};
use coracle_journal::Recorder;
use coracle_store::{Engine, Operation, Options, Store, Txn};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

pub(crate) const METHODS: [&str; 24] = [
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
pub(crate) async fn send(face: &Face, method: &str, body: Bytes) -> Option<String> {
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

pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u8(0);
    body.put_u32(message.len() as u32);
    body.put_slice(message);
    body.freeze()
}

/// The first byte chooses a method, the rest is the message to it. Every method answers with a code, and the store goes
/// on.
pub(crate) fn message(bytes: &[u8]) {
    let Some((method, message)) = bytes.split_first() else { return };
    let method = METHODS[usize::from(*method) % METHODS.len()];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
        let put = |key: &'static str| Txn { success: vec![Operation::put(key, "value")], ..Txn::default() };
        for key in ["a", "b", "a"] {
            engine.txn(put(key)).await.unwrap();
        }
        let face = Face::new(Arc::new(engine.clone()), FaceOptions::default());
        assert!(send(&face, method, framed(message)).await.is_some(), "{method} answers with a code");
        assert!(engine.txn(put("still here")).await.unwrap().succeeded);
    });
}
