//! The published modules of a version of Kubernetes.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::failure::Failure;

/// The source folders of the modules of a version, such as `v1.36.3`.
pub(crate) struct Modules {
    pub(crate) kubernetes: PathBuf,
    pub(crate) api: PathBuf,
    pub(crate) apimachinery: PathBuf,
    pub(crate) apiextensions: PathBuf,
    pub(crate) aggregator: PathBuf,
}

impl Modules {
    /// Downloads what Go's module cache does not have.
    pub(crate) fn of(version: &str) -> Result<Self, Failure> {
        let staged = version.replacen("v1.", "v0.", 1);
        Ok(Self {
            kubernetes: folder("k8s.io/kubernetes", version)?,
            api: folder("k8s.io/api", &staged)?,
            apimachinery: folder("k8s.io/apimachinery", &staged)?,
            apiextensions: folder("k8s.io/apiextensions-apiserver", &staged)?,
            aggregator: folder("k8s.io/kube-aggregator", &staged)?,
        })
    }
}

fn folder(module: &str, version: &str) -> Result<PathBuf, Failure> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", &format!("{module}@{version}")])
        .current_dir(std::env::temp_dir())
        .output()
        .map_err(|error| format!("go, which downloads the modules, cannot be started: {error}"))?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match (answer["Dir"].as_str(), answer["Error"].as_str()) {
        (Some(folder), None) => Ok(folder.into()),
        (_, why) => Err(format!("{module}@{version} cannot be downloaded: {}", why.unwrap_or("no answer")).into()),
    }
}
