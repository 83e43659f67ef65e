use http::Method;

use crate::connection::{JSON, MERGE_PATCH, Target};
use crate::objects::{self, Kind};
use crate::options::Options;
use crate::server::Server;
use crate::{load, table};

const CONNECTIONS: [usize; 3] = [1, 16, 64];

/// Creates, gets, patches, replaces and deletes config maps and pods.
pub(crate) async fn measure(options: &Options) {
    let server = Server::start(options);
    let mut connection = Target::of(&server.running).connect().await;
    connection.make_namespace().await;
    for kind in [Kind::ConfigMap, Kind::Pod] {
        for connections in CONNECTIONS {
            verbs(options, &server, kind, connections).await;
        }
    }
}

async fn verbs(options: &Options, server: &Server, kind: Kind, connections: usize) {
    let round = options.round();
    let name = move |worker: usize, number: u64| format!("b{connections}-{worker}-{number}");
    let item = move |worker: usize, number: u64| format!("{}/{}", kind.collection(), name(worker, number));
    let title = |verb: &str| format!("{verb} a {}, {connections} connections", kind.name());
    let unbounded = |_| u64::MAX;

    let (outcome, counts) =
        load::measured(server, connections, round, unbounded, async move |connection, worker, number| {
            connection.post(&kind.collection(), kind.object(&name(worker, number))).await;
        })
        .await;
    table::row(&title("create"), &outcome, baseline("create", kind, connections));

    let counts = std::rc::Rc::new(counts);
    let of = std::rc::Rc::clone(&counts);
    let (outcome, _) =
        load::measured(server, connections, round, unbounded, async move |connection, worker, number| {
            connection.get(&item(worker, number % of[worker])).await;
        })
        .await;
    table::row(&title("get"), &outcome, baseline("get", kind, connections));

    let of = std::rc::Rc::clone(&counts);
    let (outcome, _) =
        load::measured(server, connections, round, unbounded, async move |connection, worker, number| {
            let path = item(worker, number % of[worker]);
            connection.send(Method::PATCH, &path, MERGE_PATCH, objects::patch(number + 1)).await;
        })
        .await;
    table::row(&title("merge-patch"), &outcome, baseline("patch", kind, connections));

    let of = std::rc::Rc::clone(&counts);
    let (outcome, _) =
        load::measured(server, connections, round, unbounded, async move |connection, worker, number| {
            let path = item(worker, number % of[worker]);
            let object = connection.get(&path).await;
            connection.send(Method::PUT, &path, JSON, objects::changed(&object, 1 << 30 | number)).await;
        })
        .await;
    table::row(&title("read, then PUT"), &outcome, baseline("put", kind, connections));

    let most = |worker: usize| counts[worker];
    let (outcome, _) = load::measured(server, connections, round, most, async move |connection, worker, number| {
        connection.send(Method::DELETE, &item(worker, number), JSON, bytes::Bytes::new()).await;
    })
    .await;
    table::row(&title("delete"), &outcome, baseline("delete", kind, connections));
}

fn baseline(verb: &str, kind: Kind, connections: usize) -> &'static str {
    match (verb, kind, connections) {
        ("create", Kind::ConfigMap, 1) => "727 a second, p50 1.2 ms, 800 us",
        ("create", Kind::ConfigMap, 16) => "2,054 a second, p50 6.6 ms, 800 us",
        ("create", Kind::ConfigMap, 64) => "2,287 a second, p50 24 ms, 800 us",
        ("create", Kind::Pod, 1) => "405 a second, p99 10 ms, 2,200 us",
        ("create", Kind::Pod, 16) => "683 a second, p99 85 ms",
        ("create", Kind::Pod, 64) => "620 a second, p99 259 ms, 3,100 us",
        ("get", Kind::ConfigMap, 64) => "4,000 a second, 330 us",
        ("patch", Kind::ConfigMap, 16) => "1,418 a second",
        ("patch", Kind::Pod, 64) => "440 a second",
        ("put", Kind::ConfigMap, 64) => "1,187 a second",
        ("put", Kind::Pod, 64) => "427 a second",
        ("delete", Kind::ConfigMap, 16) => "2,129 a second",
        _ => "",
    }
}
