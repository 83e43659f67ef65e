//! The Go packages whose types are served.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::go_types::{GoPackage, read_package};
use super::modules::Modules;
use crate::failure::Failure;

/// A Go package.
pub(crate) struct Package {
    /// The import path: `k8s.io/api/core/v1`.
    pub(crate) path: String,
    /// The name that OpenAPI gives it: `io.k8s.api.core.v1`.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// Whether its group version is generally available. The types of others matter where a stable type refers to them.
    pub(crate) is_stable: bool,
}

/// The packages of all group versions, and those of their common types.
pub(crate) fn packages(modules: &Modules) -> Result<Vec<Package>, Failure> {
    let mut packages = Vec::new();
    for group in folders(&modules.api)? {
        for version in folders(&modules.api.join(&group))? {
            if version.starts_with('v') {
                packages.push(package("k8s.io/api", &modules.api, &format!("{group}/{version}")));
            }
        }
    }
    for path in ["pkg/apis/meta/v1", "pkg/runtime", "pkg/util/intstr", "pkg/version", "pkg/api/resource", "pkg/types"] {
        packages.push(package("k8s.io/apimachinery", &modules.apimachinery, path));
    }
    let extensions = "k8s.io/apiextensions-apiserver";
    packages.push(package(extensions, &modules.apiextensions, "pkg/apis/apiextensions/v1"));
    packages.push(package("k8s.io/kube-aggregator", &modules.aggregator, "pkg/apis/apiregistration/v1"));
    Ok(packages)
}

fn package(module: &str, folder: &Path, path: &str) -> Package {
    let name = format!("io.{}.{}", module.replace("k8s.io/", "k8s."), path.replace('/', "."));
    let is_stable = !path.contains("alpha") && !path.contains("beta");
    Package { path: format!("{module}/{path}"), name, folder: folder.join(path), is_stable }
}

fn folders(of: &Path) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(of)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.extend(entry.file_name().into_string().ok());
        }
    }
    names.sort();
    Ok(names)
}

/// Packages by their import paths, with what they declare.
pub(crate) type Sources = BTreeMap<String, GoPackage>;

/// Reads the declarations of all packages.
pub(crate) fn sources(packages: &[Package]) -> Result<Sources, Failure> {
    packages.iter().map(|package| Ok((package.path.clone(), read_package(&package.folder, &package.path)?))).collect()
}
