use std::collections::BTreeMap;

use crate::error::LabError;
use crate::lab_cluster::LabCluster;

/// The clusters that are open, by their names.
#[derive(Default)]
pub(crate) struct Clusters {
    pub(crate) open: BTreeMap<String, LabCluster>,
}

impl Clusters {
    /// The cluster with a name.
    pub(crate) fn cluster(&mut self, name: &str) -> Result<&mut LabCluster, LabError> {
        let missing = || LabError::new(format!("there is no cluster `{name}`: open it first"));
        self.open.get_mut(name).ok_or_else(missing)
    }
}
