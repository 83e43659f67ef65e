//! Which kinds the server serves.

use coracle_client::{ApiResource, Client, Error};
use coracle_meta::{GroupVersionKind, GroupVersionResource, Scope};
use parking_lot::Mutex;

/// The resources that were found last.
#[derive(Debug, Default)]
pub(crate) struct Repertoire {
    known: Mutex<Vec<ApiResource>>,
}

impl Repertoire {
    /// Asks the server.
    pub(crate) async fn read(&self, client: &Client) -> Result<(), Error> {
        let found = client.discover().await?;
        *self.known.lock() = found;
        Ok(())
    }

    /// The resource of a kind, if it was found.
    pub(crate) fn known(&self, kind: &GroupVersionKind) -> Option<(GroupVersionResource, Scope)> {
        let known = self.known.lock();
        known.iter().find(|found| found.kind == *kind).map(|found| (found.resource.clone(), found.scope))
    }

    /// The resource of a kind; the server is asked again if it was not found before.
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
