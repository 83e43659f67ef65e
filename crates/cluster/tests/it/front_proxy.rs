//! Who speaks for others, over sockets: front proxies to the API server, and the API server to those beside it.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use coracle_cluster::{ApiServerOptions, Cluster, ProxyClient, RequestHeaders, ServiceRoutes};
use coracle_pki::Authority;
use coracle_secure_serving::{Listener, ServingCertificates};
use coracle_tls::{Identity, OldestTls};
use http::Request;
use http_body_util::{BodyExt, Full};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};
use tower::ServiceExt;

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(authority: &Authority) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap()).unwrap();
    roots
}

fn papers(identity: &Identity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
    (chain, PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap())
}

async fn connect(to: SocketAddr, authority: &Authority, shown: Option<&Identity>) -> client::TlsStream<TcpStream> {
    let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots(authority));
    let config = match shown.map(papers) {
        Some((chain, key)) => config.with_client_auth_cert(chain, key).unwrap(),
        None => config.with_no_client_auth(),
    };
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, TcpStream::connect(to).await.unwrap()).await.unwrap()
}

/// Reads up to the end of the headers.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(read).unwrap()
}

/// A server on a socket, with authorities of users and of front proxies.
struct Doors {
    users: Authority,
    proxies: Authority,
    address: SocketAddr,
    cluster: Cluster,
}

impl Doors {
    async fn open(routes: ServiceRoutes) -> Self {
        let (users, proxies) = (Authority::new().unwrap(), Authority::new().unwrap());
        let own = proxies.client("front-proxy-client", &[]).unwrap();
        let headers = RequestHeaders { allowed_names: vec!["proxy".to_owned()], ..RequestHeaders::default() };
        let spec = ApiServerOptions {
            request_headers: Some((proxies.certificate().to_owned(), headers)),
            client_ca: Some(users.certificate().to_owned()),
            proxy_client: Some(ProxyClient { certificate: own.certificate.into(), key: own.key.into() }),
            service_routes: routes,
            ..ApiServerOptions::default()
        };
        let cluster = Cluster::builder().api_server(spec).api_server_only().start().await.unwrap();
        let identity = users.server(&["localhost".to_owned()], &[]).unwrap();
        let at = ([127, 0, 0, 1], 0).into();
        let papers = ServingCertificates {
            front_proxy_authority: Some(proxies.certificate().into()),
            ..ServingCertificates::of(identity, users.certificate())
        };
        let listener = Listener::bind(at, papers, OldestTls::default()).await.unwrap();
        let address = listener.address();
        tokio::spawn(listener.serve(cluster.front_door(), std::future::pending()));
        Self { users, proxies, address, cluster }
    }

    /// Whom the server takes somebody for who shows a certificate and says to be `captain`; or the code of its refusal.
    async fn taken_for(&self, shown: Option<&Identity>, headers: &str) -> Result<String, String> {
        let body = "{\"kind\":\"SelfSubjectReview\",\"apiVersion\":\"authentication.k8s.io/v1\"}";
        let request = format!(
            "POST /apis/authentication.k8s.io/v1/selfsubjectreviews HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        let mut stream = connect(self.address, &self.users, shown).await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // Who closes without a farewell has said all it had to.
        let _ = stream.read_to_string(&mut answer).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        if !head.starts_with("HTTP/1.1 201") {
            return Err(head.split(' ').nth(1).unwrap().to_owned());
        }
        let review: Value = serde_json::from_str(body).unwrap();
        Ok(review["status"]["userInfo"]["username"].as_str().unwrap().to_owned())
    }

    async fn create(&self, path: &str, object: &Value) {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(object.to_string()))).unwrap();
        let answer = self.cluster.service().oneshot(request).await.unwrap();
        let (head, body) = answer.into_parts();
        assert_eq!(head.status.as_u16(), 201, "{:?}", body.collect().await.unwrap().to_bytes());
    }
}

const CAPTAIN: &str = "X-Remote-User: captain\r\nX-Remote-Group: system:masters\r\n";

#[tokio::test]
async fn identity_headers_are_trusted_only_from_front_proxies() {
    let doors = Doors::open(ServiceRoutes::default()).await;
    let anonymous = Err("403".to_owned());
    assert_eq!(doors.taken_for(None, CAPTAIN).await, anonymous);
    let user = doors.users.client("jane", &[]).unwrap();
    assert_eq!(doors.taken_for(Some(&user), CAPTAIN).await, Ok("jane".to_owned()));
    let user = doors.users.client("proxy", &[]).unwrap();
    assert_eq!(doors.taken_for(Some(&user), CAPTAIN).await, Ok("proxy".to_owned()), "of the wrong authority");
    let proxy = doors.proxies.client("proxy", &["system:masters"]).unwrap();
    assert_eq!(doors.taken_for(Some(&proxy), CAPTAIN).await, Ok("captain".to_owned()));
    assert_eq!(doors.taken_for(Some(&proxy), "").await, anonymous, "a front proxy is no user");
    let other = doors.proxies.client("other", &[]).unwrap();
    assert_eq!(doors.taken_for(Some(&other), CAPTAIN).await, Err("401".to_owned()));
}

/// An API server that answers every question, and to who wants another protocol repeats what it is told. It lets nobody in
/// who shows no certificate of `proxies`.
async fn echo(stream: TcpStream, tls: TlsAcceptor) {
    let mut stream: server::TlsStream<TcpStream> = tls.accept(stream).await.unwrap();
    let asked = head(&mut stream).await.to_ascii_lowercase();
    if !asked.contains("upgrade: echo") {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        return;
    }
    assert!(asked.contains("x-remote-user: jane") && !asked.contains("captain"), "{asked}");
    assert!(asked.contains("x-forwarded-for: 127.0.0.1\r\n"), "{asked}");
    let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
    stream.write_all(answer.as_bytes()).await.unwrap();
    let (mut from, mut to) = tokio::io::split(stream);
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

async fn echo_server(proxies: &Authority, socket: TcpListener) {
    let own = Authority::new().unwrap();
    let (chain, key) = papers(&own.server(&["boats.default.svc".to_owned()], &[]).unwrap());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(proxies)), provider()).build().unwrap();
    let tls = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let tls =
        TlsAcceptor::from(Arc::new(tls.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap()));
    tokio::spawn(async move {
        while let Ok((stream, _)) = socket.accept().await {
            tokio::spawn(echo(stream, tls.clone()));
        }
    });
}

#[tokio::test]
async fn a_connection_that_becomes_another_is_joined_to_the_extension_api_servers() {
    let socket = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let mut routes = ServiceRoutes::default();
    routes.add_address(&format!("default/boats=127.0.0.1:{}", socket.local_addr().unwrap().port())).unwrap();
    let doors = Doors::open(routes).await;
    echo_server(&doors.proxies, socket).await;
    let service = json!({"metadata": {"name": "boats"}, "spec": {"ports": [{"port": 443}]}});
    doors.create("/api/v1/namespaces/default/services", &service).await;
    let spec = json!({"group": "boats.example", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
        "service": {"namespace": "default", "name": "boats"}, "insecureSkipTLSVerify": true});
    let boats = json!({"metadata": {"name": "v1.boats.example"}, "spec": spec});
    doors.create("/apis/apiregistration.k8s.io/v1/apiservices", &boats).await;
    let is_available = || doors.cluster.registry().extensions().iter().any(|extension| extension.is_available);
    let waiting = async {
        while !is_available() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), waiting).await.unwrap();

    let user = doors.users.client("jane", &["system:masters"]).unwrap();
    let mut stream = connect(doors.address, &doors.users, Some(&user)).await;
    let request = format!(
        "GET /apis/boats.example/v1/namespaces/default/boats/red/exec HTTP/1.1\r\nHost: localhost\r\n\
         Connection: Upgrade\r\nUpgrade: echo\r\n{CAPTAIN}\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let answered = head(&mut stream).await;
    assert!(answered.starts_with("HTTP/1.1 101 "), "{answered}");
    for said in ["ahoy", "and a bottle"] {
        stream.write_all(said.as_bytes()).await.unwrap();
        let mut heard = vec![0; said.len()];
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(heard, said.as_bytes());
    }
}

#[tokio::test]
async fn a_request_of_http_1_names_one_host_as_go_wants_it() {
    let doors = Doors::open(ServiceRoutes::default()).await;
    assert_eq!(doors.taken_for(None, "Host: other\r\n").await, Err("400".to_owned()));
    let mut stream = connect(doors.address, &doors.users, None).await;
    stream.write_all(b"GET /version HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("missing required Host header"), "{answer}");
}
