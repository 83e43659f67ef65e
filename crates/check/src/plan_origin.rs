use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::plan_file::{PlanFile, VERSION};

/// The run of which a plan is.
#[derive(Clone, Debug)]
pub(crate) struct PlanOrigin {
    /// The name of the controller, or of the component of the scenario.
    pub(crate) component: String,
    /// The file of the scenario; `None` for a program.
    pub(crate) scenario: Option<PathBuf>,
    /// The hash of the objects of the work, or of the scenario.
    pub(crate) work: String,
    /// Whether one seed gives one event log.
    pub(crate) has_one_log: bool,
}

impl PlanOrigin {
    /// The name of a plan with a finding of this check.
    pub(crate) fn name(&self, check: &str) -> String {
        let stem = self.scenario.as_ref().and_then(|scenario| scenario.file_stem());
        let of = stem.map_or_else(|| self.component.clone(), |stem| stem.to_string_lossy().into_owned());
        format!("{of}-{check}")
    }

    /// The `of` of a plan in this folder.
    pub(crate) fn document(&self, folder: &Path, seed: u64) -> Value {
        let mut of = json!({"component": self.component, "coracle": VERSION, "seed": seed, "work": self.work});
        if let Some(scenario) = &self.scenario {
            of["scenario"] = json!(from_folder(folder, scenario));
        }
        of
    }

    /// Whether a plan in this folder is of the same component and scenario.
    pub(crate) fn is_of(&self, folder: &Path, file: &PlanFile) -> bool {
        let own = self.scenario.as_ref().map(|scenario| absolute(scenario));
        let other = file.scenario.as_ref().map(|scenario| absolute(&folder.join(scenario)));
        own == other && file.component == self.component
    }
}

/// The absolute path of a file; of one that does not exist, the path itself.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The path of a file, relative to a folder.
fn from_folder(folder: &Path, file: &Path) -> PathBuf {
    relative(&absolute(folder), &absolute(file))
}

fn relative(folder: &Path, file: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (folder.components().collect(), file.components().collect());
    let same = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from[same..].iter().map(|_| Component::ParentDir);
    up.chain(to[same..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_scenario_begins_at_the_folder_of_the_plan() {
        for (folder, file, path) in [
            ("/a/found", "/a/scenarios/b.yaml", "../scenarios/b.yaml"),
            ("/a", "/a/b.yaml", "b.yaml"),
            ("/a/b/c", "/d.yaml", "../../../d.yaml"),
        ] {
            assert_eq!(relative(Path::new(folder), Path::new(file)), Path::new(path));
        }
    }
}
