//! Who is behind a Service, as Endpoints and EndpointSlices have it.

use coracle_api::core_v1::{Endpoints, Node, Pod, Service, ServiceAccount};
use coracle_api::discovery_v1::EndpointSlice;
use coracle_client::{DeleteParams, ListParams, Patch};
use coracle_meta::ObjectKey;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::world::{World, until};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn object<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

/// A Service `web`, and a pod behind it that runs.
async fn web(world: &World) {
    let accounts = world.api::<ServiceAccount>();
    until("pods have an account", async || accounts.find(&key("default")).await.unwrap().is_some()).await;
    world.api::<Node>().create(&object(json!({"metadata": {"name": "node"}}))).await.unwrap();
    let service = json!({"metadata": {"namespace": "default", "name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}});
    world.api::<Service>().create(&object(service)).await.unwrap();
    let pod = json!({"metadata": {"namespace": "default", "name": "one", "labels": {"app": "web"}},
        "spec": {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]}});
    world.api::<Pod>().create(&object(pod)).await.unwrap();
    ready(world, "True").await;
}

async fn ready(world: &World, status: &str) {
    let status = json!({"status": {"phase": "Running", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}],
        "conditions": [{"type": "Ready", "status": status}]}});
    world.api::<Pod>().patch_status(&key("one"), &Patch::Strategic(status)).await.unwrap();
}

async fn slices(world: &World) -> Vec<EndpointSlice> {
    let of_web = ListParams::labels("kubernetes.io/service-name=web");
    world.api::<EndpointSlice>().within("default").list(&of_web).await.unwrap().items
}

/// The conditions `ready` of all endpoints.
async fn in_slices(world: &World) -> Vec<Option<bool>> {
    let slices = slices(world).await;
    slices.iter().flat_map(|slice| &slice.endpoints).map(|endpoint| endpoint.conditions.ready).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_behind_its_service_while_it_is_ready_and_chosen() {
    let world = World::start().await;
    web(&world).await;
    let endpoints = async || world.api::<Endpoints>().find(&key("web")).await.unwrap().unwrap_or_default().subsets;
    let is_ready = async |ready: bool| {
        let count = |subsets: &[coracle_api::core_v1::EndpointSubset]| {
            let all = subsets.iter().map(|subset| (subset.addresses.len(), subset.not_ready_addresses.len()));
            all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        count(&endpoints().await) == if ready { (1, 0) } else { (0, 1) } && in_slices(&world).await == [Some(ready)]
    };
    until("the pod is ready in both", async || is_ready(true).await).await;
    ready(&world, "False").await;
    until("the pod is not ready in both", async || is_ready(false).await).await;
    let moved = Patch::Merge(json!({"metadata": {"labels": {"app": "other"}}}));
    world.api::<Pod>().patch(&key("one"), &moved).await.unwrap();
    until("nobody is behind the Service", async || endpoints().await.is_empty() && in_slices(&world).await.is_empty())
        .await;
    assert_eq!(slices(&world).await.len(), 1, "the slice was used again");
}

#[tokio::test(start_paused = true)]
async fn deleted_slices_are_recreated_and_taken_over_slices_are_not_changed() {
    let world = World::start().await;
    web(&world).await;
    until("there is a slice", async || in_slices(&world).await == [Some(true)]).await;
    let slice = slices(&world).await.remove(0);
    let name = ObjectKey::new("default", slice.metadata.name.unwrap());
    world.api::<EndpointSlice>().delete(&name, &DeleteParams::default()).await.unwrap();
    world.api::<Endpoints>().delete(&key("web"), &DeleteParams::default()).await.unwrap();
    until("there is another", async || in_slices(&world).await == [Some(true)]).await;
    until("there are Endpoints", async || world.api::<Endpoints>().find(&key("web")).await.unwrap().is_some()).await;
    let slice = slices(&world).await.remove(0);
    let taken = Patch::Merge(json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": "me"}}}));
    let name = ObjectKey::new("default", slice.metadata.name.unwrap());
    world.api::<EndpointSlice>().patch(&name, &taken).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
    assert_eq!(slices(&world).await.len(), 1, "it has no substitute");
}

#[tokio::test(start_paused = true)]
async fn all_goes_with_the_service() {
    let world = World::start().await;
    web(&world).await;
    until("there is a slice", async || in_slices(&world).await == [Some(true)]).await;
    world.api::<Service>().delete(&key("web"), &DeleteParams::default()).await.unwrap();
    let nothing =
        async || slices(&world).await.is_empty() && world.api::<Endpoints>().find(&key("web")).await.unwrap().is_none();
    until("nothing is left", nothing).await;
}

#[tokio::test(start_paused = true)]
async fn endpoints_by_hand_are_mirrored_until_they_ask_not_to_be() {
    let world = World::start().await;
    let service = json!({"metadata": {"namespace": "default", "name": "web"}, "spec": {"ports": [{"port": 80}]}});
    world.api::<Service>().create(&object(service)).await.unwrap();
    let endpoints = json!({"metadata": {"namespace": "default", "name": "web"},
        "subsets": [{"addresses": [{"ip": "203.0.113.1"}], "ports": [{"port": 80}]}]});
    world.api::<Endpoints>().create(&object(endpoints)).await.unwrap();
    until("they are mirrored", async || in_slices(&world).await == [Some(true)]).await;
    let subsets =
        Patch::Merge(json!({"subsets": [{"notReadyAddresses": [{"ip": "203.0.113.1"}], "ports": [{"port": 80}]}]}));
    world.api::<Endpoints>().patch(&key("web"), &subsets).await.unwrap();
    until("the slice follows", async || in_slices(&world).await == [Some(false)]).await;
    let skip = Patch::Merge(json!({"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}}));
    world.api::<Endpoints>().patch(&key("web"), &skip).await.unwrap();
    until("the slice is gone", async || slices(&world).await.is_empty()).await;
}
