/// The beginning of all paths of the control endpoint.
pub const PREFIX: &str = "/coracle/v1";

/// The first part of a path below [`PREFIX`], and the rest.
pub(crate) fn parts(path: &str) -> (&str, &str) {
    let path = path.trim_matches('/');
    path.split_once('/').unwrap_or((path, ""))
}
