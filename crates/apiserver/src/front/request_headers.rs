use std::collections::BTreeMap;

use coracle_meta::Status;
use coracle_registry::User;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::query::{Plus, percent_decode};

/// The common name of a client certificate of the front proxies' authority. The TLS listener puts it into the
/// extensions of each request.
#[derive(Clone, Debug)]
pub struct FrontProxy(pub String);

/// The headers with which a front proxy sends the user. In Kubernetes: the flags `--requestheader-*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeaders {
    /// The common names of front proxies; empty to accept every certificate of their authority.
    pub allowed_names: Vec<String>,
    /// The headers of the user name; the first one that is present counts.
    pub username_headers: Vec<String>,
    /// The headers of the uid.
    pub uid_headers: Vec<String>,
    /// The headers of groups, with one group each.
    pub group_headers: Vec<String>,
    /// The prefixes of the headers of extra attributes; the rest of the header name is the key.
    pub extra_headers_prefix: Vec<String>,
}

impl Default for RequestHeaders {
    /// The headers that Kubernetes' API servers use by default.
    fn default() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        Self {
            allowed_names: Vec::new(),
            username_headers: one("X-Remote-User"),
            uid_headers: one("X-Remote-Uid"),
            group_headers: one("X-Remote-Group"),
            extra_headers_prefix: one("X-Remote-Extra-"),
        }
    }
}

impl RequestHeaders {
    /// The user in the headers of a front proxy, if they name one.
    ///
    /// # Errors
    /// 401 if the proxy is not allowed, or a value is not UTF-8, because a replacement character would make it another
    /// user's. Unlike Kubernetes, where a value can have any bytes.
    pub(crate) fn user(&self, proxy: &FrontProxy, headers: &HeaderMap) -> Result<Option<User>, Status> {
        let all = |names: &[String]| -> Result<Vec<String>, Status> {
            let values = names.iter().flat_map(|name| headers.get_all(name));
            values.filter(|value| !value.is_empty()).map(text).collect()
        };
        // The first value of a header counts, and the first of several headers that has a value.
        let first = |names: &[String]| {
            let mut values = names.iter().filter_map(|name| headers.get(name)).filter(|value| !value.is_empty());
            values.next().map(text).transpose()
        };
        let Some(name) = first(&self.username_headers)? else { return Ok(None) };
        if !self.allowed_names.is_empty() && !self.allowed_names.contains(&proxy.0) {
            return Err(Status::unauthorized());
        }
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (header, value) in headers {
            let keys = self.extra_headers_prefix.iter().filter_map(|prefix| key_after(header, prefix));
            for key in keys {
                extra.entry(percent_decode(key, Plus::IsItself)).or_default().push(text(value)?);
            }
        }
        let uid = first(&self.uid_headers)?.unwrap_or_default();
        Ok(Some(User { name, uid, groups: all(&self.group_headers)?, extra }))
    }

    /// Whether a header contains a part of the identity.
    pub(crate) fn is_one(&self, header: &HeaderName) -> bool {
        let names = [&self.username_headers, &self.uid_headers, &self.group_headers];
        let is_name = names.into_iter().flatten().any(|name| header.as_str().eq_ignore_ascii_case(name));
        is_name || self.extra_headers_prefix.iter().any(|prefix| key_after(header, prefix).is_some())
    }
}

fn text(value: &HeaderValue) -> Result<String, Status> {
    std::str::from_utf8(value.as_bytes()).map(str::to_owned).map_err(|_| Status::unauthorized())
}

fn key_after<'h>(header: &'h HeaderName, prefix: &str) -> Option<&'h str> {
    let (start, key) = header.as_str().split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_proxy_says_who_asks_if_it_is_one_of_those_who_may() {
        let mut headers = HeaderMap::new();
        headers.append("x-remote-group", HeaderValue::from_static("a"));
        headers.append("x-remote-group", HeaderValue::from_static("b"));
        headers.append("x-remote-extra-example.com%2fship", HeaderValue::from_static("red"));
        let (rules, proxy) = (RequestHeaders::default(), FrontProxy("proxy".to_owned()));
        assert_eq!(rules.user(&proxy, &headers).unwrap(), None, "without a name nobody is spoken of");
        headers.append("x-remote-user", HeaderValue::from_static("captain"));
        let user = rules.user(&proxy, &headers).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.groups.len()), ("captain", 2));
        assert_eq!(user.extra["example.com/ship"], ["red"]);
        let others = RequestHeaders { allowed_names: vec!["other".to_owned()], ..rules };
        assert_eq!(others.user(&proxy, &headers).unwrap_err().code, 401);
    }

    #[test]
    fn headers_of_a_front_proxy_are_utf_8_or_refused() {
        let (rules, proxy) = (RequestHeaders::default(), FrontProxy("proxy".to_owned()));
        let of_all = ["x-remote-user", "x-remote-uid", "x-remote-group", "x-remote-extra-scope"];
        let mut headers = HeaderMap::new();
        for name in of_all {
            headers.insert(name, HeaderValue::from_bytes("jürgen".as_bytes()).unwrap());
        }
        let user = rules.user(&proxy, &headers).unwrap().unwrap();
        assert_eq!(
            (user.name.as_str(), user.uid.as_str(), user.groups.as_slice()),
            ("jürgen", "jürgen", &["jürgen".to_owned()][..])
        );
        assert_eq!(user.extra["scope"], ["jürgen"]);
        for name in of_all {
            let mut headers = headers.clone();
            headers.insert(name, HeaderValue::from_bytes(b"j\xfcrgen").unwrap());
            assert_eq!(rules.user(&proxy, &headers).unwrap_err().code, 401, "{name}");
        }
    }
}
