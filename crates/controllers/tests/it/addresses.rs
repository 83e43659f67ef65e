//! Who gives addresses: to nodes, to load balancers, and from which ranges.

use coracle_api::core_v1::{Node, Service};
use coracle_api::networking_v1::ServiceCIDR;
use coracle_client::{DeleteParams, Patch};
use coracle_controllers::Config;
use coracle_meta::{Cidr, ObjectKey};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::world::{World, until};

fn object<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

async fn block_of(world: &World, name: &str) -> String {
    world.api::<Node>().get(&ObjectKey::cluster(name)).await.unwrap().spec.pod_cidr
}

#[tokio::test(start_paused = true)]
async fn nodes_have_blocks_of_their_own_while_there_are_any() {
    let cluster_cidrs = vec![Cidr::parse("10.244.0.0/23").unwrap()];
    let world = World::start_with(Config { allocate_node_cidrs: true, cluster_cidrs, ..Config::default() }).await;
    for name in ["a", "b", "c"] {
        world.api().create(&object::<Node>(json!({"metadata": {"name": name}}))).await.unwrap();
    }
    let blocks = async || {
        let mut blocks = [block_of(&world, "a").await, block_of(&world, "b").await, block_of(&world, "c").await];
        blocks.sort();
        blocks
    };
    until("two of three have one", async || blocks().await == ["", "10.244.0.0/24", "10.244.1.0/24"]).await;
    let has_one = if block_of(&world, "a").await.is_empty() { "b" } else { "a" };
    world.api::<Node>().delete(&ObjectKey::cluster(has_one), &DeleteParams::default()).await.unwrap();
    let other = if has_one == "a" { "b" } else { "a" };
    until("the third has one, too", async || {
        !block_of(&world, "c").await.is_empty() && !block_of(&world, other).await.is_empty()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nodes_are_given_nothing_unless_it_is_asked_for() {
    let world = World::start().await;
    world.api().create(&object::<Node>(json!({"metadata": {"name": "a"}}))).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(block_of(&world, "a").await, "");
}

fn balancer(name: &str) -> Service {
    object(
        json!({"metadata": {"namespace": "default", "name": name}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}),
    )
}

async fn address_of(world: &World, name: &str) -> String {
    let service = world.api::<Service>().get(&ObjectKey::new("default", name)).await.unwrap();
    service.status.load_balancer.ingress.first().map(|ingress| ingress.ip.clone()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn load_balancers_share_no_address_and_one_that_waits_takes_the_one_that_is_given_back() {
    let service_lb_range = Cidr::parse("198.51.100.0/30").ok();
    let world = World::start_with(Config { service_lb_range, ..Config::default() }).await;
    for name in ["a", "b", "c"] {
        world.api().create(&balancer(name)).await.unwrap();
    }
    let has_one = async |name| !address_of(&world, name).await.is_empty();
    until("two have one", async || {
        usize::from(has_one("a").await) + usize::from(has_one("b").await) + usize::from(has_one("c").await) == 2
    })
    .await;
    let given = if has_one("a").await { "a" } else { "b" };
    let address = address_of(&world, given).await;
    let plain = Patch::Merge(json!({"spec": {"type": "ClusterIP"}}));
    world.api::<Service>().patch(&ObjectKey::new("default", given), &plain).await.unwrap();
    until("it is given back", async || !has_one(given).await).await;
    let others: Vec<_> = ["a", "b", "c"].into_iter().filter(|name| *name != given).collect();
    until("the third has one, too", async || has_one(others[0]).await && has_one(others[1]).await).await;
    let now = [address_of(&world, others[0]).await, address_of(&world, others[1]).await];
    assert!(now.contains(&address) && now[0] != now[1], "{now:?}");
}

#[tokio::test(start_paused = true)]
async fn a_range_of_services_is_ready_and_goes_when_nothing_needs_it() {
    let world = World::start().await;
    let ranges = world.api::<ServiceCIDR>();
    let name = ObjectKey::cluster("more");
    ranges.create(&object(json!({"metadata": {"name": "more"}, "spec": {"cidrs": ["10.77.0.0/24"]}}))).await.unwrap();
    let ready = async || {
        let range = ranges.get(&name).await.unwrap();
        range.status.conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True")
            && !range.metadata.finalizers.is_empty()
    };
    until("it is ready", ready).await;
    ranges.delete(&name, &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert!(ranges.find(&name).await.unwrap().is_some(), "it is kept for a while");
    until("it is gone", async || ranges.find(&name).await.unwrap().is_none()).await;
}
