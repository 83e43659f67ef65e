/// Where requests without credentials are accepted, as requests of `system:anonymous`.
///
/// In Kubernetes: `--anonymous-auth`, which is off with the mode `AlwaysAllow`.
/// Unlike Kubernetes: with that mode, health and version are available without credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// Everywhere.
    #[default]
    Everywhere,
    /// At the paths of health and version.
    HealthAndVersion,
    /// Nowhere.
    Nowhere,
}

impl Anonymous {
    /// Whether a request for `path` is accepted.
    pub(crate) fn lets_in(self, path: &str) -> bool {
        match self {
            Self::Everywhere => true,
            Self::HealthAndVersion => ["healthz", "livez", "readyz", "version"].contains(&first_step(path)),
            Self::Nowhere => false,
        }
    }
}

fn first_step(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_health_and_version_give_access_to_nothing_else() {
        let lets_in = |path| Anonymous::HealthAndVersion.lets_in(path);
        assert!(["/healthz", "/readyz/ping", "/version", "/livez"].into_iter().all(lets_in));
        assert!(!["/", "/api", "/versions", "/metrics", "/apis/version", "/api/v1/secrets"].into_iter().any(lets_in));
        assert!(!Anonymous::Nowhere.lets_in("/healthz"));
    }
}
