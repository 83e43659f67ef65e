use std::fmt;
use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, Uri, header};

/// The secret in a link, which protects the page from other clients.
#[derive(Clone)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// A secret with these characters, which the caller draws from the system's randomness and which can stand in a
    /// path.
    ///
    /// # Panics
    /// If there are fewer than 32, or one of them is neither a letter nor a digit.
    pub fn new(text: String) -> Self {
        assert!(text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()), "32 letters and digits");
        Self(text)
    }

    /// The link to the page at this address. This is the only place that exposes the secret.
    pub fn link(&self, address: SocketAddr) -> String {
        let ip = match address {
            // A server that listens on all addresses is reachable at the loopback address.
            SocketAddr::V4(all) if all.ip().is_unspecified() => [127, 0, 0, 1].into(),
            SocketAddr::V6(all) if all.ip().is_unspecified() => [0, 0, 0, 0, 0, 0, 0, 1].into(),
            one => one.ip(),
        };
        format!("http://{}/{}/", SocketAddr::new(ip, address.port()), self.0)
    }

    /// Compares in constant time.
    fn is(&self, shown: &str) -> bool {
        let differences = self.0.bytes().zip(shown.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
        self.0.len() == shown.len() && differences == 0
    }
}

/// Checks access: a request needs the secret, and the server's own address in its `Host`.
///
/// A foreign page can make a browser send requests to this server. With a host name that resolves to this server (DNS
/// rebinding) it could even read the response. The `Origin` or `Host` header of such a request shows it.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) secret: Secret,
    /// The address on which the server listens.
    pub(super) address: SocketAddr,
}

impl Guard {
    /// The path behind the secret; `None` if access is denied.
    pub(super) fn admitted<'u>(&self, uri: &'u Uri, headers: &HeaderMap) -> Option<&'u str> {
        let (shown, path) = uri.path().strip_prefix('/')?.split_once('/')?;
        let host = only(headers, &header::HOST)?;
        let is_of_own_page = if headers.contains_key(header::ORIGIN) {
            only(headers, &header::ORIGIN)?.strip_prefix("http://").is_some_and(|origin| self.is_own(origin))
        } else {
            true
        };
        let is_called_right = self.is_own(host) && uri.authority().is_none_or(|called| self.is_own(called.as_str()));
        (self.secret.is(shown) && is_called_right && is_of_own_page).then_some(path)
    }

    /// Whether `host:port` is this server: an address, or `localhost`, which cannot resolve to another host.
    fn is_own(&self, called: &str) -> bool {
        let (ip, port) = (self.address.ip(), self.address.port());
        let has_port = called.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let called = if port == 80 && !has_port { format!("{called}:80") } else { called.to_owned() };
        match called.parse::<SocketAddr>() {
            Ok(called) => called.port() == port && (called.ip() == ip || ip.is_unspecified()),
            Err(_) => called == format!("localhost:{port}") && (ip.is_loopback() || ip.is_unspecified()),
        }
    }
}

/// A header that occurs exactly once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut found = headers.get_all(name).iter();
    let first = found.next()?.to_str().ok()?;
    found.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn admitted(address: &str, uri: &str, headers: &[(&'static str, &str)]) -> Option<String> {
        let guard = Guard { secret: Secret::new(SECRET.to_owned()), address: address.parse().unwrap() };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        guard.admitted(&uri.parse().unwrap(), &map).map(str::to_owned)
    }

    #[test]
    fn requests_with_the_secret_and_the_servers_own_host_are_accepted() {
        let page = format!("/{SECRET}/");
        let at = "127.0.0.1:4000";
        for host in [at, "localhost:4000"] {
            assert_eq!(admitted(at, &page, &[("host", host)]).as_deref(), Some(""));
            let origin = format!("http://{host}");
            assert_eq!(
                admitted(at, &format!("{page}events"), &[("host", host), ("origin", &origin)]).unwrap(),
                "events"
            );
        }
        assert!(admitted("[::1]:4000", &page, &[("host", "[::1]:4000")]).is_some());
        assert!(admitted("0.0.0.0:4000", &page, &[("host", "10.1.2.3:4000")]).is_some());
        assert!(admitted("127.0.0.1:80", &page, &[("host", "127.0.0.1")]).is_some());
        assert!(admitted("[::1]:80", &page, &[("host", "[::1]")]).is_some());
    }

    #[test]
    fn requests_without_the_secret_are_refused() {
        let page = format!("/{SECRET}/");
        let at = "127.0.0.1:4000";
        let refused: [(&str, &[(&'static str, &str)]); 13] = [
            (&page, &[]),
            (&page, &[("host", "127.0.0.1")]),
            (&page, &[("host", "127.0.0.1:4001")]),
            (&page, &[("host", "10.1.2.3:4000")]),
            (&page, &[("host", "evil.example:4000")]),
            (&page, &[("host", "localhost.evil.example:4000")]),
            (&page, &[("host", at), ("host", at)]),
            (&page, &[("host", at), ("origin", "http://evil.example")]),
            (&page, &[("host", at), ("origin", "null")]),
            (&page, &[("host", at), ("origin", "https://127.0.0.1:4000")]),
            ("/0123456789abcdef0123456789abcdeF/", &[("host", at)]),
            ("/0123456789abcdef/", &[("host", at)]),
            ("/", &[("host", at)]),
        ];
        for (uri, headers) in refused {
            assert_eq!(admitted(at, uri, headers), None, "{uri} {headers:?}");
        }
        assert_eq!(admitted(at, &format!("http://evil.example:4000{page}"), &[("host", at)]), None);
        assert_eq!(admitted("0.0.0.0:4000", &page, &[("host", "evil.example:4000")]), None, "a name may lead anywhere");
    }

    #[test]
    fn the_secret_is_only_in_the_link() {
        let secret = Secret::new(SECRET.to_owned());
        assert_eq!(secret.link("0.0.0.0:9".parse().unwrap()), format!("http://127.0.0.1:9/{SECRET}/"));
        assert!(!format!("{secret:?}").contains("0123"));
    }
}
