use http::request::Parts;
use http::{HeaderMap, Request, header};
use hyper::upgrade::OnUpgrade;

use super::web_socket::WebSocketUpgrade;

/// A connection that its client wants to upgrade.
pub(crate) struct Upgrade {
    /// The request's headers.
    head: Parts,
    connection: OnUpgrade,
}

/// The protocol of an upgraded connection.
pub(crate) enum Opened {
    /// A WebSocket.
    WebSocket(WebSocketUpgrade),
    /// SPDY/3.1, for remote commands of older clients.
    Spdy(OnUpgrade),
}

impl Upgrade {
    /// The requested upgrade; `None` if the client requests none that is supported, or there is no connection.
    pub(crate) fn read(parts: &mut Parts) -> Option<Self> {
        let wanted = parts.headers.get(header::UPGRADE)?.as_bytes();
        let is_known = ["websocket", "SPDY/3.1"].iter().any(|known| wanted.eq_ignore_ascii_case(known.as_bytes()));
        let connection = parts.extensions.remove::<OnUpgrade>().filter(|_| is_known)?;
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = parts.method.clone();
        head.version = parts.version;
        head.headers = parts.headers.clone();
        Some(Self { head, connection })
    }

    /// Whether the client requests a WebSocket.
    fn is_web_socket(&self) -> bool {
        wants_web_socket(&self.head.headers)
    }

    /// The connection itself, for a proxy.
    pub(crate) fn into_connection(self) -> OnUpgrade {
        self.connection
    }

    /// Accepts the upgrade; `None` if the request for it is invalid.
    pub(crate) fn open(self) -> Option<Opened> {
        if !self.is_web_socket() {
            return Some(Opened::Spdy(self.connection));
        }
        WebSocketUpgrade::new(&self.head, self.connection).map(Opened::WebSocket)
    }

    /// A WebSocket, if the client requests one.
    pub(crate) fn web_socket(self) -> Option<WebSocketUpgrade> {
        match self.open()? {
            Opened::WebSocket(upgrade) => Some(upgrade),
            Opened::Spdy(_) => None,
        }
    }
}

/// Whether the client requests an upgrade. In Kubernetes: `httpstream.IsUpgradeRequest`.
pub(super) fn is_upgrade(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    headers.contains_key(header::UPGRADE) && { values }.any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

/// Whether the client requests a WebSocket. In Kubernetes: `wsstream.IsWebSocketRequest`.
pub(super) fn is_web_socket(headers: &HeaderMap) -> bool {
    wants_web_socket(headers) && is_upgrade(headers)
}

fn wants_web_socket(headers: &HeaderMap) -> bool {
    headers.get(header::UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}
