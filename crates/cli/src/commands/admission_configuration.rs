use std::path::Path;

use anyhow::{Context, Result};
use coracle_cluster::AdmissionConfigurations;
use coracle_schema::decode::{Format, parse};
use serde_json::Value;

use crate::exit;

/// Reads the configuration of admission plug-ins; relative paths in it refer to its folder. In Kubernetes:
/// `--admission-control-config-file`.
pub(super) fn read(file: Option<&Path>) -> Result<AdmissionConfigurations> {
    let Some(file) = file else { return Ok(AdmissionConfigurations::default()) };
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let beside = |name: &str| document(&folder.join(name)).map_err(|error| format!("{error:#}"));
    let read = AdmissionConfigurations::read(&document(file)?, beside);
    Ok(read.map_err(|why| exit::Usage(format!("--admission-control-config-file {}: {why}", file.display())))?)
}

fn document(path: &Path) -> Result<Value> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (value, _) = parse(&text, Format::Yaml).map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_a_file_are_relative_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("pods.yaml", "podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: a=b}");
        let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n";
        write("all.yaml", &format!("{head}plugins: [{{name: PodNodeSelector, path: pods.yaml}}]"));
        write("lost.yaml", &format!("{head}plugins: [{{name: PodNodeSelector, path: nowhere.yaml}}]"));
        let read = |name: &str| read(Some(&folder.path().join(name)));
        assert_ne!(read("all.yaml").unwrap(), AdmissionConfigurations::default());
        assert!(read("lost.yaml").is_err());
        assert!(read("pods.yaml").is_err());
    }
}
