use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::GroupVersion;
use serde_json::Value;

use super::outgoing::{ServiceAddress, Trust};

/// An API server beside this one, as far as it answers for one group and version.
///
/// In Kubernetes: `proxyHandlingInfo` of kube-aggregator, with what its discovery and OpenAPI controllers have read.
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    /// What it answers for.
    pub version: GroupVersion,
    /// Where it is.
    pub service: ServiceAddress,
    /// Whose certificate is believed there.
    pub trust: Trust,
    /// Whether requests are passed on.
    pub is_available: bool,
    /// The place of the group among all: the greater, the earlier.
    pub group_priority: i64,
    /// The place of the version in its group: the greater, the earlier.
    pub version_priority: i64,
    /// What it has told of itself.
    pub told: Arc<Told>,
}

/// What an extension API server tells of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Its resources, as `APIVersionDiscovery` has them.
    pub resources: Value,
    /// Whether they are as of now: the last time they were asked for, they came.
    pub is_current: bool,
    /// What version 2 of its OpenAPI document says of the group and version: `paths` and `definitions`.
    pub openapi_v2: Value,
    /// Where version 3 is, below its root; empty if it has none.
    pub openapi_v3: String,
}

/// All of them at one moment.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    /// Counts changes of the set.
    pub version: u64,
    by_version: BTreeMap<GroupVersion, Arc<Extension>>,
}

impl Extensions {
    /// These, which come after `before`: the same set has the same version.
    pub(super) fn after(before: &Self, all: &[Arc<Extension>]) -> Self {
        let by_version = all.iter().map(|extension| (extension.version.clone(), Arc::clone(extension))).collect();
        let changed = u64::from(by_version != before.by_version);
        Self { version: before.version + changed, by_version }
    }

    /// Who answers for a group and version, if not this server.
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
