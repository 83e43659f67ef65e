use std::time::Duration;

use coracle_meta::GroupVersionResource;

/// What a controller does with a key while a cache does not show the key's own last writes yet.
///
/// ```
/// use std::time::Duration;
/// use coracle::api::core_v1::Pod;
/// use coracle::meta::Resource;
/// use coracle::runtime::controller::StaleCaches;
///
/// // As the ReplicaSet controller before it compared revisions: it counts on its pods for five minutes.
/// let stale = StaleCaches::Expect { resource: Pod::resource(), patience: Duration::from_secs(300) };
/// assert_ne!(stale, StaleCaches::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StaleCaches {
    /// The key waits until the caches show all of its writes. In Kubernetes: `consistency.ConsistencyStore`.
    #[default]
    Wait,
    /// The key is processed, and [`Pass::shows_own_writes`](crate::Pass::shows_own_writes) is false while the cache
    /// lacks writes of this resource that are not older than `patience`. In Kubernetes: `ControllerExpectations`.
    Expect {
        /// The resource of the dependents.
        resource: GroupVersionResource,
        /// How long a write is expected to appear.
        patience: Duration,
    },
    /// The key is processed.
    Ignore,
}

impl StaleCaches {
    /// Whether the controller remembers its writes of a resource.
    pub(crate) fn remembers(&self, written: &GroupVersionResource) -> bool {
        match self {
            Self::Wait => true,
            Self::Expect { resource, .. } => resource == written,
            Self::Ignore => false,
        }
    }

    /// How long a write is remembered; `None` until the cache shows it.
    pub(crate) fn patience(&self) -> Option<Duration> {
        match self {
            Self::Expect { patience, .. } => Some(*patience),
            Self::Wait | Self::Ignore => None,
        }
    }
}
