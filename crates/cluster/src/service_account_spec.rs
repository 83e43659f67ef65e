use coracle_auth::{IssuerSpec, TokenLifetimes};

/// How tokens of service accounts are signed and verified.
#[derive(Clone, Debug)]
pub struct ServiceAccountSpec {
    /// Who issues them, and by which keys.
    pub issuer: IssuerSpec,
    /// How long they last.
    pub lifetimes: TokenLifetimes,
    /// `--service-account-jwks-uri`: where others find the keys, if not at this server.
    pub jwks_uri: Option<String>,
}

impl Default for ServiceAccountSpec {
    fn default() -> Self {
        let names = vec!["https://kubernetes.default.svc".to_owned()];
        Self {
            issuer: IssuerSpec { names, ..IssuerSpec::default() },
            lifetimes: TokenLifetimes::default(),
            jwks_uri: None,
        }
    }
}
