//! Ranges as streams: of our server, and of an etcd that has none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use coracle_ambient::Ambient;
use coracle_etcd::{EtcdStore, Face, FaceOptions};
use coracle_journal::Recorder;
use coracle_store::{Engine, KeyRange, KeyValue, Operation, Options, RangeRequest, RangeResponse, Store, Txn};
use http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::body::Body;
use tower::ServiceExt;

use crate::common::{connect, real_etcd, serve};

const STREAMS: &str = concat!(
    "grpc_server_started_total{grpc_method=\"RangeStream\",",
    "grpc_service=\"etcdserverpb.KV\",grpc_type=\"server_stream\"}"
);

fn all() -> RangeRequest {
    RangeRequest { range: KeyRange::prefix("key/"), ..RangeRequest::default() }
}

async fn fill(store: &dyn Store, keys: usize) {
    for first in (0..keys).step_by(100) {
        let puts = (first..keys.min(first + 100)).map(|number| Operation::put(format!("key/{number:05}"), "value"));
        store.txn(Txn { success: puts.collect(), ..Txn::default() }).await.unwrap();
    }
}

/// The parts of a stream, of which the first is read before `meanwhile` happens.
async fn parts(store: &EtcdStore, request: RangeRequest, meanwhile: impl Future<Output = ()>) -> Vec<RangeResponse> {
    let mut stream = store.range_stream(request).await.unwrap().expect("a stream");
    let mut parts = vec![stream.next().await.unwrap().unwrap()];
    meanwhile.await;
    while let Some(part) = stream.next().await.unwrap() {
        parts.push(part);
    }
    parts
}

fn keys(parts: Vec<RangeResponse>) -> Vec<KeyValue> {
    parts.into_iter().flat_map(|part| part.kvs).collect()
}

#[tokio::test]
async fn a_stream_has_the_keys_of_one_revision_and_says_at_its_end_which_one() {
    let served = serve().await;
    let store = connect(&served.url).await;
    fill(&store, 3500).await;
    let whole = store.range(all()).await.unwrap();
    let write = async { fill(&served.engine, 100).await };
    let streamed = parts(&store, all(), write).await;
    let (last, before) = streamed.split_last().unwrap();
    assert!(before.iter().all(|part| (part.revision, part.count, part.more) == (0, 0, false)) && before.len() > 1);
    assert_eq!((last.revision, last.count, last.more), (whole.revision, 3500, false));
    assert_eq!(keys(streamed), whole.kvs);
    // At a requested revision, the header has the newest one, like that of a Range.
    let pinned = parts(&store, RangeRequest { revision: whole.revision, ..all() }, async {}).await;
    assert_eq!(pinned.last().unwrap().revision, whole.revision + 1);
    assert_eq!(keys(pinned), whole.kvs);
    let limited = RangeRequest { limit: 2500, revision: whole.revision, ..all() };
    let streamed = parts(&store, limited.clone(), async {}).await;
    let (last, before) = streamed.split_last().unwrap();
    assert!(before.len() > 1 && before.iter().all(|part| !part.more));
    assert_eq!((last.count, last.more), (3500, true), "the limit left out keys");
    assert_eq!(keys(streamed), store.range(limited).await.unwrap().kvs);
    let metrics = store.metrics().await.unwrap();
    assert!((metrics[STREAMS] - 3.0).abs() < 0.1, "{metrics:?}");
}

/// A server like an etcd before 3.7, and how many streams it was asked for.
async fn serve_without_streams(connections: &mut JoinSet<()>) -> (String, Arc<AtomicU64>) {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    let face = Face::new(Arc::new(engine), FaceOptions::default());
    let asked = Arc::new(AtomicU64::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
        let (face, count) = (face.clone(), Arc::clone(&count));
        async move {
            if request.uri().path() == "/etcdserverpb.KV/RangeStream" {
                count.fetch_add(1, Ordering::Relaxed);
                let refused: Response<Body> = tonic::Status::unimplemented("unknown method RangeStream").into_http();
                return Ok(refused);
            }
            face.oneshot(request).await
        }
    });
    connections.spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            open.spawn(async move {
                let builder = auto::Builder::new(TokioExecutor::new());
                drop(builder.serve_connection(TokioIo::new(socket), service).await);
            });
        }
    });
    (url, asked)
}

#[tokio::test]
async fn a_server_that_does_not_implement_streams_is_asked_for_one_once() {
    let mut connections = JoinSet::new();
    let (url, asked) = serve_without_streams(&mut connections).await;
    let store = connect(&url).await;
    for _ in 0..3 {
        assert!(store.range_stream(all()).await.unwrap().is_none());
    }
    let copy = store.clone();
    assert!(copy.range_stream(all()).await.unwrap().is_none());
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_streams_the_answer_of_its_range_or_offers_no_streams() {
    let Some(etcd) = real_etcd().await else { return };
    let store = connect(&etcd.url).await;
    fill(&store, 300).await;
    let Some(_) = store.range_stream(all()).await.unwrap() else {
        assert!(store.status().await.unwrap().version.as_str() < "3.7", "an etcd from 3.7 on has streams");
        return;
    };
    let whole = store.range(all()).await.unwrap();
    let streamed = parts(&store, all(), async {}).await;
    assert_eq!(streamed.last().map(|part| (part.revision, part.count)), Some((whole.revision, whole.count)));
    assert_eq!(keys(streamed), whole.kvs);
}
