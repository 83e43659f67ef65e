use http::HeaderMap;

/// Whether the client has this version of the document.
pub(crate) fn matches(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(http::header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|known| known.trim().trim_start_matches("W/") == etag)
}
