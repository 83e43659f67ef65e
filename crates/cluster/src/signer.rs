use coracle_auth::Issuer;
use coracle_controllers::SignsTokens;
use serde_json::Value;

/// Lets controllers sign with the keys of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    issuer: Issuer,
}

impl Signer {
    /// A signer with the keys of this issuer.
    pub(crate) fn of(issuer: &Issuer) -> Self {
        Self { issuer: issuer.clone() }
    }
}

impl SignsTokens for Signer {
    fn sign(&self, claims: &Value) -> Result<String, String> {
        self.issuer.sign(claims).map_err(|error| error.to_string())
    }
}
