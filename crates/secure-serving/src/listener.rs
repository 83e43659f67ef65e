use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_apiserver::{FrontProxy, PeerAddress, PeerCertificates};
use coracle_dynamic_certificates::FileWatcher;
use coracle_handover::{Body, BoxError};
use coracle_tls::OldestTls;
use futures_util::future::{Either, ready, select};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

use crate::error::Error;
use crate::first_bytes::FirstBytes;
use crate::host_header;
use crate::serving_certificates::{ClientAuth, ServingCertificates, TlsConfig};

/// The timeout for the TLS handshake and for the headers of a request.
const PATIENCE: Duration = Duration::from_secs(32);
/// The grace period of connections at shutdown. Watches end at once.
const GRACE: Duration = Duration::from_secs(5);

type BoxService = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// A socket for HTTP/1.1 and HTTP/2 over TLS, with client certificates.
pub struct Listener {
    socket: TcpListener,
    tls_config: Arc<FileWatcher<TlsConfig>>,
}

impl Listener {
    /// Listens on `address`; port 0 for a free one. Clients can present a certificate of the client authority, and
    /// front proxies one of theirs.
    ///
    /// # Errors
    /// If a certificate cannot be read, or the address is not available.
    pub async fn bind(
        address: SocketAddr,
        certificates: ServingCertificates,
        oldest_tls: OldestTls,
    ) -> Result<Self, Error> {
        Self::bind_for(ClientAuth::CutOff, address, certificates, oldest_tls).await
    }

    /// Listens on `address`; a certificate of an unknown authority counts as no certificate.
    ///
    /// # Errors
    /// If a certificate cannot be read, or the address is not available.
    pub async fn bind_for_kubelet(
        address: SocketAddr,
        certificates: ServingCertificates,
        oldest_tls: OldestTls,
    ) -> Result<Self, Error> {
        Self::bind_for(ClientAuth::Unknown, address, certificates, oldest_tls).await
    }

    async fn bind_for(
        client_auth: ClientAuth,
        address: SocketAddr,
        certificates: ServingCertificates,
        oldest_tls: OldestTls,
    ) -> Result<Self, Error> {
        let tls_config = Arc::new(certificates.open(oldest_tls, client_auth)?);
        let socket = TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })?;
        Ok(Self { socket, tls_config })
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("a bound socket has an address")
    }

    /// Serves until `shutdown`, then lets the requests in flight end.
    pub async fn serve<S>(self, service: S, shutdown: impl Future<Output = ()>)
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        let service = BoxCloneSyncService::new(service);
        let connections = GracefulShutdown::new();
        let mut shutdown = pin!(shutdown);
        loop {
            let accepted = match select(shutdown.as_mut(), pin!(self.socket.accept())).await {
                Either::Left(_) => break,
                Either::Right((accepted, _)) => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let peer = PeerAddress(peer.ip());
                    let tls_config = Arc::clone(&self.tls_config);
                    tokio::spawn(connection(stream, peer, tls_config, service.clone(), connections.watcher()));
                }
                // For example out of file descriptors: existing connections continue, and a descriptor may become free.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
        drop(self.socket);
        let _ = tokio::time::timeout(GRACE, connections.shutdown()).await;
    }
}

async fn connection(
    stream: TcpStream,
    peer: PeerAddress,
    tls_config: Arc<FileWatcher<TlsConfig>>,
    service: BoxService,
    watcher: Watcher,
) {
    let _ = stream.set_nodelay(true);
    let config = tls_config.current();
    let tls = TlsAcceptor::from(Arc::clone(&config.tls));
    let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, tls.accept(stream)).await else { return };
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let (is_client, front_proxy) = config.authorities.of(chain);
    let chain: Vec<Vec<u8>> = chain.iter().filter(|_| is_client).map(|certificate| certificate.to_vec()).collect();
    let answer = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        if !chain.is_empty() {
            request.extensions_mut().insert(PeerCertificates(chain.clone()));
        }
        if let Some(proxy) = &front_proxy {
            request.extensions_mut().insert(FrontProxy(proxy.clone()));
        }
        respond(request, service.clone())
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(Some(1000)).keep_alive_interval(Some(PATIENCE));
    let served = builder.serve_connection_with_upgrades(TokioIo::new(FirstBytes::within(PATIENCE, stream)), answer);
    // A broken connection is not an error of the server.
    let _ = watcher.watch(served.into_owned()).await;
}

/// The response to a request whose host header is correct; a refusal to another.
fn respond(
    request: Request<Body>,
    service: BoxService,
) -> impl Future<Output = Result<Response<Body>, BoxError>> + Send + use<> {
    match host_header::refusal(request.version(), request.method(), request.headers()) {
        Some(refusal) => Either::Left(ready(Ok(refusal))),
        None => Either::Right(service.oneshot(request)),
    }
}
