/// The version of Kubernetes that is spoken here, as `/version`, nodes and user agents say it.
pub const KUBERNETES_VERSION: &str = "v1.35.3";

/// The major and the minor number of [`KUBERNETES_VERSION`].
pub fn kubernetes_major_minor() -> (&'static str, &'static str) {
    let numbers = &KUBERNETES_VERSION[1..];
    let (major, rest) = numbers.split_once('.').unwrap_or((numbers, ""));
    (major, rest.split_once('.').map_or(rest, |(minor, _)| minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_version() {
        let (major, minor) = kubernetes_major_minor();
        assert!(KUBERNETES_VERSION.starts_with(&format!("v{major}.{minor}.")));
        assert!(major.parse::<u8>().is_ok() && minor.parse::<u8>().is_ok());
    }
}
