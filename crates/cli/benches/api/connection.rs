use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::objects;
use crate::options::Running;

pub(crate) const JSON: &str = "application/json";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

/// Where connections go, and how.
#[derive(Clone)]
pub(crate) struct Target {
    authority: String,
    token: String,
    tls: TlsConnector,
}

impl Target {
    pub(crate) fn of(running: &Running) -> Self {
        let mut roots = RootCertStore::empty();
        let certificates = CertificateDer::pem_file_iter(&running.ca).expect("a readable CA certificate");
        for certificate in certificates {
            roots.add(certificate.expect("a certificate")).expect("a root");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let authority = running.url.trim_start_matches("https://").to_owned();
        Self { authority, token: running.token.clone(), tls: TlsConnector::from(Arc::new(config)) }
    }

    /// A connection of its own, speaking HTTP/2 with windows as large as Go's.
    pub(crate) async fn connect(&self) -> Connection {
        let stream = TcpStream::connect(&self.authority).await.expect("the server listens");
        stream.set_nodelay(true).expect("a socket option");
        let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host);
        let name = ServerName::try_from(host.to_owned()).expect("a host");
        let stream = self.tls.connect(name, stream).await.expect("a TLS handshake");
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(1 << 30)
            .handshake(TokioIo::new(stream))
            .await
            .expect("an HTTP/2 handshake");
        tokio::spawn(connection);
        Connection { target: self.clone(), sender }
    }
}

/// One HTTP/2 connection; clones share it.
#[derive(Clone)]
pub(crate) struct Connection {
    target: Target,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Sends a request and returns the answer's head; anything but a success is a mistake of the benchmark.
    pub(crate) async fn open(
        &mut self,
        method: Method,
        path: &str,
        media_type: &str,
        body: Bytes,
    ) -> Response<Incoming> {
        let accept = if media_type == MERGE_PATCH { JSON } else { media_type };
        let request = Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.target.authority))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.target.token))
            .header(header::ACCEPT, accept)
            .header(header::USER_AGENT, "bench/1.0")
            .header(header::CONTENT_TYPE, media_type)
            .body(Full::new(body))
            .expect("a request");
        let answer = self.sender.send_request(request).await.expect("an answer");
        if !answer.status().is_success() {
            let status = answer.status();
            let body = answer.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            panic!("{path}: {status} {}", String::from_utf8_lossy(&body));
        }
        answer
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&mut self, method: Method, path: &str, media_type: &str, body: Bytes) -> Bytes {
        let answer = self.open(method, path, media_type, body).await;
        answer.into_body().collect().await.expect("a body").to_bytes()
    }

    pub(crate) async fn get(&mut self, path: &str) -> Bytes {
        self.send(Method::GET, path, JSON, Bytes::new()).await
    }

    /// Makes the namespace of the benchmark, unless a part before has made it on the same server.
    pub(crate) async fn make_namespace(&mut self) {
        let names = self.get("/api/v1/namespaces").await;
        let wanted = format!("\"name\":\"{}\"", objects::NAMESPACE);
        if !String::from_utf8_lossy(&names).contains(&wanted) {
            self.post("/api/v1/namespaces", objects::namespace()).await;
        }
    }

    pub(crate) async fn post(&mut self, path: &str, body: Bytes) {
        self.send(Method::POST, path, JSON, body).await;
    }

    /// Reads an answer to its end without keeping it; returns its length.
    pub(crate) async fn drain(&mut self, path: &str, media_type: &str) -> usize {
        let mut body = self.open(Method::GET, path, media_type, Bytes::new()).await.into_body();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            length += frame.expect("a whole body").data_ref().map_or(0, Bytes::len);
        }
        length
    }
}
