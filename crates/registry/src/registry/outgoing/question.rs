use std::sync::Arc;
use std::time::Duration;

use super::ServiceAddress;

/// How its certificate is verified.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// One that stands behind these authorities, PEM; behind those of the machine if they are empty.
    Authorities(Arc<[u8]>),
    /// Anybody's. In Kubernetes: `insecureSkipTLSVerify`.
    Anybody,
}

/// A GET request of the API server itself to an extension API server.
#[derive(Clone, Debug)]
pub struct ExtensionRequest {
    /// The extension API server.
    pub to: ServiceAddress,
    /// How its certificate is verified.
    pub trust: Trust,
    /// The path of the document.
    pub path: String,
    /// The accepted media types.
    pub accept: &'static str,
    /// The `ETag` of the cached document; empty without one.
    pub etag: String,
    /// The timeout of the whole request.
    pub timeout: Duration,
}

impl ExtensionRequest {
    /// The URL, as messages quote it.
    pub fn url(&self) -> String {
        format!("https://{}:{}{}", self.to.server_name(), self.to.port, self.path)
    }
}
