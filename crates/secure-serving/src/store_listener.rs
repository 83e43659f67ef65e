use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_etcd::{Face, FaceOptions};
use coracle_store::Store;
use coracle_tls::{ClientCertificates, Identity, OldestTls, server_config};
use futures_util::future::{Either, select};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::error::Error;

/// The timeout of a TLS handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// The TLS configuration of a store.
#[derive(Clone, Debug)]
pub struct StoreTls {
    /// Its certificate and key. In etcd: `--cert-file`, `--key-file`.
    pub identity: Identity,
    /// The certificate authority of clients (PEM); without it, clients need no certificate.
    /// In etcd: `--trusted-ca-file`.
    pub client_authority: Option<String>,
}

/// A socket for etcd's protocol over a store.
pub struct StoreListener {
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
}

impl StoreListener {
    /// Listens on a URL such as `http://127.0.0.1:2379`; port 0 for a free one. A URL with `https` needs `tls`.
    ///
    /// # Errors
    /// If the URL has no address and port, or has `https` without `tls`, a certificate or key is unusable, or the
    /// address is not available.
    pub async fn bind(url: &str, tls: Option<&StoreTls>) -> Result<Self, Error> {
        let (address, tls) = match (url.strip_prefix("http://"), url.strip_prefix("https://"), tls) {
            (Some(address), ..) => (address, None),
            (_, Some(address), Some(tls)) => (address, Some(acceptor(tls)?)),
            (_, Some(_), None) => return Err(Error::Url(format!("`{url}` needs a certificate and its key"))),
            (None, None, _) => {
                return Err(Error::Url(format!("`{url}` is neither http://ADDRESS:PORT nor https://ADDRESS:PORT")));
            }
        };
        let address = address.trim_end_matches('/').replace("localhost", "127.0.0.1");
        let address: SocketAddr = address
            .parse()
            .map_err(|_| Error::Url(format!("`{url}` names no address and port, as in http://127.0.0.1:2379")))?;
        let socket = TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })?;
        Ok(Self { socket, tls })
    }

    /// The listening URL.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.socket.local_addr().expect("a bound socket has an address"))
    }

    /// Serves until `shutdown`, saying of itself what `options` say; connections then end at once.
    pub async fn serve(self, store: Arc<dyn Store>, options: FaceOptions, shutdown: impl Future<Output = ()>) {
        let face = Face::new(store, options);
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            let accepted = match select(shutdown.as_mut(), pin!(self.socket.accept())).await {
                Either::Left(_) => return,
                Either::Right((accepted, _)) => accepted,
            };
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, self.tls.clone(), face.clone()));
                }
                // For example out of file descriptors: existing connections continue, and a descriptor may become free.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

/// Serves one connection to its end. A broken connection or a failed handshake is not an error of the server.
async fn connection(stream: TcpStream, tls: Option<TlsAcceptor>, face: Face) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => drop(face.serve_connection(stream).await),
        Some(tls) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, tls.accept(stream)).await {
                drop(face.serve_connection(stream).await);
            }
        }
    }
}

fn acceptor(tls: &StoreTls) -> Result<TlsAcceptor, Error> {
    let clients =
        tls.client_authority.as_deref().map_or(ClientCertificates::NotRequested, ClientCertificates::Required);
    let config = server_config(&tls.identity, clients, OldestTls::default()).map_err(Error::Certificate)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
