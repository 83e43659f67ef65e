//! The health of components other than the API server, for `componentstatuses`.

use std::time::Duration;

use coracle_meta::go_quote;

use super::{OutgoingResponse, Registry};

/// Knows which components run in the process of the API server.
pub trait RunningComponents: Send + Sync {
    /// Whether the component `name` (`scheduler`, `controller-manager`) runs now.
    fn is_running(&self, name: &str) -> bool;
}

impl Registry {
    /// Whether a component (`scheduler`, `controller-manager`) runs in the same process; `None` if this process does not
    /// know and must ask over the network.
    pub fn component_runs(&self, name: &str) -> Option<bool> {
        self.inner.components.as_ref().map(|components| components.is_running(name))
    }

    /// Probes the health of a component on this machine, at `origin` and `path`, within `patience`.
    ///
    /// # Errors
    /// Why there is no response, in the words of Go's HTTP client.
    pub async fn probe(&self, origin: &str, path: &str, patience: Duration) -> Result<OutgoingResponse, String> {
        let why = |why: &str| format!("Get {}: {why}", go_quote(&format!("{origin}{path}")));
        let Some(outgoing) = self.outgoing() else { return Err(why("the API server has no way out")) };
        match tokio::time::timeout(patience, outgoing.probe(origin, path)).await {
            Ok(answer) => answer.map_err(|error| why(&error)),
            Err(_) => Err(why("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")),
        }
    }
}
