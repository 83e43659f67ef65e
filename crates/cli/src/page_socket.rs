//! The listener of the page: at loopback unless an address is set, with a secret in its link.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result};
use coracle_viewer::serve::{PageHandler, Secret, ServedPage, serve_pages};
use tokio::net::TcpListener;

use crate::output::note;
use crate::random::random_letters;

/// The default address of a page: loopback, with a free port.
pub(crate) const LOOPBACK: &str = "127.0.0.1:0";

/// A listener, and the secret that requests must contain.
pub(crate) struct PageSocket {
    listener: TcpListener,
    secret: Secret,
    address: SocketAddr,
}

/// Parses a listen address: `127.0.0.1`, `127.0.0.1:8000`, `[::1]:8000`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let ip = || text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0));
    text.parse()
        .or_else(|_| ip())
        .map_err(|_| "expected an address with or without a port, as in 127.0.0.1:8000".to_owned())
}

impl PageSocket {
    /// Listens; prints a note if other machines can connect.
    pub(crate) async fn bind(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen at {address}"))?;
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            note!(
                "note: the page is served at {address}, which is not loopback, and without TLS: who has the link, or sees it pass, sees all that happens"
            );
        }
        Ok(Self { listener, secret: Secret::new(random_letters()?), address })
    }

    /// Listens at the address that was asked for. Without one, listens at `usual`, or at a free port of loopback if that
    /// address is in use.
    pub(crate) async fn bind_or_free(asked: Option<SocketAddr>, usual: &str) -> Result<Self> {
        if let Some(address) = asked {
            return Self::bind(address).await;
        }
        match Self::bind(usual.parse()?).await {
            Ok(socket) => Ok(socket),
            Err(_) => Self::bind(LOOPBACK.parse()?).await,
        }
    }

    /// The link to the page.
    pub(crate) fn link(&self) -> String {
        self.secret.link(self.address)
    }

    /// Serves a site until the future is dropped.
    pub(crate) async fn serve_pages(self, site: Arc<impl PageHandler>) {
        let Err(error) = serve_pages(site, self.listener, self.secret).await;
        note!("coracle: the site is served no longer: {error}");
    }

    /// Serves a page until the future is dropped.
    pub(crate) async fn serve(self, site: ServedPage) {
        let Err(error) = site.serve(self.listener, self.secret).await;
        note!("coracle: the page is served no longer: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_or_gets_one() {
        assert_eq!(address("127.0.0.1").unwrap(), "127.0.0.1:0".parse().unwrap());
        assert_eq!(address("[::1]:80").unwrap(), "[::1]:80".parse().unwrap());
        assert_eq!(address("::1").unwrap(), "[::1]:0".parse().unwrap());
        assert!(address(LOOPBACK).unwrap().ip().is_loopback());
        assert!(address("localhost").unwrap_err().contains("expected an address"));
    }
}
