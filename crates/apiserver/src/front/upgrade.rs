use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use http::header;
use http::request::Parts;
use hyper::upgrade::OnUpgrade;

/// The other end of a connection that its client wants to become another.
pub(crate) enum Upgrade {
    /// A WebSocket.
    WebSocket(WebSocketUpgrade),
    /// SPDY/3.1, for remote commands of clients that know nothing newer.
    Spdy(OnUpgrade),
}

impl Upgrade {
    /// What the client wants; `None` where it wants nothing that is known here, or there is no connection to make it of.
    pub(crate) async fn read(parts: &mut Parts) -> Option<Self> {
        let wanted = parts.headers.get(header::UPGRADE)?.as_bytes();
        if wanted.eq_ignore_ascii_case(b"websocket") {
            return WebSocketUpgrade::from_request_parts(parts, &()).await.ok().map(Self::WebSocket);
        }
        let is_spdy = wanted.eq_ignore_ascii_case(b"SPDY/3.1");
        parts.extensions.remove::<OnUpgrade>().filter(|_| is_spdy).map(Self::Spdy)
    }

    /// A WebSocket, if that is what is wanted.
    pub(crate) fn web_socket(self) -> Option<WebSocketUpgrade> {
        match self {
            Self::WebSocket(upgrade) => Some(upgrade),
            Self::Spdy(_) => None,
        }
    }
}
