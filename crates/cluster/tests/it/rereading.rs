//! Certificates, authorities and tokens that are replaced on disk, while the server runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{ApiServerOptions, CertificateFile, Cluster};
use coracle_pki::Authority;
use coracle_secure_serving::{Listener, ServingCertificates};
use coracle_tls::{Identity, OldestTls};
use http::Request;
use http_body_util::Full;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client};
use tower::ServiceExt;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("coracle-rereading-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        // As those replace files who mean others to read whole ones.
        let aside = self.path("aside");
        std::fs::write(&aside, text).unwrap();
        std::fs::rename(aside, self.path(name)).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn certificate_file(path: &Path) -> CertificateFile {
    CertificateFile::File(path.to_owned())
}

fn certificate(identity: &Identity) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()
}

/// Connects, believing in all these authorities.
async fn connect(to: SocketAddr, believed: &[&Authority], shown: Option<&Identity>) -> client::TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    for authority in believed {
        roots.add(CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    let config = match shown {
        None => config.with_no_client_auth(),
        Some(shown) => {
            let key = PrivateKeyDer::from_pem_slice(shown.key.as_bytes()).unwrap();
            config.with_client_auth_cert(vec![certificate(shown)], key).unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, TcpStream::connect(to).await.unwrap()).await.unwrap()
}

/// What the server says to `GET /api`: a code, or nothing if it does not believe the certificate that is shown.
async fn code(mut stream: client::TlsStream<TcpStream>) -> Option<String> {
    stream.write_all(b"GET /api HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.ok()?;
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    answer.split(' ').nth(1).map(str::to_owned)
}

async fn open(certificates: ServingCertificates) -> (SocketAddr, Cluster) {
    let spec = ApiServerOptions { anonymous_auth: false, ..ApiServerOptions::default() };
    let cluster = Cluster::builder().api_server(spec).api_server_only().start().await.unwrap();
    let listener = Listener::bind(([127, 0, 0, 1], 0).into(), certificates, OldestTls::default()).await.unwrap();
    let address = listener.address();
    tokio::spawn(listener.serve(cluster.front_door(), std::future::pending()));
    (address, cluster)
}

#[tokio::test]
async fn a_certificate_that_is_replaced_is_what_the_next_handshake_shows_once_its_key_is_there_too() {
    let folder = Folder::new("serving");
    let authority = Authority::new().unwrap();
    let server = || authority.server(&["localhost".to_owned()], &[]).unwrap();
    let (before, after) = (server(), server());
    folder.write("tls.crt", &before.certificate);
    folder.write("tls.key", &before.key);
    let papers = ServingCertificates {
        certificate: certificate_file(&folder.path("tls.crt")),
        key: certificate_file(&folder.path("tls.key")),
        client_authority: authority.certificate().into(),
        front_proxy_authority: None,
    };
    let (address, _cluster) = open(papers).await;
    let shows = async || {
        let stream = connect(address, &[&authority], None).await;
        let chain = stream.get_ref().1.peer_certificates().unwrap();
        chain[0].clone().into_owned()
    };
    assert_eq!(shows().await, certificate(&before));
    let old_connection = connect(address, &[&authority], None).await;
    folder.write("tls.crt", &after.certificate[..after.certificate.len() / 2]);
    assert_eq!(shows().await, certificate(&before), "half a file is of no use");
    folder.write("tls.crt", &after.certificate);
    assert_eq!(shows().await, certificate(&before), "it is not the key's");
    folder.write("tls.key", &after.key);
    assert_eq!(shows().await, certificate(&after));
    assert_eq!(code(old_connection).await.as_deref(), Some("401"), "who is connected stays so");
}

#[tokio::test]
async fn an_authority_that_is_replaced_decides_at_the_next_handshake_who_is_let_in() {
    let folder = Folder::new("authority");
    let (old, new, serving) = (Authority::new().unwrap(), Authority::new().unwrap(), Authority::new().unwrap());
    folder.write("ca.crt", old.certificate());
    let identity = serving.server(&["localhost".to_owned()], &[]).unwrap();
    let (address, _cluster) = open(ServingCertificates::of(identity, certificate_file(&folder.path("ca.crt")))).await;
    let of_old = old.client("ann", &["system:masters"]).unwrap();
    let of_new = new.client("bob", &["system:masters"]).unwrap();
    let taken = async |shown: &Identity| code(connect(address, &[&serving], Some(shown)).await).await;
    assert_eq!(taken(&of_old).await.as_deref(), Some("200"));
    assert_eq!(taken(&of_new).await, None);
    folder.write("ca.crt", &format!("{}\n{}", old.certificate(), new.certificate()));
    assert_eq!(taken(&of_old).await.as_deref(), Some("200"));
    assert_eq!(taken(&of_new).await.as_deref(), Some("200"));
    folder.write("ca.crt", new.certificate());
    assert_eq!(taken(&of_old).await, None);
    assert_eq!(taken(&of_new).await.as_deref(), Some("200"));
}

#[tokio::test(start_paused = true)]
async fn a_token_removed_from_the_file_is_refused_a_second_later() {
    let folder = Folder::new("tokens");
    folder.write("tokens.csv", "one,ann,u1,system:masters\n");
    let spec = ApiServerOptions { token_auth_file: Some(folder.path("tokens.csv")), ..ApiServerOptions::default() };
    let cluster = Cluster::builder().api_server(spec).api_server_only().start().await.unwrap();
    let code = async |token: &str| {
        let request = Request::get("/api/v1/secrets").header("authorization", format!("Bearer {token}"));
        let request = request.body(Full::<bytes::Bytes>::default()).unwrap();
        cluster.front_door().oneshot(request).await.unwrap().status().as_u16()
    };
    assert_eq!((code("one").await, code("two").await), (200, 401));
    folder.write("tokens.csv", "two,bob,u2,system:masters\n");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((code("one").await, code("two").await), (401, 200));
    folder.write("tokens.csv", "two,bob,u2,\"system:mas");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((code("one").await, code("two").await), (401, 200), "a file of no use changes nothing");
}
