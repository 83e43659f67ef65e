use std::borrow::Cow;
use std::collections::BTreeSet;

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Version, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use sha1::{Digest, Sha1};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;
pub(crate) use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
pub(crate) use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};

/// RFC 6455 appends this to the client's key.
const ACCEPT_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A valid request for a WebSocket over HTTP/1.
///
/// The extractor of axum does the same, but it depends on the sockets of tokio, which not every platform has.
pub(crate) struct WebSocketUpgrade {
    key: HeaderValue,
    /// The protocols that the client offers.
    offered: BTreeSet<HeaderValue>,
    /// The protocol in the response.
    chosen: Option<HeaderValue>,
    connection: OnUpgrade,
}

impl WebSocketUpgrade {
    /// The upgrade that a request's head asks for; `None` if the head violates RFC 6455.
    pub(crate) fn new(head: &Parts, connection: OnUpgrade) -> Option<Self> {
        let headers = &head.headers;
        let is_valid = head.version <= Version::HTTP_11
            && head.method == Method::GET
            && value_of(headers, &header::CONNECTION).contains("upgrade")
            && value_of(headers, &header::UPGRADE) == "websocket"
            && value_of(headers, &header::SEC_WEBSOCKET_VERSION) == "13";
        let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_valid)?.clone();
        Some(Self { key, offered: offered(headers), chosen: None, connection })
    }

    /// Chooses the first of these protocols that the client offers.
    pub(crate) fn protocols(mut self, preferred: impl IntoIterator<Item = &'static str>) -> Self {
        let chosen = preferred.into_iter().map(HeaderValue::from_static).find(|known| self.offered.contains(known));
        self.chosen = chosen;
        self
    }

    /// The response that accepts the upgrade. `talk` runs in a task of its own when the client has received it. If the
    /// connection ends before, `talk` does not run.
    pub(crate) fn on_upgrade<F>(self, talk: impl FnOnce(WebSocket) -> F + Send + 'static) -> Response<Body>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let connection = self.connection;
        tokio::spawn(async move {
            if let Ok(upgraded) = connection.await {
                let stream = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
                talk(WebSocket(stream)).await;
            }
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept(&self.key));
        if let Some(chosen) = self.chosen {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, chosen);
        }
        response
    }
}

/// The messages on an upgraded connection.
pub(crate) struct WebSocket(WebSocketStream<TokioIo<Upgraded>>);

impl WebSocket {
    /// The next message of the client; `None` at the end, and also after an error.
    pub(crate) async fn recv(&mut self) -> Option<Message> {
        self.0.next().await?.ok()
    }

    /// Sends a message; `None` if the client does not take it.
    pub(crate) async fn send(&mut self, message: Message) -> Option<()> {
        self.0.send(message).await.ok()
    }
}

/// The first value of a header in lower case; empty if it is missing or not ASCII.
fn value_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Cow<'a, str> {
    let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    value.to_ascii_lowercase().into()
}

fn offered(headers: &HeaderMap) -> BTreeSet<HeaderValue> {
    let values = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let protocols = values.flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
    protocols.filter_map(|protocol| HeaderValue::from_bytes(protocol.trim_ascii()).ok()).collect()
}

/// The proof that the server has read the client's key.
fn accept(key: &HeaderValue) -> HeaderValue {
    let digest = Sha1::new().chain_update(key).chain_update(ACCEPT_SUFFIX).finalize();
    HeaderValue::try_from(STANDARD.encode(digest)).expect("base64 is valid in a header")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_rfc_gets_the_answer_of_the_rfc() {
        let key = HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(accept(&key), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_request_that_violates_the_rfc_is_no_upgrade() {
        let valid = || {
            http::Request::get("/")
                .header("connection", "keep-alive, Upgrade")
                .header("upgrade", "WebSocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        };
        let is_upgrade = |request: http::request::Builder| {
            let mut request = request.body(()).unwrap();
            let connection = hyper::upgrade::on(&mut request);
            WebSocketUpgrade::new(&request.into_parts().0, connection).is_some()
        };
        assert!(is_upgrade(valid()));
        assert!(is_upgrade(valid().version(Version::HTTP_10)));
        assert!(!is_upgrade(valid().method(Method::POST)));
        assert!(!is_upgrade(valid().version(Version::HTTP_2)));
        for missing in ["connection", "upgrade", "sec-websocket-version", "sec-websocket-key"] {
            let mut request = valid();
            request.headers_mut().unwrap().remove(missing);
            assert!(!is_upgrade(request), "{missing}");
        }
    }

    #[test]
    fn the_server_prefers_by_its_own_list() {
        let mut headers = HeaderMap::new();
        headers.append(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("b, a"));
        headers.append(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("c"));
        let mut request = http::Request::new(());
        let connection = hyper::upgrade::on(&mut request);
        let key = HeaderValue::from_static("");
        let upgrade = WebSocketUpgrade { key, offered: offered(&headers), chosen: None, connection };
        let upgrade = upgrade.protocols(["d", "c", "a"]);
        assert_eq!(upgrade.chosen.as_ref().unwrap(), "c");
        assert_eq!(upgrade.protocols(["d"]).chosen, None);
    }
}
