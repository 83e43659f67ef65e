use bytes::Bytes;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::connection::Target;
use crate::objects::{Kind, NAMESPACE};
use crate::options::Options;
use crate::server::Server;
use crate::{load, table};

/// How many connections write objects whose rules are costly.
const COSTLY: usize = 16;
/// How many write config maps, which have none.
const OTHERS: usize = 4;
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// What creates of config maps notice of objects whose rules cost all that the rules of one object may.
pub(crate) async fn measure(options: &Options) {
    let server = Server::start(options);
    let mut connection = Target::of(&server.running).connect().await;
    connection.make_namespace().await;
    connection.post(DEFINITIONS, definition()).await;

    let alone = creates(options, &server, "unruled").await;
    table::row(&format!("create a config map, {OTHERS} connections"), &alone, "");
    let mut writers = JoinSet::new();
    for number in 0..COSTLY {
        let mut connection = Target::of(&server.running).connect().await;
        writers.spawn(async move {
            for round in 0.. {
                connection.post(&collection(), object(&format!("costly-{number}-{round}"))).await;
            }
        });
    }
    // The first of them is written, so all are under way.
    connection.post(&collection(), object("first")).await;
    let beside = creates(options, &server, "ruled").await;
    table::row(&format!("the same, {COSTLY} write objects with costly rules"), &beside, "");
    let moved = beside.at(0.99).as_secs_f64() / alone.at(0.99).as_secs_f64() - 1.0;
    table::fact("p99 moves by", &format!("{:+.0} %", moved * 100.0), "");
    writers.abort_all();
}

async fn creates(options: &Options, server: &Server, round: &'static str) -> load::Outcome {
    let kind = Kind::ConfigMap;
    let unbounded = |_| u64::MAX;
    let (outcome, _) =
        load::measured(server, OTHERS, options.round(), unbounded, async move |connection, worker, number| {
            connection.post(&kind.collection(), kind.object(&format!("{round}-{worker}-{number}"))).await;
        })
        .await;
    outcome
}

fn collection() -> String {
    format!("/apis/bench.example.com/v1/namespaces/{NAMESPACE}/boats")
}

/// Boats are held to ten rules that each cost a little less than a rule may, and all hold.
fn definition() -> Bytes {
    let rule = |number: i32| json!({"rule": format!("self.all(a, self.all(b, a + b > -{number}))")});
    let rules: Vec<Value> = (1..=10).map(rule).collect();
    let oars =
        json!({"type": "array", "maxItems": ITEMS, "items": {"type": "integer"}, "x-kubernetes-validations": rules});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.bench.example.com"},
        "spec": {
            "group": "bench.example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"oars": oars}}}
            }]
        }
    })
    .to_string()
    .into()
}

/// How many numbers are compared with each other.
const ITEMS: usize = 370;

fn object(name: &str) -> Bytes {
    let oars: Vec<usize> = (0..ITEMS).collect();
    json!({"apiVersion": "bench.example.com/v1", "kind": "Boat", "metadata": {"name": name}, "oars": oars})
        .to_string()
        .into()
}
