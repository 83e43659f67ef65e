//! Pod certificates and trust bundles in projected volumes, in Kubernetes 1.37.

use std::time::Duration;

use coracle_api::certificates_v1::{ClusterTrustBundle, PodCertificateRequest};
use coracle_api::core_v1::Pod;
use coracle_client::ListParams;
use coracle_cluster::{Cluster, Kubelet, NodeSpec, Release, SIMULATED_NODES_USER, User};
use coracle_journal::{EntryId, Recorder};
use coracle_meta::{ObjectKey, parse_time};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::{Value, json};
use tokio::time::sleep;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;
use x509_parser::pem::Pem;

use super::world::{World, key, until};
use crate::remote_commands::{all, connect};

const SIGNER: &str = "coracle.dev/pod-certificate";

async fn world(release: &str) -> World {
    let nodes = vec![NodeSpec::new("node-1")];
    let builder = Cluster::builder().node_specs(nodes).kubernetes(Release::named(release).unwrap());
    World::of(builder.start().await.unwrap()).await
}

/// A pod with these projected sources at `/v`.
async fn pod(world: &World, sources: Value) -> Pod {
    let container = json!({"name": "c", "image": "web:1", "command": ["sleep", "infinity"],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}]});
    world
        .create(json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"containers": [container], "volumes": [{"name": "v", "projected": {"sources": sources}}]},
        }))
        .await
}

fn certificate_of(signer: &str, key_type: &str) -> Value {
    json!({"podCertificate": {"signerName": signer, "keyType": key_type, "credentialBundlePath": "all.pem",
        "keyPath": "key.pem", "certificateChainPath": "chain.pem", "maxExpirationSeconds": 3600}})
}

fn bundle_of_signer() -> Value {
    json!({"clusterTrustBundle": {"signerName": SIGNER, "labelSelector": {}, "path": "ca.pem"}})
}

/// The content of a file in the pod, as `kubectl exec` shows it.
async fn read(world: &World, path: &str) -> String {
    let (client, _) = connect(&world.cluster, &format!("exec?command=cat&command={path}&stdout=1&container=c")).await;
    let output = all(client).await.into_iter().filter(|(channel, _)| *channel == 1);
    output.map(|(_, text)| text).collect()
}

fn der(pem: &str) -> Vec<u8> {
    Pem::iter_from_buffer(pem.as_bytes()).next().unwrap().unwrap().contents
}

async fn requests(world: &World) -> Vec<PodCertificateRequest> {
    world.api::<PodCertificateRequest>().list(&ListParams::default()).await.unwrap().items
}

async fn has_event(world: &World, line: &str) -> bool {
    world.events_of("web").await.iter().any(|found| found == line)
}

/// A trust bundle with a new authority.
fn bundle(name: &str) -> Value {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let anchor = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem().replace("\r\n", "\n");
    json!({"metadata": {"name": name}, "spec": {"trustBundle": anchor}})
}

#[tokio::test(start_paused = true)]
async fn the_chain_in_a_pod_verifies_against_the_trust_bundle_in_the_same_volume() {
    for key_type in ["ECDSAP256", "ECDSAP384", "ED25519"] {
        let world = world("1.37").await;
        let none = world.api::<ClusterTrustBundle>().list(&ListParams::default()).await.unwrap();
        assert!(none.items.is_empty(), "a cluster without requests has no bundle");
        pod(&world, json!([certificate_of(SIGNER, key_type), bundle_of_signer()])).await;
        until("the pod is ready", async || world.is_ready("web").await).await;
        let (chain, authority) = (read(&world, "/v/chain.pem").await, read(&world, "/v/ca.pem").await);
        let private = read(&world, "/v/key.pem").await;
        assert_eq!(read(&world, "/v/all.pem").await, format!("{private}{chain}"));
        let (chain, authority) = (der(&chain), der(&authority));
        let (_, leaf) = parse_x509_certificate(&chain).unwrap();
        let (_, authority) = parse_x509_certificate(&authority).unwrap();
        leaf.verify_signature(Some(authority.public_key())).unwrap();
        assert_eq!(leaf.issuer().as_raw(), authority.subject().as_raw());
        let names = leaf.subject_alternative_name().unwrap().unwrap();
        assert_eq!(names.value.general_names, [GeneralName::URI("spiffe://cluster.local/ns/default/sa/default")]);
        let private = KeyPair::from_pem(&private).unwrap();
        assert_eq!(leaf.public_key().raw, rcgen::PublicKeyData::subject_public_key_info(&private), "{key_type}");
        let request = requests(&world).await.remove(0);
        assert_eq!(request.spec.node_name, "node-1");
        assert_eq!(request.metadata.owner_references[0].name, "web");
        let pending = "MountVolume.SetUp failed for volume \"v\" : [credential bundle is not issued yet, combination of \
                       signerName and labelSelector matched zero ClusterTrustBundles]";
        assert!(has_event(&world, &format!("FailedMount: {pending}")).await, "{:?}", world.events_of("web").await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_for_another_signer_stays_pending_and_a_denied_one_keeps_the_pod_from_starting() {
    let world = world("1.37").await;
    pod(&world, json!([certificate_of("example.com/own", "ECDSAP521")])).await;
    sleep(Duration::from_secs(120)).await;
    let mut request = requests(&world).await.remove(0);
    assert!(request.status.conditions.is_empty());
    let name = request.metadata.name.clone().unwrap();
    let denied = json!([{"type": "Denied", "status": "True", "reason": "Policy", "message": "not today",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    request.status.conditions = serde_json::from_value(denied).unwrap();
    world.api::<PodCertificateRequest>().update_status(&request).await.unwrap();
    sleep(Duration::from_secs(300)).await;
    let mount = "FailedMount: MountVolume.SetUp failed for volume \"v\" : ";
    assert!(has_event(&world, &format!("{mount}credential bundle is not issued yet")).await);
    let why = "PodCertificateRequest was permanently denied: reason=\"Policy\" message=\"not today\"";
    assert!(has_event(&world, &format!("{mount}{why}")).await, "{:?}", world.events_of("web").await);
    let said = format!("PodCertificateRequest default/{name} was denied, reason=\"Policy\", message=\"not today\"");
    assert!(has_event(&world, &format!("Denied: Policy%!(EXTRA string={said})")).await);
    let pod = world.api::<Pod>().get(&key("web")).await.unwrap();
    assert_eq!(pod.status.phase, "Pending");
    let waiting = pod.status.container_statuses[0].state.waiting.clone().unwrap();
    assert_eq!(waiting.reason, "ContainerCreating");
    assert_eq!(requests(&world).await.len(), 1, "the node makes no other request");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_the_signer_or_the_node_does_not_support_is_refused_with_the_reason() {
    for (key_type, why) in [
        ("ECDSAP521", "PodCertificateRequest was permanently denied: reason=\"UnsupportedKeyType\""),
        ("RSA3072", "keyType \"RSA3072\" is not supported by simulated nodes; use ECDSAP256"),
    ] {
        let world = world("1.37").await;
        pod(&world, json!([certificate_of(SIGNER, key_type)])).await;
        let start = format!("FailedMount: MountVolume.SetUp failed for volume \"v\" : {why}");
        until("it is refused", async || world.has_event_beginning("web", &start).await).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_renewed_when_its_time_comes_and_the_files_change() {
    let world = world("1.37").await;
    pod(&world, json!([certificate_of(SIGNER, "ED25519")])).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
    let first = requests(&world).await.remove(0);
    let chain = read(&world, "/v/chain.pem").await;
    let time = |text: &Option<String>| parse_time(text.as_deref().unwrap()).unwrap();
    let refresh = time(&first.status.begin_refresh_at);
    // The first request is thirty minutes old then, and deleted.
    let has_new = async || requests(&world).await.iter().any(|request| request.metadata.uid != first.metadata.uid);
    let left = refresh.duration_since(world.cluster.ambient().clock.now());
    sleep(Duration::try_from(left).unwrap() - Duration::from_secs(1)).await;
    assert!(!has_new().await);
    assert_eq!(read(&world, "/v/chain.pem").await, chain);
    until("it is renewed", has_new).await;
    let second = requests(&world).await.into_iter().find(|request| request.metadata.uid != first.metadata.uid).unwrap();
    let late = time(&second.metadata.creation_timestamp).duration_since(refresh).as_secs();
    assert!((0..=300).contains(&late), "{late} s after the time to refresh");
    sleep(Duration::from_secs(1)).await;
    let renewed = read(&world, "/v/chain.pem").await;
    assert_ne!(renewed, chain);
    assert_eq!(
        renewed,
        requests(&world)
            .await
            .iter()
            .find(|own| own.metadata.uid == second.metadata.uid)
            .unwrap()
            .status
            .certificate_chain
    );
    // A day later it was renewed again and again, and the container did not restart.
    sleep(Duration::from_secs(24 * 3600)).await;
    let leaf = der(&read(&world, "/v/chain.pem").await);
    let (_, leaf) = parse_x509_certificate(&leaf).unwrap();
    assert!(leaf.validity().not_after.timestamp() > world.cluster.ambient().clock.now().as_second());
    assert_eq!(world.api::<Pod>().get(&key("web")).await.unwrap().status.container_statuses[0].restart_count, 0);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_simulates_nodes_elsewhere_requests_certificates_with_its_own_identity() {
    let release = Release::named("1.37").unwrap();
    let cluster = Cluster::builder().kubernetes(release.clone()).start().await.unwrap();
    let nodes = vec![NodeSpec::new("far")];
    let config = coracle_cluster::kubelet::Config { release, nodes, ..Default::default() };
    let client = cluster.client_as(User::new(SIMULATED_NODES_USER, Vec::<String>::new()));
    let kubelet = Kubelet::new(config, client, cluster.ambient().split("far"), Recorder::off());
    tokio::spawn(async move { kubelet.run(std::future::pending()).await });
    let world = World::of(cluster).await;
    pod(&world, json!([certificate_of(SIGNER, "ED25519"), bundle_of_signer()])).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
    assert_eq!(requests(&world).await[0].spec.node_name, "far");
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_that_starts_again_requests_a_new_certificate_and_the_files_stay_meanwhile() {
    let world = world("1.37").await;
    pod(&world, json!([certificate_of(SIGNER, "ED25519")])).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
    let chain = read(&world, "/v/chain.pem").await;
    world.cluster.kubelet().stop_node("node-1");
    sleep(Duration::from_secs(10)).await;
    world.cluster.kubelet().start_node("node-1");
    until("there is another request", async || requests(&world).await.len() == 2).await;
    until("the files changed", async || read(&world, "/v/chain.pem").await != chain).await;
    assert!(world.is_ready("web").await);
}

#[tokio::test(start_paused = true)]
async fn an_optional_bundle_may_be_missing_and_its_file_follows_the_bundle() {
    let world = world("1.37").await;
    let source =
        |optional: bool| json!([{"clusterTrustBundle": {"name": "own", "optional": optional, "path": "ca.pem"}}]);
    pod(&world, source(true)).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
    assert_eq!(read(&world, "/v/ca.pem").await, "");
    let made: ClusterTrustBundle = world.create(bundle("own")).await;
    assert_eq!(read(&world, "/v/ca.pem").await, made.spec.trust_bundle);
    world.delete::<ClusterTrustBundle>(&ObjectKey::cluster("own")).await;
    world.delete::<Pod>(&key("web")).await;
    until("the pod is gone", async || world.api::<Pod>().find(&key("web")).await.unwrap().is_none()).await;
    pod(&world, source(false)).await;
    let missing = "FailedMount: MountVolume.SetUp failed for volume \"v\" : while getting ClusterTrustBundle: \
                   clustertrustbundle.certificates.k8s.io \"own\" not found";
    until("it is missing", async || has_event(&world, missing).await).await;
    let made: ClusterTrustBundle = world.create(bundle("own")).await;
    until("the pod is ready", async || world.is_ready("web").await).await;
    assert_eq!(read(&world, "/v/ca.pem").await, made.spec.trust_bundle);
}

#[tokio::test(start_paused = true)]
async fn release_1_36_drops_the_sources() {
    let world = world("1.36").await;
    let sources = json!([certificate_of(SIGNER, "ED25519"), {"downwardAPI": {"items":
        [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}]);
    let made = pod(&world, sources).await;
    let sources =
        &made.spec.volumes.iter().find(|volume| volume.name == "v").unwrap().projected.as_ref().unwrap().sources;
    assert!(sources.iter().all(|source| source.pod_certificate.is_none()));
    until("the pod is ready", async || world.is_ready("web").await).await;
    assert_eq!((read(&world, "/v/chain.pem").await, read(&world, "/v/name").await), (String::new(), "web".to_owned()));
}

/// The event log of a run in which a certificate is issued and renewed, and the content of its file.
async fn run(seed: u64) -> (Vec<String>, String) {
    let recorder = Recorder::ring(500_000);
    let builder = Cluster::builder().nodes(1).seed(seed).recorder(recorder.clone());
    let world = World::of(builder.kubernetes(Release::named("1.37").unwrap()).start().await.unwrap()).await;
    pod(&world, json!([certificate_of(SIGNER, "ECDSAP256"), bundle_of_signer()])).await;
    sleep(Duration::from_secs(3000)).await;
    let content = read(&world, "/v/all.pem").await + &read(&world, "/v/ca.pem").await;
    let entries = recorder.entries(EntryId(0)).iter().map(|entry| format!("{entry:?}")).collect();
    world.cluster.shutdown().await;
    (entries, content)
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_one_log_and_one_certificate() {
    let ((first, content), (second, same), (_, other)) = (run(7).await, run(7).await, run(8).await);
    assert!(content.contains("PRIVATE KEY") && content.matches("BEGIN CERTIFICATE").count() == 2, "{content}");
    assert_eq!(content, same);
    assert_ne!(content, other);
    let differs = first.iter().zip(&second).position(|(one, other)| one != other);
    assert_eq!(differs.map(|at| (&first[at], &second[at])), None);
    assert_eq!(first.len(), second.len());
}
