//! Services get addresses of the range that the server was started with, and of the ServiceCIDRs that are ready.

use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::{Cidr, GroupVersionResource, Object, Status};
use coracle_registry::{DeleteOptions, Registry, Request, Verb};
use coracle_release::Release;
use coracle_resources::{Config, kinds};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use serde_json::{Value, json};

struct Server(Registry);

impl Server {
    /// With one range.
    fn start(range: &str) -> Self {
        let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
        let storage = Storage::new(Arc::new(engine));
        tokio::spawn(storage.run());
        let release = Release::named("1.35").unwrap();
        let config =
            Config { release, service_cluster_ip_ranges: vec![Cidr::parse(range).unwrap()], ..Config::default() };
        let builder = Registry::builder(storage, Ambient::seeded(1), Recorder::off());
        Self(builder.release(config.release.clone()).kinds(kinds(&config)).build())
    }

    fn request(&self, verb: Verb, group: &str, plural: &str) -> Request {
        Request::new(verb, GroupVersionResource::new(group, "v1", plural), self.0.ambient().clock.now())
    }

    /// The addresses of a new service.
    async fn service(&self, name: &str, address: &str) -> Result<Value, Status> {
        let mut spec = json!({"ports": [{"port": 80}]});
        if !address.is_empty() {
            spec["clusterIP"] = address.into();
        }
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        let request = self.request(Verb::Create, "", "services").object("default", "");
        let made = self.0.create(&request, Object::from_value(service).unwrap()).await?;
        Ok(made.object().field("spec.clusterIPs").unwrap().clone())
    }

    async fn range(&self, name: &str, cidr: &str) {
        let range = json!({"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
            "metadata": {"name": name, "finalizers": ["example.com/kept"]}, "spec": {"cidrs": [cidr]}});
        let request = self.request(Verb::Create, "networking.k8s.io", "servicecidrs");
        self.0.create(&request, Object::from_value(range).unwrap()).await.unwrap();
    }

    /// Says whether a range is ready.
    async fn say(&self, name: &str, is_ready: bool) {
        let request = self.request(Verb::Get, "networking.k8s.io", "servicecidrs").object("", name);
        let mut range = Object::clone(&self.0.get(&request, &Default::default()).await.unwrap().object());
        let status = if is_ready { "True" } else { "False" };
        range.set(
            "status",
            json!({"conditions": [{"type": "Ready", "status": status, "reason": "Test",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}),
        );
        let request = Request { verb: Verb::Update, ..request }.subresource("status");
        self.0.update(&request, range).await.unwrap();
    }
}

const MISMATCH: &str = "the provided network does not match the current range";

#[tokio::test(start_paused = true)]
async fn the_ends_of_a_range_are_no_addresses_of_services() {
    let server = Server::start("10.0.0.0/16");
    for address in ["10.0.0.0", "10.0.255.255", "10.1.0.1"] {
        let refused = server.service("s", address).await.unwrap_err();
        let message = format!(
            "Service \"s\" is invalid: spec.clusterIPs: Invalid value: [\"{address}\"]: failed to allocate IP {address}: {MISMATCH}"
        );
        assert_eq!(refused.message, message);
    }
    for (name, address) in [("a", "10.0.0.1"), ("b", "10.0.255.254")] {
        assert_eq!(server.service(name, address).await.unwrap(), json!([address]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_cidr_gives_addresses_while_it_is_ready_and_stays() {
    let server = Server::start("10.0.0.0/16");
    server.range("more", "10.123.0.0/24").await;
    assert_eq!(server.service("a", "10.123.0.5").await.unwrap(), json!(["10.123.0.5"]));
    server.say("more", false).await;
    assert!(server.service("b", "10.123.0.6").await.unwrap_err().message.ends_with(MISMATCH));
    server.say("more", true).await;
    assert_eq!(server.service("b", "10.123.0.6").await.unwrap(), json!(["10.123.0.6"]));
    let delete = server.request(Verb::Delete, "networking.k8s.io", "servicecidrs").object("", "more");
    server.0.delete(&delete, &DeleteOptions::default()).await.unwrap();
    assert!(server.service("c", "10.123.0.7").await.unwrap_err().message.ends_with(MISMATCH));
}

#[tokio::test(start_paused = true)]
async fn when_a_range_is_full_the_next_one_gives_addresses() {
    let server = Server::start("10.0.0.0/30");
    server.service("a", "").await.unwrap();
    server.service("b", "").await.unwrap();
    assert!(server.service("c", "").await.unwrap_err().message.contains("range is full"));
    server.range("more", "10.123.0.0/30").await;
    let addresses = server.service("c", "").await.unwrap();
    assert!(addresses == json!(["10.123.0.1"]) || addresses == json!(["10.123.0.2"]), "{addresses}");
}

#[tokio::test(start_paused = true)]
async fn an_address_in_an_older_form_is_taken_and_given_back_as_the_newer_one() {
    let server = Server::start("10.0.0.0/16");
    assert_eq!(server.service("a", "010.0.0.9").await.unwrap(), json!(["010.0.0.9"]));
    assert!(server.service("b", "10.0.0.9").await.unwrap_err().message.ends_with("already allocated"));
    let delete = server.request(Verb::Delete, "", "services").object("default", "a");
    server.0.delete(&delete, &DeleteOptions::default()).await.unwrap();
    assert_eq!(server.service("b", "10.0.0.9").await.unwrap(), json!(["10.0.0.9"]));
}
