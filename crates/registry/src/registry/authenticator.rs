use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::Status;

use crate::{Registry, User};

/// What a request shows to prove who sent it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The token of `Authorization: Bearer`.
    pub bearer_token: Option<String>,
    /// The client's certificates in DER, its own first, already verified against the client authority by the listener.
    pub certificates: Vec<Vec<u8>>,
    /// For whom the proof has to be meant; empty for this server. In Kubernetes: `WithAudiences`.
    pub audiences: Vec<String>,
}

/// Who an authenticator says is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// The user, without the group of all authenticated users.
    pub user: Arc<User>,
    /// Of those for whom it has to be meant, for whom the credential is meant; empty if it does not say.
    pub audiences: Vec<String>,
    /// What whoever is asking should know of the credential.
    pub warnings: Vec<String>,
}

/// Says who is asking. In Kubernetes: `authenticator.Request`.
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// The user whom the credentials prove; `None` if they are none of this authenticator's.
    ///
    /// # Errors
    /// A Status with code 401 if they are its own and are not valid, whose message says why (for a review, not for the
    /// asker).
    async fn authenticate(
        &self,
        registry: &Registry,
        credentials: &Credentials,
    ) -> Result<Option<Authenticated>, Status>;
}
