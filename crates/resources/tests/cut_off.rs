//! A request that is cut off leaves nothing taken.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{Admission, ListOptions, Registry, Request, Review, Verb};
use coracle_resources::{Config, kinds};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use serde_json::json;

/// Never lets a service called `stuck` pass, nor refuses it.
struct Stuck;

#[async_trait]
impl Admission for Stuck {
    fn name(&self) -> &'static str {
        "Stuck"
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        match review.request.at.name.as_str() {
            "stuck" => std::future::pending().await,
            _ => Ok(()),
        }
    }
}

fn registry() -> Registry {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    let storage = Storage::new(Arc::new(engine));
    tokio::spawn(storage.run());
    Registry::builder(storage, Ambient::seeded(1), Recorder::off())
        .kinds(kinds(&Config::default()))
        .admission([Arc::new(Stuck) as Arc<dyn Admission>])
        .build()
}

fn request(registry: &Registry, verb: Verb, group: &str, plural: &str) -> Request {
    let resource = GroupVersionResource::new(group, "v1", plural);
    Request::new(verb, resource, registry.ambient().clock.now())
}

async fn create(registry: &Registry, name: &str) -> Result<Arc<Object>, Status> {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30_080}]}});
    let request = request(registry, Verb::Create, "", "services").object("default", "");
    Ok(registry.create(&request, Object::from_value(service).unwrap()).await?.object())
}

async fn addresses(registry: &Registry) -> Vec<String> {
    let request = request(registry, Verb::List, "networking.k8s.io", "ipaddresses");
    let list = registry.list(&request, &ListOptions::default()).await.unwrap();
    list.items.iter().map(|stored| stored.object().name().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_service_whose_request_is_cut_off_gives_its_address_and_port_back() {
    let registry = registry();
    tokio::time::timeout(Duration::from_secs(1), create(&registry, "stuck")).await.unwrap_err();
    assert_eq!(addresses(&registry).await.len(), 1);
    // Until it is certain that the store has not got it, it stays taken.
    let too_soon = create(&registry, "free").await.unwrap_err();
    assert!(too_soon.message.contains("provided port is already allocated"), "{}", too_soon.message);
    tokio::time::sleep(Duration::from_secs(61)).await;
    let service = create(&registry, "free").await.unwrap();
    assert_eq!(addresses(&registry).await, [service.field("spec.clusterIP").unwrap().as_str().unwrap()]);
}
