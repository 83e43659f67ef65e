//! What holds of any object that the server takes: the objects of the transcripts, as they are and with something made up
//! in one place.

use std::collections::BTreeMap;

use coracle::Cluster;
use coracle::cluster::Release;
use coracle_schema::sample::{Choices, graft};
use coracle_schema::{KindSchema, ResourceRow, Table};
use http::{Method, Request, StatusCode};
use proptest::prelude::*;
use serde_json::Value;

use crate::replay::{send, settle};
use crate::transcript::Transcript;
use crate::{collection, files};

/// Kinds that decide about the requests of others.
const DECIDING: [&str; 3] = ["admissionregistration.k8s.io", "apiregistration.k8s.io", "apiextensions.k8s.io"];

/// What Kubernetes itself refuses in an update and takes in a creation: the resource, and the beginning of the field.
/// In Kubernetes: `ValidateNodeUpdate` looks for equal addresses, `ValidateNode` does not.
const REFUSED_LATER: [(&str, &str); 1] = [("nodes", "status.addresses")];

/// The objects that transcripts create, with their resources.
fn written() -> Vec<(&'static ResourceRow, Value)> {
    let rows = Table::newest().resources().iter();
    let rows: Vec<_> = rows.filter(|row| !DECIDING.contains(&row.kind.group.as_str())).collect();
    let texts = files().into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let exchanges = texts.flat_map(|text| Transcript::read(&text).unwrap().exchanges);
    let object = |exchange: crate::exchange::Exchange| {
        let request = exchange.to_request(&BTreeMap::new()).ok().filter(|request| request.method() == Method::POST)?;
        let is_it = |row: &&&ResourceRow| collection(row) == request.uri().path();
        let row = rows.iter().find(is_it).filter(|row| row.verbs.iter().any(|verb| verb == "update"))?;
        let body: Value = serde_saphyr::from_slice(request.body()).ok().filter(Value::is_object)?;
        exchange.answer.starts_with("HTTP/1.1 201").then_some((*row, body))
    };
    exchanges.filter_map(object).collect()
}

async fn ask(server: &Cluster, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).header("Content-Type", "application/json");
    let (code, _, body) = send(server, request.body(body.to_string().into_bytes()).unwrap()).await;
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

/// A name as a path has it.
fn segment(name: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let sign = |byte: u8| if is_plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(sign).collect()
}

/// Whether Kubernetes refuses this update as well, for nothing but what it does not look at in a creation.
fn is_refused_by_kubernetes(row: &ResourceRow, refusal: &Value) -> bool {
    let is_refused = |cause: &Value| {
        let field = cause["field"].as_str().unwrap_or_default();
        REFUSED_LATER.iter().any(|(resource, path)| row.plural == *resource && field.starts_with(path))
    };
    refusal["details"]["causes"].as_array().is_some_and(|causes| causes.iter().all(is_refused))
}

/// What goes wrong when an object that the server takes is written again as it was read; how many it took.
async fn write_again(server: &Cluster, row: &ResourceRow, body: &Value) -> Result<bool, String> {
    let path = collection(row);
    let (code, made) = ask(server, Method::POST, &path, body).await;
    if code != StatusCode::CREATED {
        return Ok(false);
    }
    settle().await;
    let path = format!("{path}/{}", segment(made["metadata"]["name"].as_str().unwrap_or_default()));
    let (_, stored) = ask(server, Method::GET, &path, &Value::Null).await;
    let (code, again) = ask(server, Method::PUT, &path, &stored).await;
    let options = serde_json::json!({"gracePeriodSeconds": 0});
    ask(server, Method::DELETE, &path, &options).await;
    settle().await;
    if code == StatusCode::UNPROCESSABLE_ENTITY && is_refused_by_kubernetes(row, &again) {
        return Ok(true);
    }
    if code != StatusCode::OK {
        return Err(format!("{path}: {code}: {}\n{stored}", again["message"]));
    }
    if again == stored { Ok(true) } else { Err(format!("{path}: {stored}\nbecame\n{again}")) }
}

fn with_server<T>(judge: impl AsyncFnOnce(&Cluster) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let server = Cluster::builder().seed(1).api_server_only().start().await.unwrap();
        let account = serde_json::json!({"metadata": {"name": "default"}});
        ask(&server, Method::POST, "/api/v1/namespaces/default/serviceaccounts", &account).await;
        let answer = judge(&server).await;
        server.shutdown().await;
        answer
    })
}

#[test]
fn created_objects_can_be_written_again_unchanged() {
    let (taken, wrong) = with_server(async |server| {
        let (mut taken, mut wrong) = (0, Vec::new());
        for (row, body) in written() {
            match write_again(server, row, &body).await {
                Ok(is_taken) => taken += usize::from(is_taken),
                Err(why) => wrong.push(why),
            }
        }
        (taken, wrong)
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(taken > 100, "{taken}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::with_cases(6) })]

    #[test]
    fn stored_objects_can_be_written_again_unchanged(seed in any::<u64>()) {
        let mut choices = Choices::new(seed);
        let wrong = with_server(async |server| {
            let mut wrong = Vec::new();
            for (row, body) in written() {
                let schema = KindSchema::built_in(&Release::newest(), &row.kind);
                for _ in 0..4 {
                    let mut body = body.clone();
                    graft(schema.root(), &mut body, &mut choices);
                    wrong.extend(write_again(server, row, &body).await.err());
                }
            }
            wrong
        });
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
