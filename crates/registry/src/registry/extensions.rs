use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::GroupVersion;
use serde_json::Value;

use super::outgoing::{ServiceAddress, Trust};

/// An extension API server, for one group and version.
///
/// In Kubernetes: `proxyHandlingInfo` of kube-aggregator, with the results of its discovery and OpenAPI controllers.
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    /// The group and version that it serves.
    pub version: GroupVersion,
    /// Its address.
    pub service: ServiceAddress,
    /// How its certificate is verified.
    pub trust: Trust,
    /// Whether requests are forwarded to it.
    pub is_available: bool,
    /// The priority of the group: the greater, the earlier.
    pub group_priority: i64,
    /// The priority of the version in its group: the greater, the earlier.
    pub version_priority: i64,
    /// Its discovery and OpenAPI documents.
    pub documents: Arc<ExtensionDocuments>,
}

/// The discovery and OpenAPI documents of an extension API server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtensionDocuments {
    /// Its resources, as in `APIVersionDiscovery`.
    pub resources: Value,
    /// Whether the resources are current: the last request for them succeeded.
    pub is_current: bool,
    /// The part of its OpenAPI v2 document about the group and version: `paths` and `definitions`.
    pub openapi_v2: Value,
    /// The path of its OpenAPI v3 document; empty if it has none.
    pub openapi_v3: String,
}

/// A snapshot of all extension API servers.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    /// Counts changes of the set.
    pub version: u64,
    by_version: BTreeMap<GroupVersion, Arc<Extension>>,
}

impl Extensions {
    /// The successor of `before`; an equal set has the same version.
    pub(super) fn after(before: &Self, all: &[Arc<Extension>]) -> Self {
        let by_version = all.iter().map(|extension| (extension.version.clone(), Arc::clone(extension))).collect();
        let changed = u64::from(by_version != before.by_version);
        Self { version: before.version + changed, by_version }
    }

    /// The extension API server of a group and version, if there is one.
    pub fn of(&self, group: &str, version: &str) -> Option<&Arc<Extension>> {
        if self.by_version.is_empty() {
            return None;
        }
        self.by_version.get(&GroupVersion::new(group, version))
    }

    /// All, by group and version.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Extension>> {
        self.by_version.values()
    }
}
