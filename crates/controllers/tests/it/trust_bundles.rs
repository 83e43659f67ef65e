//! The trust bundle of the API server's certificates.

use std::time::Duration;

use coracle_api::certificates_v1::ClusterTrustBundle;
use coracle_client::{DeleteParams, ListParams, Patch};
use coracle_cluster::Release;
use coracle_controllers::Config;
use coracle_meta::Resource;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::json;

use crate::world::{World, until};

const SIGNER: &str = "kubernetes.io/kube-apiserver-serving";

fn certificate(is_authority: bool) -> String {
    let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    if is_authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

async fn world(release: &str, root_ca: &str) -> World {
    let release = Release::named(release).unwrap();
    World::start_with(Config { release, root_ca: root_ca.to_owned(), ..Config::default() }).await
}

/// The bundles of the signer.
async fn bundles(world: &World) -> Vec<ClusterTrustBundle> {
    let params = ListParams::fields(format!("spec.signerName={SIGNER}"));
    world.api::<ClusterTrustBundle>().list(&params).await.unwrap().items
}

async fn contents(world: &World) -> Vec<String> {
    bundles(world).await.into_iter().map(|bundle| bundle.spec.trust_bundle).collect()
}

#[tokio::test(start_paused = true)]
async fn the_authority_of_the_api_server_is_the_only_bundle_of_its_signer() {
    let (old, new) = (certificate(true), certificate(true));
    let world = world("1.37", &new).await;
    until("it is published", async || contents(&world).await == [new.clone()]).await;
    let published = bundles(&world).await.remove(0);
    let name = published.key().name;
    assert!(name.starts_with("kubernetes.io:kube-apiserver-serving:"), "{name}");

    // What a controller with another authority has left.
    let _: ClusterTrustBundle = world
        .create(json!({
            "metadata": {"name": "kubernetes.io:kube-apiserver-serving:old"},
            "spec": {"signerName": SIGNER, "trustBundle": old},
        }))
        .await;
    let other =
        world.create::<ClusterTrustBundle>(json!({"metadata": {"name": "other"}, "spec": {"trustBundle": old}}));
    other.await;
    until("the old one is deleted", async || contents(&world).await == [new.clone()]).await;

    let api = world.api::<ClusterTrustBundle>();
    let changed = Patch::Merge(json!({"spec": {"trustBundle": old}}));
    api.patch(&published.key(), &changed).await.unwrap();
    until("a changed one is restored", async || contents(&world).await == [new.clone()]).await;
    api.delete(&published.key(), &DeleteParams::default()).await.unwrap();
    until("a deleted one is created again", async || contents(&world).await == [new.clone()]).await;
    assert_eq!(bundles(&world).await[0].key().name, name);
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 2, "bundles of others stay");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_published_without_an_authority() {
    for root_ca in [String::new(), certificate(false)] {
        let world = world("1.37", &root_ca).await;
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(contents(&world).await, [""; 0]);
    }
}
