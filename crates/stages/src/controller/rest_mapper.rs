//! Maps kinds to the resources that the server serves. In client-go: `RESTMapper`.

use coracle_client::{ApiResource, Client, Error};
use coracle_meta::{GroupVersionKind, GroupVersionResource, Scope};
use parking_lot::Mutex;

/// The resources of the last discovery.
#[derive(Debug, Default)]
pub(crate) struct RestMapper {
    known: Mutex<Vec<ApiResource>>,
}

impl RestMapper {
    /// Runs a discovery.
    pub(crate) async fn read(&self, client: &Client) -> Result<(), Error> {
        let found = client.discover().await?;
        *self.known.lock() = found;
        Ok(())
    }

    /// The resource of a kind, if the last discovery found it.
    pub(crate) fn known(&self, kind: &GroupVersionKind) -> Option<(GroupVersionResource, Scope)> {
        let known = self.known.lock();
        known.iter().find(|found| found.kind == *kind).map(|found| (found.resource.clone(), found.scope))
    }

    /// The resource of a kind; runs a discovery if the last one did not find it.
    pub(crate) async fn find(
        &self,
        client: &Client,
        kind: &GroupVersionKind,
    ) -> Result<Option<(GroupVersionResource, Scope)>, Error> {
        if let Some(known) = self.known(kind) {
            return Ok(Some(known));
        }
        self.read(client).await?;
        Ok(self.known(kind))
    }
}
