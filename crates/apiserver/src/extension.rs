//! Proxies requests for groups and versions that an extension API server serves.
//!
//! In Kubernetes: `proxyHandler` of kube-aggregator, with `UpgradeAwareHandler` and `NewAuthProxyRoundTripper`.

use axum::body::Body;
use coracle_meta::percent;
use coracle_registry::User;
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Request, Response, StatusCode};

use crate::answer::respond;
use crate::extension_transport::Unreachable;
use crate::front::passed_on::PassedOn;
use crate::front::peer_address::PeerAddress;
use crate::front::received::Received;
use crate::server::ApiServer;

/// The header with the addresses of the proxies of a request.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// Forwards a request, and streams the response back.
pub(crate) async fn serve(server: &ApiServer, received: Received, passed_on: PassedOn, body: Body) -> Response<Body> {
    let PassedOn { extension, uri, peer, connection } = passed_on;
    if !extension.is_available {
        return unavailable("service unavailable");
    }
    let is_upgrade = connection.is_some();
    let headers = match headers(server, &received, peer, is_upgrade) {
        Ok(headers) => headers,
        Err(why) => return respond::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")),
    };
    let mut request = Request::new(body);
    *request.method_mut() = received.method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    if let Some(connection) = connection {
        request.extensions_mut().insert(connection);
    }
    match server.extensions.call(&server.registry, &extension, request).await {
        Ok(response) => answer(response, is_upgrade),
        Err(Unreachable::Unresolved(_)) => unavailable("service unavailable"),
        Err(Unreachable::NoAnswer(why)) if is_upgrade => unavailable(&why),
        Err(Unreachable::NoAnswer(why)) => unavailable(&format!("error trying to reach service: {why}")),
    }
}

fn unavailable(why: &str) -> Response<Body> {
    respond::text(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"))
}

/// The extension API server's response as the client gets it.
fn answer(mut response: Response<Body>, is_upgrade: bool) -> Response<Body> {
    let code = response.status();
    if code == StatusCode::SWITCHING_PROTOCOLS && is_upgrade {
        return response;
    }
    if is_upgrade && code.as_u16() < 400 {
        return unavailable(&format!("invalid upgrade response: status code {}", code.as_u16()));
    }
    if code.is_redirection() && response.headers().contains_key(header::LOCATION) {
        let why = "the backend attempted to redirect this request, which is not permitted";
        return respond::text(StatusCode::BAD_GATEWAY, why);
    }
    remove_hops(response.headers_mut());
    response
}

/// The headers for the extension API server: the client's own, with the identity headers replaced by those of this
/// server.
fn headers(
    server: &ApiServer,
    received: &Received,
    peer: Option<PeerAddress>,
    is_upgrade: bool,
) -> Result<HeaderMap, String> {
    let mut headers = received.headers.clone();
    let upgrade = headers.get(header::UPGRADE).cloned();
    remove_hops(&mut headers);
    let host = headers.remove(header::HOST);
    let own = |name: &HeaderName| {
        server.identification.request_headers.as_ref().is_some_and(|headers| headers.is_one(name))
            || *name == header::AUTHORIZATION
            || ["x-remote-", "impersonate-"].iter().any(|of| name.as_str().starts_with(of))
    };
    let own: Vec<HeaderName> = headers.keys().filter(|name| own(name)).cloned().collect();
    for name in own {
        headers.remove(name);
    }
    if let (true, Some(upgrade)) = (is_upgrade, upgrade) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, upgrade);
    }
    if let Ok(id) = HeaderValue::from_str(&received.audit_id) {
        headers.insert("audit-id", id);
    }
    if let Some(PeerAddress(peer)) = peer {
        let before = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let through = before.map(str::to_owned).chain([peer.to_canonical().to_string()]).collect::<Vec<_>>().join(", ");
        if let Ok(through) = HeaderValue::try_from(through) {
            headers.insert(FORWARDED_FOR, through);
        }
    }
    if let Some(host) = host {
        headers.insert("x-forwarded-host", host);
    }
    if let Ok(path) = HeaderValue::from_str(&received.info.path) {
        headers.insert("x-forwarded-uri", path);
    }
    headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
    identify(&mut headers, &received.user)?;
    Ok(headers)
}

/// Sets the identity headers of the user. In Kubernetes: `SetAuthProxyHeaders`.
fn identify(headers: &mut HeaderMap, user: &User) -> Result<(), String> {
    let mut add = |name: &str, value: &str| {
        let wrong = || format!("net/http: invalid header field value for {name:?}");
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| wrong())?;
        headers.append(HeaderName::try_from(name).map_err(|_| wrong())?, value);
        Ok::<_, String>(())
    };
    add("x-remote-user", &user.name)?;
    if !user.uid.is_empty() {
        add("x-remote-uid", &user.uid)?;
    }
    for group in &user.groups {
        add("x-remote-group", group)?;
    }
    for (key, values) in &user.extra {
        for value in values {
            add(&format!("x-remote-extra-{}", percent::header_key(key)), value)?;
        }
    }
    Ok(())
}

/// Removes hop-by-hop headers, including those that the header `Connection` lists.
fn remove_hops(headers: &mut HeaderMap) {
    const HOPS: [&str; 9] = [
        "connection",
        "proxy-connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|value| value.split(','));
    let named: Vec<HeaderName> = named.filter_map(|name| HeaderName::try_from(name.trim()).ok()).collect();
    named.iter().for_each(|name| drop(headers.remove(name)));
    HOPS.iter().for_each(|name| drop(headers.remove(*name)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hop_by_hop_headers_are_not_forwarded() {
        let mut headers = HeaderMap::new();
        headers.insert("connection", HeaderValue::from_static("close, X-Mine"));
        headers.insert("x-mine", HeaderValue::from_static("1"));
        headers.insert("accept", HeaderValue::from_static("*/*"));
        remove_hops(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["accept"]);
    }

    #[test]
    fn a_redirect_is_neither_followed_nor_returned() {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::FOUND;
        response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("https://elsewhere/"));
        let answer = answer(response, false);
        assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
        assert!(!answer.headers().contains_key(header::LOCATION));
    }
}
