use std::collections::BTreeSet;
use std::sync::Arc;

/// The release of Kubernetes whose behaviour the API server has: feature gates that are on, and changes of behaviour
/// without a gate. The default has none of those that not all releases have. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    names: Arc<BTreeSet<&'static str>>,
}

impl Release {
    /// A release with these gates and behaviours, and no others.
    pub fn with(names: impl IntoIterator<Item = &'static str>) -> Self {
        Self { names: Arc::new(names.into_iter().collect()) }
    }

    /// Whether a feature gate is on, or the release has a change of behaviour.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}
