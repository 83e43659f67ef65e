use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::Status;

use crate::{Registry, User};

/// The credentials of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The token of `Authorization: Bearer`.
    pub bearer_token: Option<String>,
    /// The client's certificates in DER, its own first, already verified against the client authority by the listener.
    pub certificates: Vec<Vec<u8>>,
    /// The audiences of which the credential must have one; empty for the API server's own. In Kubernetes:
    /// `WithAudiences`.
    pub audiences: Vec<String>,
}

/// The result of a successful authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// The user, without the group of all authenticated users.
    pub user: Arc<User>,
    /// Those of the requested audiences that the credential has; empty if it has no audiences.
    pub audiences: Vec<String>,
    /// Warnings about the credential for the client.
    pub warnings: Vec<String>,
}

/// Authenticates requests. In Kubernetes: `authenticator.Request`.
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// The user of the credentials; `None` if this authenticator is not responsible for them.
    ///
    /// # Errors
    /// A Status with code 401 if the authenticator is responsible for the credentials and they are invalid. Its message
    /// has the reason, which a TokenReview returns and the response to a request does not.
    async fn authenticate(
        &self,
        registry: &Registry,
        credentials: &Credentials,
    ) -> Result<Option<Authenticated>, Status>;
}
