use std::net::SocketAddr;
use std::pin::pin;

use coracle_etcd::{Face, FaceOptions};
use futures_util::future::{Either, select};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::{Error, OpenStore};

/// A socket that speaks etcd's protocol over a store.
pub struct StoreListener {
    socket: TcpListener,
}

impl StoreListener {
    /// Listens at a URL such as `http://127.0.0.1:2379`; port 0 takes a free one.
    ///
    /// # Errors
    /// If the URL is not one of plain HTTP with an address, or the address cannot be listened at.
    pub async fn bind(url: &str) -> Result<Self, Error> {
        let Some(address) = url.strip_prefix("http://") else {
            return Err(Error::Options(format!("`{url}` is not http://ADDRESS:PORT; a store is not served over TLS")));
        };
        let address = address.trim_end_matches('/').replace("localhost", "127.0.0.1");
        let address: SocketAddr = address
            .parse()
            .map_err(|_| Error::Options(format!("`{url}` names no address and port, as in http://127.0.0.1:2379")))?;
        let socket = TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })?;
        Ok(Self { socket })
    }

    /// Where it listens, as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.socket.local_addr().expect("a bound socket has an address"))
    }

    /// Serves until `shutdown`, saying of itself what `options` say; connections then end at once.
    pub async fn serve(self, store: &OpenStore, options: FaceOptions, shutdown: impl Future<Output = ()>) {
        let face = Face::new(store.store.clone(), options);
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
                    let _ = stream.set_nodelay(true);
                    let face = face.clone();
                    // A connection that breaks is the client's affair.
                    connections.spawn(async move { drop(face.serve_connection(stream).await) });
                }
                // Out of file descriptors, say: those who are connected go on, and a place may come free.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        }
    }
}
