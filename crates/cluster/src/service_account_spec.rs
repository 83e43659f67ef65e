use coracle_auth::{IssuerSpec, TokenLifetimes};

/// The configuration of service account tokens.
#[derive(Clone, Debug)]
pub struct ServiceAccountSpec {
    /// The issuers and keys.
    pub issuer: IssuerSpec,
    /// The lifetimes.
    pub lifetimes: TokenLifetimes,
    /// `--service-account-jwks-uri`: the URL of the keys for clients, if this API server does not serve them.
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
