//! API servers that start at the same moment on one store that is empty.

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_apiserver::NoNodes;
use coracle_cluster::{ApiServer, ApiServerOptions, StoreSpec};
use coracle_journal::Recorder;
use coracle_meta::{GroupVersionResource, Object};
use coracle_registry::{GetOptions, ListOptions, Request, Verb};
use coracle_store::{RangeRequest, Store};
use futures_util::future::join_all;
use serde_json::json;

use crate::remote_store::{Remote, StoreBehind};

async fn started(store: &Arc<dyn Store>, seed: u64) -> ApiServer {
    let ambient = Ambient::seeded(seed);
    let remote: Arc<dyn Store> = Arc::new(StoreBehind {
        store: Arc::clone(store),
        wire: Remote { ambient: ambient.split("wire"), asked_streams: Arc::default() },
    });
    ApiServer::start(&ApiServerOptions::default(), remote, Arc::new(NoNodes), &ambient, &Recorder::off())
        .await
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

fn about(server: &ApiServer, verb: Verb, group: &str, plural: &str, name: &str) -> Request {
    let resource = GroupVersionResource::new(group, "v1", plural);
    Request::new(verb, resource, server.registry().ambient().clock.now()).object("default", name)
}

async fn service(server: &ApiServer, name: &str) -> Object {
    let request = about(server, Verb::Get, "", "services", name);
    Object::clone(&server.registry().get(&request, &GetOptions::default()).await.unwrap().object())
}

/// The claims of addresses, by the services that they are for.
async fn claims(server: &ApiServer) -> Vec<(String, String)> {
    let request = about(server, Verb::List, "networking.k8s.io", "ipaddresses", "");
    let request = Request { at: request.at.clone(), ..request };
    let all = server.registry().list(&request, &ListOptions::default()).await.unwrap().items;
    let claims = all.iter().map(|stored| stored.object());
    claims.map(|claim| (claim.name().to_owned(), claim.text("spec.parentRef.name").to_owned())).collect()
}

fn new_service(name: &str, spec: serde_json::Value) -> Object {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}, "spec": spec});
    Object::from_value(service).unwrap()
}

#[tokio::test(start_paused = true)]
async fn servers_that_start_at_the_same_moment_all_start_and_agree() {
    for seed in 1..=3 {
        let opened = StoreSpec::Memory.open(&Ambient::seeded(seed), &Recorder::off()).await.unwrap();
        let servers = join_all((0..3).map(|number| started(&opened.store, 10 * seed + number))).await;
        let addresses = join_all(servers.iter().map(|server| service(server, "kubernetes"))).await;
        assert!(addresses.iter().all(|service| service.text("spec.clusterIP") == "10.0.0.1"), "seed {seed}");
        assert_eq!(claims(&servers[0]).await, [("10.0.0.1".to_owned(), "kubernetes".to_owned())], "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn services_of_one_name_that_two_servers_are_asked_for_leave_one_claim() {
    for seed in 1..=3 {
        let opened = StoreSpec::Memory.open(&Ambient::seeded(seed), &Recorder::off()).await.unwrap();
        let servers = join_all((0..2).map(|number| started(&opened.store, 10 * seed + number))).await;
        let created = join_all(servers.iter().map(|server| async {
            let request = about(server, Verb::Create, "", "services", "");
            server.registry().create(&request, new_service("web", json!({"ports": [{"port": 80}]}))).await
        }))
        .await;
        assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 1, "seed {seed}");
        let held = service(&servers[0], "web").await.text("spec.clusterIP").to_owned();
        let claimed: Vec<_> = claims(&servers[1]).await.into_iter().filter(|(_, service)| service == "web").collect();
        assert_eq!(claimed, [(held, "web".to_owned())], "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_that_a_killed_server_claimed_for_nothing_is_free_after_a_minute() {
    let opened = StoreSpec::Memory.open(&Ambient::seeded(1), &Recorder::off()).await.unwrap();
    let server = started(&opened.store, 1).await;
    let claim = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": "10.0.0.77"},
        "spec": {"parentRef": {"group": "", "resource": "services", "namespace": "default", "name": "never-written"}},
    });
    let request = about(&server, Verb::Create, "networking.k8s.io", "ipaddresses", "").object("", "");
    server.registry().create(&request, Object::from_value(claim).unwrap()).await.unwrap();
    let asked = async || {
        let request = about(&server, Verb::Create, "", "services", "");
        let wanted = new_service("web", json!({"clusterIP": "10.0.0.77", "ports": [{"port": 80}]}));
        server.registry().create(&request, wanted).await
    };
    let refused = asked().await.unwrap_err();
    assert!(refused.message.contains("provided IP is already allocated"), "{}", refused.message);
    tokio::time::sleep(Duration::from_secs(61)).await;
    asked().await.unwrap();
    assert_eq!(claims(&server).await.into_iter().find(|(address, _)| address == "10.0.0.77").unwrap().1, "web");
}

#[tokio::test(start_paused = true)]
async fn a_node_port_that_two_servers_are_asked_for_at_the_same_moment_is_one_service_s() {
    for seed in 1..=8 {
        let opened = StoreSpec::Memory.open(&Ambient::seeded(seed), &Recorder::off()).await.unwrap();
        let servers = join_all((0..2).map(|number| started(&opened.store, 10 * seed + number))).await;
        servers.iter().for_each(ApiServer::follow);
        let created = join_all(servers.iter().zip(["a", "b"]).map(|(server, name)| async move {
            let spec = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]});
            let request = about(server, Verb::Create, "", "services", "");
            server.registry().create(&request, new_service(name, spec)).await
        }))
        .await;
        let refused: Vec<String> = created.iter().filter_map(|one| Some(one.as_ref().err()?.message.clone())).collect();
        assert_eq!(refused.len(), 1, "seed {seed}: {refused:?}");
        assert!(refused[0].contains("provided port is already allocated"), "{refused:?}");
        let ranges = coracle_store::KeyRange::prefix("/registry/ranges/");
        let left = opened.store.range(RangeRequest { range: ranges, ..RangeRequest::default() }).await.unwrap().kvs;
        assert_eq!(left.len(), 0, "claims are given back");
    }
}
