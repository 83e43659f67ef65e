//! The kustomization of a folder with manifests, which lists those that are used.

use std::path::{Path, PathBuf};

use coracle_scenario::parse_objects;
use serde_json::Value;

const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The files of the folder that its kustomization lists; `None` if it lists none, or if there is no kustomization.
pub(crate) fn listed(folder: &Path) -> Option<Vec<PathBuf>> {
    let text = NAMES.iter().find_map(|name| std::fs::read_to_string(folder.join(name)).ok())?;
    let documents = parse_objects(&text).ok()?;
    let resources = documents.iter().filter_map(|document| document.get("resources")?.as_array()).flatten();
    let files = resources.filter_map(Value::as_str).map(|name| folder.join(name));
    let files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
    (!files.is_empty()).then_some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_a_kustomization_lists_are_used_in_its_order() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(listed(folder.path()), None);
        for name in ["a.yaml", "b.yaml", "left.yaml"] {
            write(name, "kind: A");
        }
        write(
            "kustomization.yaml",
            "namespace: system\nresources:\n- b.yaml\n- a.yaml\n- ../elsewhere\n- missing.yaml\n",
        );
        let files: Vec<String> = listed(folder.path()).unwrap().iter().map(|path| path.display().to_string()).collect();
        let path = |name: &str| folder.path().join(name).display().to_string();
        assert_eq!(files, [path("b.yaml"), path("a.yaml")]);
        write("kustomization.yaml", "namespace: system\n");
        assert_eq!(listed(folder.path()), None);
    }
}
