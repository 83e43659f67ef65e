use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_dynamic_certificates::{CertificateFileError, FileWatcher};
use coracle_handover::Body;
use coracle_registry::{Caller, OutgoingCall, OutgoingResponse, Trust};
use http::StatusCode;
use http::header::{ACCEPT, HOST, HeaderValue, USER_AGENT};
use http_body_util::Full;
use hyper::upgrade::OnUpgrade;
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::pki_types::ServerName;
use rustls::sign::CertifiedKey;

use crate::call_answer::read_answer;
use crate::call_request::post_request;
use crate::failure::why;
use crate::proxy_client::ProxyClient;
use crate::trust::client_config;

/// The maximum number of cached clients. In Kubernetes: `defaultCacheSize`.
const KEPT_CLIENTS: usize = 200;

/// The timeout of connecting. In Kubernetes: that of Go's `DefaultTransport`.
const DIAL_TIMEOUT: Duration = Duration::from_secs(30);

/// Calls over HTTPS, with connections that are kept.
pub struct HttpsCalls {
    clients: Mutex<BTreeMap<Terms, HttpsClient>>,
    /// The client certificate for extension API servers.
    proxy_client: Option<Arc<Shown>>,
}

type HttpsClient = Client<HttpsConnector<HttpConnector>, Body>;

/// The verification, the credentials and the protocols of calls.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Terms {
    trust: Trust,
    /// The name in the certificate, if it is not the host of the URL.
    server_name: Option<String>,
    is_shown_who_asks: bool,
    /// The credentials for the call, if a kubeconfig file sets them.
    caller: Option<Arc<Caller>>,
    speaks_http2: bool,
}

impl std::fmt::Debug for HttpsCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpsCalls")
    }
}

impl HttpsCalls {
    /// Calls with the client certificate `proxy_client` for extension API servers, if there is one.
    ///
    /// # Errors
    /// If that cannot be read.
    pub fn new(proxy_client: Option<&ProxyClient>) -> Result<Self, CertificateFileError> {
        let proxy_client = proxy_client.map(|ProxyClient { certificate, key }| {
            let files = vec![certificate.clone(), key.clone()];
            let read = |texts: &[String]| certified(texts[0].as_bytes(), texts[1].as_bytes());
            FileWatcher::open(files, Duration::ZERO, read).map(Shown).map(Arc::new)
        });
        Ok(Self { clients: Mutex::default(), proxy_client: proxy_client.transpose()? })
    }

    /// Sends a request to the API server at `origin`. If both sides upgrade, a connection among its extensions is joined
    /// to the other server's.
    pub async fn send(
        &self,
        origin: &str,
        server_name: String,
        trust: &Trust,
        mut request: http::Request<Body>,
    ) -> Result<http::Response<Body>, String> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = format!("{origin}{path}").parse().map_err(|error| format!("parse {origin}: {error}"))?;
        *request.version_mut() = http::Version::HTTP_11;
        let address = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let connection = request.extensions_mut().remove::<OnUpgrade>();
        let client = self.client(Terms {
            trust: trust.clone(),
            server_name: Some(server_name),
            is_shown_who_asks: true,
            caller: None,
            speaks_http2: connection.is_none(),
        })?;
        let mut answer = client.request(request).await.map_err(|error| why(&error, &address))?;
        if let (Some(connection), StatusCode::SWITCHING_PROTOCOLS) = (connection, answer.status()) {
            tokio::spawn(join(connection, hyper::upgrade::on(&mut answer)));
        }
        Ok(answer.map(Body::new))
    }

    /// Sends a call to `origin`, and says in Go's words why there is no answer.
    pub async fn post(
        &self,
        origin: &str,
        path: &str,
        server_name: Option<String>,
        call: &OutgoingCall,
    ) -> Result<OutgoingResponse, String> {
        let timeout = call.timeout.as_secs_f64().ceil();
        let agent = if call.caller.is_some() { "kube-apiserver" } else { "kube-apiserver-admission" };
        let request = post_request(&format!("{origin}{path}?timeout={timeout}s"), call)
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, agent);
        let mut request = request.body(Body::new(Full::new(call.body.clone()))).map_err(|error| error.to_string())?;
        if let Some(name) = &server_name {
            let name = HeaderValue::try_from(name.as_str()).map_err(|error| error.to_string())?;
            request.headers_mut().insert(HOST, name);
        }
        let host = request.uri().host().unwrap_or("").to_owned();
        let address = format!("{host}:{}", request.uri().port_u16().unwrap_or(443));
        // With HTTP/2, all calls to programs behind a load balancer would use one connection.
        let speaks_http2 = server_name.is_none() && (is_loopback(&host) || call.caller.is_some());
        let (trust, caller) = (call.trust.clone(), call.caller.clone());
        let server_name = server_name.or_else(|| caller.as_ref()?.server_name.clone());
        let client = self.client(Terms { trust, server_name, is_shown_who_asks: false, caller, speaks_http2 })?;
        let answer = client.request(request).await.map_err(|error| why(&error, &address))?;
        read_answer(answer).await
    }

    fn client(&self, terms: Terms) -> Result<HttpsClient, String> {
        if let Some(client) = self.clients.lock().get(&terms) {
            return Ok(client.clone());
        }
        let client = client(&terms, self.shown(&terms)?)?;
        let mut clients = self.clients.lock();
        if clients.len() >= KEPT_CLIENTS {
            clients.clear();
        }
        Ok(clients.entry(terms).or_insert(client).clone())
    }
}

impl HttpsCalls {
    /// The client certificate for these terms.
    fn shown(&self, terms: &Terms) -> Result<Option<Arc<dyn ResolvesClientCert>>, String> {
        if terms.is_shown_who_asks {
            return Ok(self.proxy_client.clone().map(|shown| shown as Arc<dyn ResolvesClientCert>));
        }
        let Some((certificate, key)) = terms.caller.as_ref().and_then(|caller| caller.certificate.as_ref()) else {
            return Ok(None);
        };
        let shown = certified(certificate, key)?;
        Ok(Some(Arc::new(Shown(FileWatcher::fixed(shown)))))
    }
}

/// Copies bytes in both directions, until both sides have ended.
async fn join(one: OnUpgrade, other: OnUpgrade) {
    let (Ok(one), Ok(other)) = (one.await, other.await) else { return };
    // A broken connection has no more data.
    let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(one), &mut TokioIo::new(other)).await;
}

fn certified(certificate: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, String> {
    let key = coracle_tls::private_key(key)?;
    let chain = coracle_tls::certificates(certificate)?;
    let certified = CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider());
    certified.map(Arc::new).map_err(|error| error.to_string())
}

fn client(terms: &Terms, shown: Option<Arc<dyn ResolvesClientCert>>) -> Result<HttpsClient, String> {
    let mut tls = client_config(&terms.trust)?;
    if let Some(shown) = shown {
        tls.client_auth_cert_resolver = shown;
    }
    let protocols: &[&[u8]] = if terms.speaks_http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    tls.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let names: Arc<dyn ResolveServerName + Send + Sync> = match terms.server_name.clone() {
        Some(name) => {
            Arc::new(FixedServerNameResolver::new(ServerName::try_from(name).map_err(|why| why.to_string())?))
        }
        None => Arc::new(DefaultServerNameResolver::default()),
    };
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(DIAL_TIMEOUT));
    // A kubeconfig file may name a server without TLS; objects of the API may not.
    let only_https = terms.caller.is_none();
    let connector = HttpsConnector::new(tcp, tls, only_https, names);
    Ok(Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(90))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .build(connector))
}

/// Presents one client certificate on every request for one: the newest in its files.
#[derive(Debug)]
struct Shown(FileWatcher<CertifiedKey>);

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let shown = self.0.current();
        shown.key.choose_scheme(schemes).map(|_| shown)
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}
