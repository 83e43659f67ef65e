//! Which resource serves a kind, for owners and scale targets, which name only the kind.

use std::sync::Arc;

use coracle_client::{ApiResource, Client, Error};
use parking_lot::Mutex;

/// The served kinds, as of the last lookup that failed.
///
/// In Kubernetes: `DeferredDiscoveryRESTMapper`.
#[derive(Debug, Default)]
pub(crate) struct ScaledKinds {
    known: Mutex<Arc<[ApiResource]>>,
}

impl ScaledKinds {
    /// The resources that serve a kind, the preferred version first. Discovery runs only for an unknown kind.
    pub(crate) async fn of(&self, client: &Client, group: &str, kind: &str) -> Result<Vec<ApiResource>, Error> {
        let known = self.known.lock().clone();
        let found = serving(&known, group, kind);
        if !found.is_empty() {
            return Ok(found);
        }
        let known: Arc<[ApiResource]> = client.discover().await?.into();
        *self.known.lock() = known.clone();
        Ok(serving(&known, group, kind))
    }
}

fn serving(known: &[ApiResource], group: &str, kind: &str) -> Vec<ApiResource> {
    let mut found: Vec<_> = known
        .iter()
        .filter(|found| found.resource.group == group && found.kind.kind == kind && found.supports(&["get"]))
        .cloned()
        .collect();
    found.sort_by_key(|found| !found.preferred);
    found
}
