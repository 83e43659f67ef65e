use std::sync::Arc;
use std::time::Duration;

use super::ServiceAddress;

/// Whose certificate is believed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// One that stands behind these authorities, PEM; behind those of the machine if they are empty.
    Authorities(Arc<[u8]>),
    /// Anybody's. In Kubernetes: `insecureSkipTLSVerify`.
    Anybody,
}

/// What the server asks an extension API server on its own behalf: one GET.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who is asked.
    pub to: ServiceAddress,
    /// Whose certificate is believed.
    pub trust: Trust,
    /// The path of the document.
    pub path: String,
    /// The forms in which it is understood.
    pub accept: &'static str,
    /// The `ETag` of the document that is known; empty if there is none.
    pub etag: String,
    /// How long the whole question may take.
    pub timeout: Duration,
}

impl Question {
    /// The whole address, as messages quote it.
    pub fn url(&self) -> String {
        format!("https://{}:{}{}", self.to.server_name(), self.to.port, self.path)
    }
}
