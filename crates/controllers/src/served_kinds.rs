//! Which kinds the server serves; discovery runs again whenever objects that define kinds change.

use std::sync::Arc;
use std::time::Duration;

use coracle_client::{ApiResource, Client};
use coracle_controller_runtime::Process;
use coracle_meta::GroupVersionResource;
use tokio::sync::Notify;
use tokio::time::sleep;

/// The delay after a changed definition, until it is served, and after a failed discovery.
const PAUSE: Duration = Duration::from_secs(1);
/// The kinds of objects that define kinds.
const DEFINITIONS: [(&str, &str); 2] =
    [("apiextensions.k8s.io", "customresourcedefinitions"), ("apiregistration.k8s.io", "apiservices")];

/// The kinds that the server serves.
///
/// In Kubernetes: the calls of `GetDeletableResources` and `GetQuotableResources` every 30 s. Unlike Kubernetes:
/// discovery runs only when a definition changes.
#[derive(Debug)]
pub(crate) struct ServedKinds {
    client: Client,
    redefined: Arc<Notify>,
}

impl ServedKinds {
    /// The kinds, for the controller `actor`.
    pub(crate) fn new(process: &Process, actor: &str) -> Self {
        let redefined = Arc::new(Notify::new());
        for (group, resource) in DEFINITIONS {
            let redefined = redefined.clone();
            let resource = GroupVersionResource::new(group, "v1", resource);
            process.informers.on_metadata(&resource, &process.actor(actor), move |_, _| redefined.notify_one());
        }
        Self { client: process.client.clone(), redefined }
    }

    /// Runs discovery until it succeeds.
    pub(crate) async fn now(&self) -> Vec<ApiResource> {
        loop {
            match self.client.discover().await {
                Ok(resources) => return resources,
                Err(error) => tracing::debug!(%error, "the kinds are not known"),
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until the kinds may have changed.
    pub(crate) async fn changed(&self) {
        self.redefined.notified().await;
        sleep(PAUSE).await;
    }
}
