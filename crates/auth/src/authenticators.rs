use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry};

use crate::aggregate::joined;
use crate::invalidated::refused;

/// Calls one authenticator after the other, those without I/O first. In Kubernetes: `union.New`.
#[derive(Clone)]
pub struct Authenticators {
    all: Vec<Arc<dyn Authenticator>>,
}

impl Authenticators {
    /// The authenticators in the order of calls.
    pub fn new(all: Vec<Arc<dyn Authenticator>>) -> Self {
        Self { all }
    }
}

#[async_trait]
impl Authenticator for Authenticators {
    /// The user of the first authenticator that returns one. If none does and some failed, a 401 with all their errors.
    async fn authenticate(
        &self,
        registry: &Registry,
        credentials: &Credentials,
    ) -> Result<Option<Authenticated>, Status> {
        let mut said = Vec::new();
        for authenticator in &self.all {
            match authenticator.authenticate(registry, credentials).await {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(status) => said.push(status.message),
            }
        }
        if said.is_empty() { Ok(None) } else { Err(refused(&joined(&said))) }
    }
}
