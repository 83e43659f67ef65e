//! Keys that controllers sign with, and do not have: whoever runs the controllers gives them.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// Signs tokens of service accounts.
pub trait SignsTokens: fmt::Debug + Send + Sync {
    /// A token with these claims, or why there is none.
    fn sign(&self, claims: &Value) -> Result<String, String>;
}

/// The key of the tokens of service accounts. In Kubernetes: `--service-account-private-key-file`.
#[derive(Clone, Debug)]
pub struct TokenKey(Arc<dyn SignsTokens>);

impl TokenKey {
    /// The key that signs like this.
    pub fn new(signer: Arc<dyn SignsTokens>) -> Self {
        Self(signer)
    }

    pub(crate) fn sign(&self, claims: &Value) -> Result<String, String> {
        self.0.sign(claims)
    }
}

/// Keys are the same if they are one.
impl PartialEq for TokenKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
