use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry};

/// Asks one authenticator after the other. In Kubernetes: `union.NewFailOnError` and `union.New`.
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
    /// The first user that one of them finds. If none finds one and some refuse, the first refusal counts.
    async fn authenticate(
        &self,
        registry: &Registry,
        credentials: &Credentials,
    ) -> Result<Option<Authenticated>, Status> {
        let mut refused = None;
        for authenticator in &self.all {
            match authenticator.authenticate(registry, credentials).await {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(status) if status.code == 401 => refused = refused.or(Some(status)),
                Err(status) => return Err(status),
            }
        }
        refused.map_or(Ok(None), Err)
    }
}
