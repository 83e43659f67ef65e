use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry};

use crate::aggregate::joined;
use crate::invalidated::refused;

/// Asks one authenticator after the other, those who answer at once first. In Kubernetes: `union.New`.
#[derive(Clone)]
pub struct Authenticators {
    all: Vec<Arc<dyn Authenticator>>,
}

impl Authenticators {
    /// Asks these, in this order.
    pub fn new(all: Vec<Arc<dyn Authenticator>>) -> Self {
        Self { all }
    }
}

#[async_trait]
impl Authenticator for Authenticators {
    /// The first user that one of them finds. If none finds one and some refuse or could not say, a 401 with what all of
    /// these said.
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
        match said.is_empty() {
            true => Ok(None),
            false => Err(refused(&joined(&said))),
        }
    }
}
