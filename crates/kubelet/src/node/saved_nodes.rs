use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::node::machine::SavedMachine;
use crate::node::node_switches::NodeSwitch;

/// The version of the format. Other versions are rejected.
const VERSION: u64 = 1;

/// The state of simulated nodes that the API does not have: the state of each container with its restarts and
/// back-offs, the output and addresses of pods, mounted volumes, and whether a node has power.
///
/// [`Kubelet::save`](crate::Kubelet::save) returns it, and [`Kubelet::restore`](crate::Kubelet::restore) restores it.
/// Its bytes are a JSON object with a version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedNodes {
    pub(crate) nodes: BTreeMap<String, SavedNode>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SavedNode {
    pub(crate) has_power: bool,
    pub(crate) is_stopped: bool,
    /// The switches that the annotations of its Node set last.
    pub(crate) obeyed: BTreeMap<NodeSwitch, String>,
    pub(crate) machine: SavedMachine,
}

/// Why bytes are not the saved state of nodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedNodesError {
    /// It has a version that this program does not know.
    #[error("the nodes' state is of version {found}, and this program reads version {VERSION}")]
    Version {
        /// The version that it names.
        found: String,
    },
    /// It cannot be parsed.
    #[error("the nodes' state cannot be read: {0}")]
    Malformed(String),
}

#[derive(Serialize)]
struct Written<'n> {
    version: u64,
    nodes: &'n BTreeMap<String, SavedNode>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    #[serde(rename = "version")]
    _version: Value,
    nodes: BTreeMap<String, SavedNode>,
}

/// The version; all other fields are ignored.
#[derive(Deserialize)]
struct Versioned {
    version: Value,
}

impl SavedNodes {
    /// The names of the nodes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(String::as_str)
    }

    /// The bytes that [`read`](Self::read) reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let written = Written { version: VERSION, nodes: &self.nodes };
        serde_json::to_vec(&written).expect("its keys are texts and its numbers are finite")
    }

    /// Reads the bytes that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// [`SavedNodesError`] names the version, or the invalid part.
    pub fn read(bytes: &[u8]) -> Result<Self, SavedNodesError> {
        let malformed = |error: serde_json::Error| SavedNodesError::Malformed(error.to_string());
        let Versioned { version } = serde_json::from_slice(bytes).map_err(malformed)?;
        if version != VERSION {
            return Err(SavedNodesError::Version { found: version.to_string() });
        }
        let Read { nodes, .. } = serde_json::from_slice(bytes).map_err(malformed)?;
        for (name, node) in &nodes {
            node.machine.check().map_err(|why| SavedNodesError::Malformed(format!("node {name}: {why}")))?;
        }
        Ok(Self { nodes })
    }
}

#[cfg(test)]
mod tests;
