use std::fmt;
use std::sync::Arc;

use crate::NodeService;

/// The CSI drivers that are registered on a node, by name. In Kubernetes: `DriversStore` of `pkg/volume/csi`.
#[derive(Clone, Default)]
pub struct DriversStore(Vec<Arc<dyn NodeService>>);

impl DriversStore {
    /// The same store with one more driver; it replaces a driver of the same name.
    #[must_use]
    pub fn with(mut self, driver: Arc<dyn NodeService>) -> Self {
        self.0.retain(|known| known.name() != driver.name());
        self.0.push(driver);
        self
    }

    /// The registered driver of this name.
    pub fn get(&self, name: &str) -> Option<&dyn NodeService> {
        self.iter().find(|driver| driver.name() == name)
    }

    /// All registered drivers.
    pub fn iter(&self) -> impl Iterator<Item = &dyn NodeService> {
        self.0.iter().map(|driver| &**driver)
    }
}

impl fmt::Debug for DriversStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(NodeService::name)).finish()
    }
}
