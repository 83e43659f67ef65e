use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use coracle_cluster::{ManifestsOnDisk, NodeSpec};

use crate::exit;

/// The configuration of simulated nodes.
#[derive(Debug, Default, Args)]
pub(crate) struct NodeFlags {
    /// Static pods: a folder of manifests or a manifest file, for all nodes, or as NODE=PATH for one node
    #[arg(long, value_name = "[NODE=]PATH")]
    pod_manifest_path: Vec<String>,
}

impl NodeFlags {
    /// This number of nodes, named `node-1` and so on.
    pub(crate) fn specs(&self, count: usize) -> Result<Vec<NodeSpec>> {
        let mut specs: Vec<NodeSpec> = (1..=count).map(|number| NodeSpec::new(format!("node-{number}"))).collect();
        for said in &self.pod_manifest_path {
            let (node, path) = match said.split_once('=') {
                Some((node, path)) => (Some(node), path),
                None => (None, said.as_str()),
            };
            if node.is_some_and(|node| specs.iter().all(|spec| spec.name != node)) {
                return Err(exit::Usage(format!("--pod-manifest-path `{said}`: there is no such node")).into());
            }
            if path.is_empty() {
                return Err(exit::Usage(format!("--pod-manifest-path `{said}` has no path")).into());
            }
            let folder = ManifestsOnDisk::at(PathBuf::from(path));
            for spec in specs.iter_mut().filter(|spec| node.is_none_or(|node| spec.name == node)) {
                // The setting of a single node takes precedence over the setting of all nodes.
                if node.is_some() || spec.static_pods.is_none() {
                    spec.static_pods = Some(folder.clone());
                }
            }
        }
        Ok(specs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_for_all_nodes_or_for_the_one_that_it_names() {
        let read = |said: &[&str]| {
            let flags = NodeFlags { pod_manifest_path: said.iter().map(|one| (*one).to_owned()).collect() };
            flags.specs(2).map(|specs| specs.into_iter().map(|spec| spec.static_pods).collect::<Vec<_>>())
        };
        let both = read(&["/a", "node-2=/b"]).unwrap();
        assert!(both.iter().all(Option::is_some) && both[0] != both[1]);
        assert!(matches!(read(&["node-1=/a"]).unwrap()[..], [Some(_), None]));
        assert!(read(&["node-3=/a"]).unwrap_err().to_string().contains("there is no such node"));
        assert!(read(&[""]).unwrap_err().to_string().contains("has no path"));
    }
}
