use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle_registry::{Answer, Call};
use http::header::{CONTENT_TYPE, HOST, HeaderValue};
use http_body_util::Full;
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use rustls::CertificateError;
use rustls::pki_types::ServerName;

use super::callee_certificates::client_config;

/// How many sorts of callee keep connections. In Kubernetes: `defaultCacheSize`.
const KEPT_CLIENTS: usize = 200;

/// Calls over HTTPS, with connections that are kept.
#[derive(Default)]
pub(crate) struct HttpsCalls {
    clients: Mutex<BTreeMap<Trust, HttpsClient>>,
}

type HttpsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// What a callee has to show, and what may be spoken with it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Trust {
    authorities: Arc<[u8]>,
    /// The name in the certificate, if that is not the host of the URL.
    server_name: Option<String>,
    speaks_http2: bool,
}

impl HttpsCalls {
    /// Sends a call to `origin`, and says in Go's words why there is no answer.
    pub(crate) async fn post(
        &self,
        origin: &str,
        path: &str,
        server_name: Option<String>,
        call: &Call,
    ) -> Result<Answer, String> {
        let timeout = call.timeout.as_secs_f64().ceil();
        let request = http::Request::post(format!("{origin}{path}?timeout={timeout}s"))
            .header(CONTENT_TYPE, "application/json")
            .header("Accept", "application/json, */*")
            .header("User-Agent", "kube-apiserver-admission");
        let mut request = request.body(Full::new(call.body.clone())).map_err(|error| error.to_string())?;
        if let Some(name) = &server_name {
            let name = HeaderValue::try_from(name.as_str()).map_err(|error| error.to_string())?;
            request.headers_mut().insert(HOST, name);
        }
        let host = request.uri().host().unwrap_or("").to_owned();
        let address = format!("{host}:{}", request.uri().port_u16().unwrap_or(443));
        // Programs behind a load balancer would all be called over one connection.
        let speaks_http2 = server_name.is_none() && is_loopback(&host);
        let client = self.client(Trust { authorities: Arc::clone(&call.authorities), server_name, speaks_http2 })?;
        let answer = client.request(request).await.map_err(|error| why(&error, &address))?;
        crate::call_answer::read(answer).await
    }

    fn client(&self, trust: Trust) -> Result<HttpsClient, String> {
        if let Some(client) = self.clients.lock().get(&trust) {
            return Ok(client.clone());
        }
        let client = client(&trust)?;
        let mut clients = self.clients.lock();
        if clients.len() >= KEPT_CLIENTS {
            clients.clear();
        }
        Ok(clients.entry(trust).or_insert(client).clone())
    }
}

fn client(trust: &Trust) -> Result<HttpsClient, String> {
    let mut tls = client_config(&trust.authorities)?;
    let protocols: &[&[u8]] = if trust.speaks_http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    tls.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let names: Arc<dyn ResolveServerName + Send + Sync> = match trust.server_name.clone() {
        Some(name) => {
            Arc::new(FixedServerNameResolver::new(ServerName::try_from(name).map_err(|why| why.to_string())?))
        }
        None => Arc::new(DefaultServerNameResolver::default()),
    };
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let connector = HttpsConnector::new(tcp, tls, true, names);
    Ok(Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(90))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .build(connector))
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Why nobody answered at `address`, as Go's HTTP client says it.
fn why(error: &(dyn std::error::Error + 'static), address: &str) -> String {
    let mut cause = Some(error);
    let mut last = error.to_string();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return tls_text(error);
        }
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            if let Some(error) = io.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                return tls_text(error);
            }
            match io.kind() {
                std::io::ErrorKind::ConnectionRefused => {
                    return format!("dial tcp {address}: connect: connection refused");
                }
                std::io::ErrorKind::UnexpectedEof => return "EOF".to_owned(),
                std::io::ErrorKind::ConnectionReset => return "connection reset by peer".to_owned(),
                _ => {}
            }
        }
        last = error.to_string();
        cause = error.source();
    }
    last
}

fn tls_text(error: &rustls::Error) -> String {
    let what = match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "x509: certificate signed by unknown authority".to_owned()
        }
        rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => "x509: certificate has expired or is not yet valid".to_owned(),
        rustls::Error::InvalidCertificate(other) => format!("x509: {other}"),
        other => return format!("tls: {other}"),
    };
    format!("tls: failed to verify certificate: {what}")
}
