use bytes::Bytes;
use coracle_handover::Body;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Version, header};
use http_body_util::Full;

/// What answers a request whose `Host` headers are wrong, in place of the API; the connection ends with the answer.
///
/// In Kubernetes: `readRequest` of Go's `net/http/server.go`.
pub(crate) fn refusal(version: Version, method: &Method, headers: &HeaderMap) -> Option<Response<Body>> {
    wrong_host(version, method, headers).map(response)
}

fn response(text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::new(Bytes::from_static(text.as_bytes()))));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The error of the `Host` headers of a request, in Go's words. HTTP/2 sends the host differently.
fn wrong_host(version: Version, method: &Method, headers: &HeaderMap) -> Option<&'static str> {
    if version > Version::HTTP_11 {
        return None;
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => Some("400 Bad Request"),
        (None, _) if version == Version::HTTP_11 && method != Method::CONNECT => {
            Some("400 Bad Request: missing required Host header")
        }
        (Some(host), None) if !host.as_bytes().iter().all(|byte| is_host_byte(*byte)) => {
            Some("400 Bad Request: malformed Host header")
        }
        _ => None,
    }
}

/// Whether a byte is valid in a host. In Kubernetes: `httpguts.ValidHostHeader`.
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$%&()*+,-.:;=['~]_".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_valid_host_header_is_required_as_in_go() {
        let (get, connect) = (Method::GET, Method::CONNECT);
        let (old, new, newest) = (Version::HTTP_10, Version::HTTP_11, Version::HTTP_2);
        let (missing, malformed) =
            ("400 Bad Request: missing required Host header", "400 Bad Request: malformed Host header");
        for (version, method, hosts, wrong) in [
            (new, &get, &["a"][..], None),
            (new, &get, &["[::1]:6443"], None),
            (new, &get, &[""], None),
            (new, &get, &["a", "b"], Some("400 Bad Request")),
            (old, &get, &["a", "a"], Some("400 Bad Request")),
            (new, &get, &[], Some(missing)),
            (new, &connect, &[], None),
            (old, &get, &[], None),
            (newest, &get, &[], None),
            (new, &get, &["a b"], Some(malformed)),
            (new, &get, &["a/b"], Some(malformed)),
            (new, &get, &["a<b"], Some(malformed)),
            (new, &get, &["a\u{e9}"], Some(malformed)),
        ] {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, HeaderValue::from_bytes(host.as_bytes()).unwrap());
            }
            assert_eq!(wrong_host(version, method, &headers), wrong, "{version:?} {method} {hosts:?}");
        }
    }
}
