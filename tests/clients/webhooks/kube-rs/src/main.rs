//! A mutating webhook with the types of kube-rs, which does what its example `admission_controller` does:
//! `coracle-webhook ADDRESS:PORT CERTIFICATE KEY`. kube-rs writes a patch as a list of numbers.

use std::error::Error;
use std::sync::Arc;

use axum::routing::post;
use axum::{Json, Router};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use json_patch::{AddOperation, Patch, PatchOperation, jsonptr::PointerBuf};
use kube::ResourceExt;
use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let [address, certificate, key] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "three arguments")?;
    let chain = vec![CertificateDer::from_pem_file(certificate)?];
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let router = Router::new().route("/mutate", post(mutate));
    let listener = TcpListener::bind(address).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        let (acceptor, service) = (acceptor.clone(), TowerToHyperService::new(router.clone()));
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(socket).await else { return };
            let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn mutate(Json(review): Json<AdmissionReview<DynamicObject>>) -> Json<AdmissionReview<DynamicObject>> {
    let request: AdmissionRequest<DynamicObject> = match review.try_into() {
        Ok(request) => request,
        Err(error) => return Json(AdmissionResponse::invalid(format!("{error:?}")).into_review()),
    };
    let response = AdmissionResponse::from(&request);
    let response = match &request.object {
        Some(object) => mutated(response.clone(), object).unwrap_or_else(|why| response.deny(why)),
        None => response,
    };
    Json(response.into_review())
}

fn mutated(response: AdmissionResponse, object: &DynamicObject) -> Result<AdmissionResponse, String> {
    if object.labels().contains_key("illegal") {
        return Err("Resource contained 'illegal' label".to_owned());
    }
    if object.labels().contains_key("admission") {
        return Ok(response);
    }
    let add = |path: &[&str], value| {
        PatchOperation::Add(AddOperation { path: PointerBuf::from_tokens(path.iter().copied()), value })
    };
    let mut patches = Vec::new();
    if object.metadata.labels.is_none() {
        patches.push(add(&["metadata", "labels"], serde_json::json!({})));
    }
    patches.push(add(&["metadata", "labels", "admission"], "modified-by-admission-controller".into()));
    response.with_patch(Patch(patches)).map_err(|error| error.to_string())
}
