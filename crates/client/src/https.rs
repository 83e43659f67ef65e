use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_tls::ServerVerifier;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, Uri};
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tower::Service;

use crate::connections::{Connections, Dialing, Io, Protocol};
use crate::kubeconfig::{Kubeconfig, KubeconfigError};
use crate::{Body, BoxError, ResponseBody};

/// Sends requests to a server over HTTPS (or HTTP, for such a URL): a tower service for
/// [`Client::new`](crate::Client::new). Uses HTTP/2 if the server supports it. Connections are reused and shared, and
/// another one is opened when the existing ones allow no more requests.
#[derive(Clone)]
pub struct Https {
    connections: Connections,
    server: Uri,
    authorization: Option<HeaderValue>,
}

impl fmt::Debug for Https {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Https").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Https {
    pub(crate) fn new(config: &Kubeconfig) -> Result<Self, KubeconfigError> {
        let server: Uri = config.server.parse().map_err(KubeconfigError::unusable)?;
        if !matches!(server.scheme_str(), Some("http" | "https")) || server.host().is_none() {
            let why = format_args!("{:?} is not the URL of a server", config.server).to_string();
            return Err(KubeconfigError::Unusable { why });
        }
        let (connector, to) = (connector(config)?, server.clone());
        let connections = Connections::new(move || dial(connector.clone(), to.clone()));
        Ok(Self { connections, server, authorization: authorization(config)? })
    }

    /// The request for the wire: with the server's address and the caller's credentials.
    fn addressed(&self, request: Request<Body>) -> Result<Request<Body>, BoxError> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let base = self.server.path().trim_end_matches('/');
        parts.uri = Uri::builder()
            .scheme(self.server.scheme_str().unwrap_or("https"))
            .authority(self.server.authority().map_or("", |authority| authority.as_str()))
            .path_and_query(format!("{base}{path}"))
            .build()?;
        if let Some(authorization) = &self.authorization {
            parts.headers.insert(AUTHORIZATION, authorization.clone());
        }
        Ok(Request::from_parts(parts, body))
    }
}

impl Service<Request<Body>> for Https {
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let addressed = self.addressed(request);
        let connections = self.connections.clone();
        Box::pin(async move { connections.send(addressed?).await })
    }
}

/// Connects, and returns the negotiated protocol.
fn dial(mut connector: HttpsConnector<HttpConnector>, server: Uri) -> Dialing {
    Box::pin(async move {
        let io = connector.call(server).await?;
        let protocol = if io.connected().is_negotiated_h2() { Protocol::Http2 } else { Protocol::Http1 };
        Ok((Box::new(io) as Box<dyn Io>, protocol))
    })
}

fn connector(config: &Kubeconfig) -> Result<HttpsConnector<HttpConnector>, KubeconfigError> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let server_name: Arc<dyn ResolveServerName + Send + Sync> = match config.tls_server_name.clone() {
        Some(name) => {
            let name = ServerName::try_from(name).map_err(KubeconfigError::unusable)?;
            Arc::new(FixedServerNameResolver::new(name))
        }
        None => Arc::new(DefaultServerNameResolver::default()),
    };
    Ok(HttpsConnector::new(tcp, tls_config(config)?, false, server_name))
}

impl Kubeconfig {
    /// A service that sends requests to the server; for [`Client::new`](crate::Client::new).
    pub fn connect(&self) -> Result<Https, KubeconfigError> {
        Https::new(self)
    }
}

fn authorization(config: &Kubeconfig) -> Result<Option<HeaderValue>, KubeconfigError> {
    let text = match (&config.token, &config.basic) {
        (Some(token), _) => format!("Bearer {token}"),
        (None, Some((name, password))) => format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))),
        (None, None) => return Ok(None),
    };
    let mut value = HeaderValue::try_from(text).map_err(KubeconfigError::unusable)?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn tls_config(config: &Kubeconfig) -> Result<ClientConfig, KubeconfigError> {
    let builder = coracle_tls::client_config(verifier(config)?).map_err(KubeconfigError::unusable)?;
    let mut tls = match &config.client_certificate {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = coracle_tls::private_key(key).map_err(KubeconfigError::unusable)?;
            let chain = coracle_tls::certificates(certificate).map_err(KubeconfigError::unusable)?;
            builder.with_client_auth_cert(chain, key).map_err(KubeconfigError::unusable)?
        }
    };
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}

fn verifier(config: &Kubeconfig) -> Result<ServerVerifier, KubeconfigError> {
    match &config.certificate_authority {
        Some(authority) => ServerVerifier::signed_by(authority).map_err(KubeconfigError::unusable),
        // Without a certificate authority no TLS server is trusted, unless the file disables verification.
        None if config.insecure_skip_tls_verify => Ok(ServerVerifier::accept_any()),
        None => Ok(ServerVerifier::refuse_all("the kubeconfig names no certificate authority")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;

    fn config(server: &str) -> Kubeconfig {
        Kubeconfig { server: server.to_owned(), token: Some("t".to_owned()), ..Kubeconfig::default() }
    }

    #[test]
    fn requests_go_below_the_servers_path_with_the_callers_token() {
        let https = Https::new(&config("https://host:6443/prefix/")).unwrap();
        let request = Request::builder().uri("/api/v1/pods?watch=true").body(Full::default()).unwrap();
        let request = https.addressed(request).unwrap();
        assert_eq!(request.uri(), "https://host:6443/prefix/api/v1/pods?watch=true");
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer t");
    }

    #[test]
    fn a_server_without_scheme_or_with_a_bad_certificate_is_refused() {
        assert!(Https::new(&config("localhost:6443")).is_err());
        let bad = Kubeconfig {
            client_certificate: Some((b"not pem".to_vec(), b"not pem".to_vec())),
            ..config("https://host")
        };
        assert!(Https::new(&bad).is_err());
    }
}
