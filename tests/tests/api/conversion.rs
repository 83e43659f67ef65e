//! A custom kind in two versions, converted by a program, in virtual time.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use coracle::{Cluster, ServiceRoutes, Transport};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::service_fn;

use crate::front::{call, get, send};

/// How many objects each call had, and into which version they went.
type Calls = Arc<Mutex<Vec<(usize, String)>>>;

/// In `v1` a host and a port are two fields; in `v2` they are one.
fn convert(mut object: Value, to: &str) -> Value {
    object["apiVersion"] = to.into();
    let spec = object["spec"].as_object_mut().unwrap();
    if to.ends_with("/v2") {
        let (host, port) = (spec.remove("host").unwrap(), spec.remove("port").unwrap());
        spec.insert("address".to_owned(), format!("{}:{port}", host.as_str().unwrap()).into());
    } else {
        let address = spec.remove("address").unwrap();
        let (host, port) = address.as_str().unwrap().split_once(':').unwrap();
        spec.insert("host".to_owned(), host.into());
        spec.insert("port".to_owned(), port.parse::<i64>().unwrap().into());
    }
    object
}

/// The converter; it refuses an object that is called `broken`.
fn program(calls: &Calls) -> Transport {
    let calls = Arc::clone(calls);
    Transport::to(service_fn(move |request: Request<_>| {
        let calls = Arc::clone(&calls);
        async move {
            let body: Bytes = BodyExt::collect(request.into_body()).await.map(|body| body.to_bytes()).unwrap();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            let request = review["request"].take();
            let to = request["desiredAPIVersion"].as_str().unwrap();
            let objects = request["objects"].as_array().unwrap();
            calls.lock().push((objects.len(), to.to_owned()));
            let response = match objects.iter().any(|object| object["metadata"]["name"] == "broken") {
                true => json!({"uid": request["uid"], "result": {"status": "Failed", "message": "it is broken"}}),
                false => {
                    let converted: Vec<_> = objects.iter().map(|object| convert(object.clone(), to)).collect();
                    json!({"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted})
                }
            };
            let answer = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(answer.to_string()))))
        }
    }))
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn version(name: &str, storage: bool, properties: Value) -> Value {
    let spec = json!({"type": "object", "properties": properties});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    json!({"name": name, "served": true, "storage": storage, "schema": schema})
}

fn versions(stored: &str) -> Value {
    let one = json!({"host": {"type": "string"}, "port": {"type": "integer"}});
    let two = json!({"address": {"type": "string"}, "weight": {"type": "integer", "default": 5}});
    json!([version("v1", stored == "v1", one), version("v2", stored == "v2", two)])
}

async fn cluster(calls: &Calls) -> Cluster {
    let mut routes = ServiceRoutes::default();
    routes.answer_for_service("hooks", "converter", program(calls));
    let cluster = Cluster::builder().service_routes(routes).api_server_only().start().await.unwrap();
    let config = json!({"service": {"namespace": "hooks", "name": "converter", "path": "/convert"}});
    let definition = json!({"metadata": {"name": "peers.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "peers", "kind": "Peer"},
        "versions": versions("v1"),
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}},
    }});
    assert_eq!(call(&cluster, Method::POST, DEFINITIONS, &definition).await.code, StatusCode::CREATED);
    cluster
}

fn peers(version: &str) -> String {
    format!("/apis/example.com/{version}/namespaces/default/peers")
}

fn peer(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("example.com/{version}"), "kind": "Peer", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test(start_paused = true)]
async fn an_object_is_read_and_written_in_either_version() {
    let cluster = cluster(&Calls::default()).await;
    let made = call(&cluster, Method::POST, &peers("v2"), &peer("v2", "a", json!({"address": "h:80"}))).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    assert_eq!(made.json()["apiVersion"], "example.com/v2");
    assert_eq!(get(&cluster, &format!("{}/a", peers("v1"))).await["spec"], json!({"host": "h", "port": 80}));
    let changed = call(&cluster, Method::PATCH, &format!("{}/a", peers("v1")), &json!({"spec": {"port": 81}})).await;
    assert_eq!(changed.code, StatusCode::OK, "{:?}", changed.json());
    assert_eq!(get(&cluster, &format!("{}/a", peers("v2"))).await["spec"]["address"], "h:81");
    let gone = send(&cluster, Request::delete(format!("{}/a", peers("v2"))).body(Vec::new()).unwrap()).await;
    assert_eq!(gone.code, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_former_storage_version_are_served() {
    let cluster = cluster(&Calls::default()).await;
    call(&cluster, Method::POST, &peers("v1"), &peer("v1", "a", json!({"host": "h", "port": 80}))).await;
    let path = format!("{DEFINITIONS}/peers.example.com");
    let changed = call(&cluster, Method::PATCH, &path, &json!({"spec": {"versions": versions("v2")}})).await;
    assert_eq!(changed.json()["status"]["storedVersions"], json!(["v1", "v2"]));
    assert_eq!(get(&cluster, &format!("{}/a", peers("v1"))).await["spec"], json!({"host": "h", "port": 80}));
    assert_eq!(get(&cluster, &format!("{}/a", peers("v2"))).await["spec"]["address"], "h:80");
    // The next write stores it in the other version, by whichever it comes.
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(call(&cluster, Method::PATCH, &format!("{}/a", peers("v1")), &labelled).await.code, StatusCode::OK);
    assert_eq!(get(&cluster, &format!("{}/a", peers("v2"))).await["metadata"]["labels"]["a"], "b");
}

#[tokio::test(start_paused = true)]
async fn the_objects_of_a_list_are_converted_in_one_call_and_all_or_none() {
    let calls = Calls::default();
    let cluster = cluster(&calls).await;
    for name in ["a", "b", "c"] {
        call(&cluster, Method::POST, &peers("v1"), &peer("v1", name, json!({"host": name, "port": 1}))).await;
    }
    calls.lock().clear();
    let list = get(&cluster, &peers("v2")).await;
    let addresses: Vec<_> = list["items"].as_array().unwrap().iter().map(|item| &item["spec"]["address"]).collect();
    assert_eq!(addresses, ["a:1", "b:1", "c:1"]);
    assert_eq!(*calls.lock(), [(3, "example.com/v2".to_owned())]);
    call(&cluster, Method::POST, &peers("v1"), &peer("v1", "broken", json!({"host": "x", "port": 1}))).await;
    let failed = send(&cluster, Request::get(peers("v2")).body(Vec::new()).unwrap()).await;
    assert_eq!(failed.code, StatusCode::INTERNAL_SERVER_ERROR);
    let why = "conversion webhook for example.com/v1, Kind=Peer failed: it is broken";
    assert!(failed.json()["message"].as_str().unwrap().contains(why), "{:?}", failed.json());
}

#[tokio::test(start_paused = true)]
async fn an_apply_in_one_version_owns_the_fields_in_the_other() {
    let cluster = cluster(&Calls::default()).await;
    let apply = async |manager: &str, version: &str, spec: Value| {
        let path = format!("{}/a?fieldManager={manager}", peers(version));
        let request = Request::patch(path).header("content-type", "application/apply-patch+yaml");
        send(&cluster, request.body(peer(version, "a", spec).to_string().into_bytes()).unwrap()).await
    };
    assert_eq!(apply("one", "v2", json!({"address": "h:80"})).await.code, StatusCode::CREATED);
    let conflict = apply("two", "v1", json!({"host": "other", "port": 80})).await;
    assert_eq!(conflict.code, StatusCode::CONFLICT, "{:?}", conflict.json());
    assert_eq!(apply("one", "v2", json!({"address": "i:90"})).await.json()["spec"]["address"], "i:90");
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_objects_in_its_own_version() {
    let cluster = cluster(&Calls::default()).await;
    call(&cluster, Method::POST, &peers("v1"), &peer("v1", "a", json!({"host": "h", "port": 1}))).await;
    let path = format!("{}?watch=true&timeoutSeconds=5", peers("v2"));
    let watch = async { send(&cluster, Request::get(path).body(Vec::new()).unwrap()).await };
    let write = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        call(&cluster, Method::POST, &peers("v1"), &peer("v1", "b", json!({"host": "i", "port": 2}))).await
    };
    let (seen, _) = futures_util::future::join(watch, write).await;
    let lines = String::from_utf8(seen.body).unwrap();
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let addresses: Vec<_> = events.iter().map(|event| &event["object"]["spec"]["address"]).collect();
    assert_eq!(addresses, ["h:1", "i:2"]);
}
