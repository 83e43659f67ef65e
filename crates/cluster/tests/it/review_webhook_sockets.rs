//! A program elsewhere that says whose a token is, over TLS: whom the server believes, and what it shows.

use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{
    ApiServerOptions, Callee, Caller, Cluster, ReviewVersion, ReviewWebhook, TokenWebhookSpec, Trust,
};
use coracle_pki::Authority;
use coracle_tls::Identity;
use http::Request;
use http_body_util::Full;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// Speaks TLS as `reviewer`, with those alone whom `callers` has certified.
fn acceptor(own: &Authority, callers: &Authority) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let identity = own.server(&["reviewer".to_owned()], &[]).unwrap();
    let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(callers.certificate().as_bytes()).unwrap()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let tls = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    TlsAcceptor::from(Arc::new(tls.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap()))
}

/// Takes every token of those for ann's whose request begins as it has to.
async fn review(stream: TcpStream, tls: TlsAcceptor) {
    let Ok(mut stream) = tls.accept(stream).await else { return };
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let is_right = head.starts_with("post /review?timeout=30s http/1.1\r\n")
        && head.contains("authorization: bearer own-token\r\n")
        && head.contains("user-agent: kube-apiserver");
    let status = json!({"status": {"authenticated": is_right, "user": {"username": "ann"}}}).to_string();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{status}", status.len());
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

#[tokio::test]
async fn the_server_shows_its_certificate_and_token_to_the_program_whose_authority_it_believes() {
    let (own, callers) = (Authority::new().unwrap(), Authority::new().unwrap());
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let origin = format!("https://{}", socket.local_addr().unwrap());
    let tls = acceptor(&own, &callers);
    tokio::spawn(async move {
        while let Ok((stream, _)) = socket.accept().await {
            tokio::spawn(review(stream, tls.clone()));
        }
    });
    let code = async |believed: &Authority, shown: Option<&Identity>, name: &str| {
        let certificate = shown.map(|shown| (shown.certificate.clone().into_bytes(), shown.key.clone().into_bytes()));
        let caller = Caller {
            certificate,
            authorization: Some("Bearer own-token".to_owned()),
            server_name: Some(name.to_owned()),
        };
        let webhook = ReviewWebhook {
            to: Arc::new(Callee::Url { origin: origin.clone(), path: "/review".to_owned() }),
            trust: Trust::Authorities(believed.certificate().as_bytes().into()),
            caller: Arc::new(caller),
            version: ReviewVersion::V1,
        };
        let token_webhook = Some(TokenWebhookSpec { webhook, cache_ttl: Duration::ZERO });
        let spec = ApiServerOptions { token_webhook, ..ApiServerOptions::default() };
        let cluster = Cluster::builder().api_server(spec).api_server_only().start().await.unwrap();
        let request = Request::get("/api/v1/secrets").header("authorization", "Bearer of-ann");
        let request = request.body(Full::<bytes::Bytes>::default()).unwrap();
        cluster.front_door().oneshot(request).await.unwrap().status().as_u16()
    };
    let ours = callers.client("kube-apiserver", &[]).unwrap();
    assert_eq!(code(&own, Some(&ours), "reviewer").await, 403, "it is ann, who may do nothing");
    assert_eq!(code(&callers, Some(&ours), "reviewer").await, 401, "another authority is believed");
    assert_eq!(code(&own, Some(&ours), "another").await, 401, "the certificate is for another name");
    assert_eq!(code(&own, None, "reviewer").await, 401, "nothing is shown");
    let strange = Authority::new().unwrap().client("kube-apiserver", &[]).unwrap();
    assert_eq!(code(&own, Some(&strange), "reviewer").await, 401, "a certificate of nobody's is shown");
}
