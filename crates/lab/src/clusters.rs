use std::collections::BTreeMap;

use crate::console::Console;
use crate::error::LabError;
use crate::lab_cluster::LabCluster;

/// The clusters that are open, by their names, and the console of all of them.
#[derive(Default)]
pub(crate) struct Clusters {
    pub(crate) open: BTreeMap<String, LabCluster>,
    pub(crate) console: Option<Box<dyn Console>>,
}

impl Clusters {
    /// The cluster with a name.
    pub(crate) fn cluster(&mut self, name: &str) -> Result<&mut LabCluster, LabError> {
        let missing = || LabError::new(format!("there is no cluster `{name}`: open it first"));
        self.open.get_mut(name).ok_or_else(missing)
    }
}
