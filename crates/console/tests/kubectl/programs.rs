//! The programs that the comparison needs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of kubectl that the console follows.
const VERSION: &str = "v1.33.";

/// The program `coracle`; says by name that it is absent.
pub(crate) fn coracle() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("target");
    let built = ["debug", "release"].map(|profile| target.join(profile).join("coracle"));
    let chosen = std::env::var_os("CORACLE").map(PathBuf::from);
    let found = chosen.into_iter().chain(built).find(|path| path.exists());
    if found.is_none() {
        println!("SKIPPED: coracle is not built; tests/console/run builds it");
    }
    found
}

/// kubectl; says by name that it is absent.
pub(crate) fn kubectl() -> Option<PathBuf> {
    let chosen = std::env::var_os("KUBECTL").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let named = ["kubectl.1.33", "kubectl"].into_iter().flat_map(|name| {
        // A link leads to the folder in which other versions are.
        let within = folders.iter().map(move |folder| folder.join(name));
        let beside = folders
            .iter()
            .filter_map(move |folder| Some(folder.join("kubectl").canonicalize().ok()?.parent()?.join(name)));
        within.chain(beside)
    });
    let found = chosen.into_iter().chain(named).find(|path| has_version(path));
    if found.is_none() {
        println!("SKIPPED: kubectl {VERSION} is not on the PATH");
    }
    found
}

fn has_version(path: &Path) -> bool {
    let output = Command::new(path).args(["version", "--client"]).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&format!("Client Version: {VERSION}")))
}
