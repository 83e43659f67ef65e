use std::sync::Arc;

use coracle_registry::{Extension, Registry};
use http::Uri;
use http::request::Parts;
use hyper::upgrade::OnUpgrade;

use crate::front::peer_address::PeerAddress;
use crate::front::request_info::RequestInfo;
use crate::front::upgrade::is_upgrade;

/// What is passed on of a request, beside what every request has.
pub(crate) struct PassedOn {
    pub(crate) extension: Arc<Extension>,
    pub(crate) uri: Uri,
    /// From where the request came, if it came over a socket.
    pub(crate) peer: Option<PeerAddress>,
    /// The client's connection, if it wants that to become another.
    pub(crate) connection: Option<OnUpgrade>,
}

impl PassedOn {
    /// What is passed on, if another server answers.
    pub(crate) fn read(registry: &Registry, info: &RequestInfo, parts: &mut Parts) -> Option<Self> {
        let extension = answers_for(registry, info)?;
        let connection = if is_upgrade(&parts.headers) { parts.extensions.remove::<OnUpgrade>() } else { None };
        let peer = parts.extensions.get::<PeerAddress>().copied();
        Some(Self { extension, uri: parts.uri.clone(), peer, connection })
    }

    /// Whether the answer may be a stream in both directions.
    pub(crate) fn is_upgrade(&self) -> bool {
        self.connection.is_some()
    }
}

/// The server that answers, if not this one.
fn answers_for(registry: &Registry, info: &RequestInfo) -> Option<Arc<Extension>> {
    let extensions = registry.extensions();
    if let Some(asked) = &info.resource {
        return extensions.of(&asked.at.resource.group, &asked.at.resource.version).cloned();
    }
    match info.path.trim_matches('/').split('/').collect::<Vec<_>>().as_slice() {
        ["apis", group, version, ..] => extensions.of(group, version).cloned(),
        ["openapi", "v3", "apis", group, version] => {
            extensions.of(group, version).filter(|extension| !extension.told.openapi_v3.is_empty()).cloned()
        }
        _ => None,
    }
}
