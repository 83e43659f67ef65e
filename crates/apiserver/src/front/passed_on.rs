use std::sync::Arc;

use coracle_registry::{Extension, Registry};
use http::Uri;
use http::request::Parts;
use hyper::upgrade::OnUpgrade;

use crate::front::peer_address::PeerAddress;
use crate::front::request_info::RequestInfo;
use crate::front::upgrade::is_upgrade;

/// The parts of a request that only forwarded requests need.
pub(crate) struct PassedOn {
    pub(crate) extension: Arc<Extension>,
    pub(crate) uri: Uri,
    /// The address of the client, if the request came over a socket.
    pub(crate) peer: Option<PeerAddress>,
    /// The client's connection, if the client requests an upgrade.
    pub(crate) connection: Option<OnUpgrade>,
}

impl PassedOn {
    /// These parts, if an extension API server serves the request.
    pub(crate) fn read(registry: &Registry, info: &RequestInfo, parts: &mut Parts) -> Option<Self> {
        let extension = answers_for(registry, info)?;
        let connection = if is_upgrade(&parts.headers) { parts.extensions.remove::<OnUpgrade>() } else { None };
        let peer = parts.extensions.get::<PeerAddress>().copied();
        Some(Self { extension, uri: parts.uri.clone(), peer, connection })
    }

    /// Whether the response may be a stream in both directions.
    pub(crate) fn is_upgrade(&self) -> bool {
        self.connection.is_some()
    }
}

/// The extension API server that serves the request, if any.
fn answers_for(registry: &Registry, info: &RequestInfo) -> Option<Arc<Extension>> {
    let extensions = registry.extensions();
    if let Some(asked) = &info.resource {
        return extensions.of(&asked.at.resource.group, &asked.at.resource.version).cloned();
    }
    match info.path.trim_matches('/').split('/').collect::<Vec<_>>().as_slice() {
        ["apis", group, version, ..] => extensions.of(group, version).cloned(),
        ["openapi", "v3", "apis", group, version] => {
            extensions.of(group, version).filter(|extension| !extension.documents.openapi_v3.is_empty()).cloned()
        }
        _ => None,
    }
}
