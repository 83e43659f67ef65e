//! The manifests that `coracle check` reads: those of flags, and those in the folders in which projects keep them.

use std::io;
use std::path::{Path, PathBuf};

use crate::commands::kustomization;
use crate::exit::Usage;
use crate::yaml_files::yaml_files_in;

/// Where kubebuilder keeps definitions, samples and roles.
const DEFINITIONS: &str = "config/crd/bases";
pub(super) const SAMPLES: &str = "config/samples";
pub(super) const ROLES: &str = "config/rbac";
/// Where charts of Helm are, and their definitions.
const CHARTS: &str = "charts";
const DEFINITIONS_OF_A_CHART: &str = "crds";

/// The paths of a flag; without any, those that are found.
pub(super) fn or_else(paths: &[PathBuf], found: impl Fn() -> Vec<PathBuf>) -> Vec<PathBuf> {
    if paths.is_empty() { found() } else { paths.to_vec() }
}

/// A folder, if it exists.
pub(super) fn folder(path: &str) -> Vec<PathBuf> {
    Some(PathBuf::from(path)).filter(|folder| folder.is_dir()).into_iter().collect()
}

/// The folders with definitions: that of kubebuilder, or else those of charts.
pub(super) fn definitions() -> Vec<PathBuf> {
    let found = folder(DEFINITIONS);
    if !found.is_empty() {
        return found;
    }
    let charts = std::fs::read_dir(CHARTS).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = charts.map(|chart| chart.path().join(DEFINITIONS_OF_A_CHART)).collect();
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    folders
}

/// The names and texts of files, and of the YAML files in folders.
///
/// # Errors
/// If one cannot be read.
pub(super) fn texts(flag: &str, paths: &[PathBuf]) -> Result<Vec<(String, String)>, Usage> {
    let mut texts = Vec::new();
    for path in paths {
        for file in files(path).map_err(|error| unreadable(flag, path, &error))? {
            let text = std::fs::read_to_string(&file).map_err(|error| unreadable(flag, &file, &error))?;
            texts.push((file.display().to_string(), text));
        }
    }
    Ok(texts)
}

/// The file, or the files of the folder that its kustomization lists, or all its YAML files in the order of their names.
/// A kustomization is not an object.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    if let Some(files) = kustomization::listed(path) {
        return Ok(files);
    }
    let mut files = yaml_files_in(path)?;
    files.retain(|file| file.file_stem().is_none_or(|name| name != "kustomization"));
    Ok(files)
}

pub(super) fn unreadable(flag: &str, path: &Path, error: &io::Error) -> Usage {
    Usage(format!("{flag} {}: {error}", path.display()))
}
