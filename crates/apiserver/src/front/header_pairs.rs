use http::{HeaderMap, HeaderValue};

/// Headers for a test: a name may be there several times, and values need not be text.
pub(super) fn headers(pairs: &[(&'static str, &[u8])]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, HeaderValue::from_bytes(value).unwrap());
    }
    headers
}
