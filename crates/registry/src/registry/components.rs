//! How the components besides the API server are, for `componentstatuses`.

use std::time::Duration;

use coracle_meta::go_quote;

use super::{Answer, Registry};

/// Whether a component runs, by its name.
pub(crate) type Components = Box<dyn Fn(&str) -> bool + Send + Sync>;

impl Registry {
    /// Sets who knows which components run in the same process; once. Without it, components are asked over the network.
    pub fn set_components(&self, runs: impl Fn(&str) -> bool + Send + Sync + 'static) {
        // As with authorizers, the first stays.
        let _ = self.inner.components.set(Box::new(runs));
    }

    /// Whether a component (`scheduler`, `controller-manager`) runs in the same process; `None` if it would run elsewhere.
    pub fn component_runs(&self, name: &str) -> Option<bool> {
        self.inner.components.get().map(|runs| runs(name))
    }

    /// Asks a component on this machine how it is, at `origin` and `path`, within `patience`.
    ///
    /// # Errors
    /// Why there is no answer, as Go's HTTP client says it.
    pub async fn probe(&self, origin: &str, path: &str, patience: Duration) -> Result<Answer, String> {
        let why = |why: &str| format!("Get {}: {why}", go_quote(&format!("{origin}{path}")));
        let Some(outgoing) = self.outgoing() else { return Err(why("the API server has no way out")) };
        match tokio::time::timeout(patience, outgoing.probe(origin, path)).await {
            Ok(answer) => answer.map_err(|error| why(&error)),
            Err(_) => Err(why("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")),
        }
    }
}
