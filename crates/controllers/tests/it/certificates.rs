//! Certificates that are asked for.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_api::certificates_v1::CertificateSigningRequest;
use coracle_client::{Api, Client};
use coracle_cluster::{Cluster, controllers};
use coracle_meta::ObjectKey;
use coracle_pki::Authority;
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};
use x509_parser::pem::Pem;

use crate::world::until;

const KUBELET: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const ANYBODY: &str = "kubernetes.io/kube-apiserver-client";

/// A request as a kubelet writes it, for a group.
fn request(name: &str, group: &str, signer: &str) -> CertificateSigningRequest {
    let mut params = CertificateParams::default();
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::OrganizationName, group);
    params.distinguished_name.push(DnType::CommonName, "system:node:n1");
    let asked = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
    let request = json!({
        "metadata": {"name": name},
        "spec": {
            "request": STANDARD.encode(asked), "signerName": signer, "expirationSeconds": 3600,
            "usages": ["digital signature", "client auth"],
        },
    });
    serde_json::from_value(request).unwrap()
}

async fn start() -> (Cluster, Api<CertificateSigningRequest>) {
    let key = controllers::CertificateKey::new(Arc::new(Authority::new().unwrap()));
    let config = controllers::Config {
        certificate_keys: controllers::CertificateKeys::all(key),
        ..controllers::Config::default()
    };
    let cluster = Cluster::builder().controllers(config).start().await.unwrap();
    let requests = Api::of(&Client::new(cluster.service(), cluster.ambient()));
    (cluster, requests)
}

async fn approve(requests: &Api<CertificateSigningRequest>, mut request: CertificateSigningRequest) -> ObjectKey {
    let approved: Value = json!([{"type": "Approved", "status": "True", "reason": "Test"}]);
    request.status.conditions = serde_json::from_value(approved).unwrap();
    let version = request.metadata.resource_version.clone().unwrap();
    let key = ObjectKey::cluster(request.metadata.name.clone().unwrap());
    let _: CertificateSigningRequest = requests.update_subresource(&key, "approval", &request, &version).await.unwrap();
    key
}

#[tokio::test(start_paused = true)]
async fn an_approved_request_is_signed_within_limits_and_deleted_after_an_hour() {
    let (_cluster, requests) = start().await;
    let made = requests.create(&request("node", "system:nodes", KUBELET)).await.unwrap();
    let key = ObjectKey::cluster("node");
    let find = async || requests.find(&key).await.unwrap();
    // Whoever may do all is approved without anybody looking.
    let is_signed = async || find().await.is_some_and(|request| !request.status.certificate.is_empty());
    until("it is signed", is_signed).await;
    let status = find().await.unwrap().status;
    let message = "Auto approving kubelet client certificate after SubjectAccessReview.";
    assert_eq!(
        (status.conditions[0].reason.as_str(), status.conditions[0].message.as_str()),
        ("AutoApproved", message)
    );
    assert!(made.status.conditions.is_empty());
    let pem = STANDARD.decode(&status.certificate).unwrap();
    let pem = Pem::iter_from_buffer(&pem).next().unwrap().unwrap();
    let certificate = pem.parse_x509().unwrap();
    let names: Vec<_> = certificate.subject().iter_common_name().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names, ["system:node:n1"]);
    let lasts = certificate.validity().not_after.timestamp() - certificate.validity().not_before.timestamp();
    assert_eq!(lasts, 3600 + 300);
    tokio::time::sleep(std::time::Duration::from_secs(2 * 3600)).await;
    assert!(find().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_unapproved_request_stays_and_an_unsignable_one_fails() {
    let (_cluster, requests) = start().await;
    requests.create(&request("stranger", "strangers", KUBELET)).await.unwrap();
    let client = approve(&requests, requests.create(&request("client", "strangers", ANYBODY)).await.unwrap()).await;
    let is_signed = async || !requests.get(&client).await.unwrap().status.certificate.is_empty();
    until("a client is signed", is_signed).await;
    let wrong = approve(&requests, requests.create(&request("wrong", "strangers", KUBELET)).await.unwrap()).await;
    let failure = async || {
        let status = requests.get(&wrong).await.unwrap().status;
        status.conditions.into_iter().find(|condition| condition.type_ == "Failed")
    };
    until("the signer refuses", async || failure().await.is_some()).await;
    assert_eq!(failure().await.unwrap().message, "subject organization is not system:nodes");
    let stranger = requests.get(&ObjectKey::cluster("stranger")).await.unwrap().status;
    assert!(stranger.conditions.is_empty() && stranger.certificate.is_empty());
}
