//! Claims on resources, made for pods and freed when they end.

use coracle_api::core_v1::{Event, Pod, ServiceAccount};
use coracle_api::resource_v1::{ResourceClaim, ResourceClaimTemplate};
use coracle_client::{DeleteParams, ListParams, Patch};
use coracle_meta::ObjectKey;
use serde_json::{Value, json};

use crate::world::{World, until};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn device() -> Value {
    json!({"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}})
}

/// A pod with a claim that is made for it, `made`, and one that its user makes, `own`.
fn pod() -> Value {
    let entries = json!([
        {"name": "made", "resourceClaimTemplateName": "template"}, {"name": "own", "resourceClaimName": "own"},
    ]);
    // Nobody else binds it.
    let spec = json!({"schedulerName": "none", "containers": [{"name": "c", "image": "i"}], "resourceClaims": entries});
    json!({"metadata": {"namespace": "default", "name": "p"}, "spec": spec})
}

/// Pods need the account of their namespace.
async fn account(world: &World) {
    let accounts = world.api::<ServiceAccount>();
    until("pods may be made", async || accounts.find(&key("default")).await.unwrap().is_some()).await;
}

async fn template(world: &World) {
    let spec = json!({"metadata": {"labels": {"from": "template"}}, "spec": device()});
    let _: ResourceClaimTemplate =
        world.create(json!({"metadata": {"namespace": "default", "name": "template"}, "spec": spec})).await;
}

async fn own_claim(world: &World) {
    let _: ResourceClaim =
        world.create(json!({"metadata": {"namespace": "default", "name": "own"}, "spec": device()})).await;
}

/// The name of the claim that was made for the pod.
async fn made(world: &World) -> Option<String> {
    let pod = world.api::<Pod>().get(&key("p")).await.unwrap();
    pod.status.resource_claim_statuses.first().and_then(|status| status.resource_claim_name.clone())
}

/// Says that a claim has got its device, as the scheduler does.
async fn allocate(world: &World, name: &str) {
    let claims = world.api::<ResourceClaim>();
    let finalizer = json!({"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}});
    claims.patch(&key(name), &Patch::Merge(finalizer)).await.unwrap();
    let result = json!({"request": "r", "driver": "gpu.example.com", "pool": "pool", "device": "one"});
    let status = json!({"status": {"allocation": {"devices": {"results": [result]}}}});
    claims.patch_status(&key(name), &Patch::Merge(status)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pods_claims_are_made_reserved_when_it_is_bound_and_freed_when_it_ends() {
    let world = World::with_nodes(1).await;
    let claims = world.api::<ResourceClaim>();
    account(&world).await;
    let created: Pod = world.create(pod()).await;
    let failed = async || {
        let events = world.api::<Event>().within("default").list(&ListParams::default()).await.unwrap().items;
        events.iter().any(|event| event.reason == "FailedResourceClaimCreation")
    };
    until("it is said that there is no template", failed).await;
    template(&world).await;
    own_claim(&world).await;
    until("a claim is made", async || made(&world).await.is_some()).await;
    let name = made(&world).await.unwrap();
    assert!(name.starts_with("p-made-"), "{name}");
    let claim = claims.get(&key(&name)).await.unwrap();
    assert_eq!(claim.metadata.labels["from"], "template");
    assert_eq!(claim.metadata.annotations["resource.kubernetes.io/pod-claim-name"], "made");
    let owner = &claim.metadata.owner_references[0];
    assert_eq!((Some(&owner.uid), owner.block_owner_deletion), (created.metadata.uid.as_ref(), None));
    allocate(&world, &name).await;
    allocate(&world, "own").await;
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "node-1"},
    });
    let _: Value = world.api::<Pod>().create_subresource(&key("p"), "binding", &binding).await.unwrap();
    for name in [name.as_str(), "own"] {
        let reserved = async || claims.get(&key(name)).await.unwrap().status.reserved_for.len() == 1;
        until("it is reserved for the pod that is bound", reserved).await;
    }
    world.api::<Pod>().delete(&key("p"), &DeleteParams::default()).await.unwrap();
    until("what was made for the pod goes with it", async || claims.find(&key(&name)).await.unwrap().is_none()).await;
    let own = async || claims.get(&key("own")).await.unwrap();
    until("the other is free", async || own().await.status.allocation.is_none()).await;
    until("and may be deleted", async || own().await.metadata.finalizers.is_empty()).await;
    assert!(own().await.status.reserved_for.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_deleted_resource_claim_is_recreated_and_one_of_a_finished_pod_is_deleted() {
    let world = World::start().await;
    template(&world).await;
    own_claim(&world).await;
    account(&world).await;
    let _: Pod = world.create(pod()).await;
    let claims = world.api::<ResourceClaim>();
    until("a claim is made", async || made(&world).await.is_some()).await;
    let first = made(&world).await.unwrap();
    claims.delete(&key(&first), &DeleteParams::default()).await.unwrap();
    until("another is made", async || made(&world).await.is_some_and(|name| name != first)).await;
    let second = made(&world).await.unwrap();
    let ended = Patch::Strategic(json!({"status": {"phase": "Failed"}}));
    world.api::<Pod>().patch_status(&key("p"), &ended).await.unwrap();
    until("it goes before the pod", async || claims.find(&key(&second)).await.unwrap().is_none()).await;
    assert!(world.api::<Pod>().find(&key("p")).await.unwrap().is_some());
    assert!(claims.find(&key("own")).await.unwrap().is_some());
}
