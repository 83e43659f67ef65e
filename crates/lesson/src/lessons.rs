//! The lessons that are in the binary.

use std::path::Path;

use crate::file::Lesson;
use crate::read;

/// A lesson that is in the binary.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// The file's name.
    pub file: &'static str,
    /// The file's text.
    pub text: &'static str,
}

/// The lessons, in the order of their numbers: a file and a line each.
const LESSONS: &[BuiltIn] = &[
    BuiltIn { file: "lessons/a-pod-is-deleted.yaml", text: include_str!("../../../lessons/a-pod-is-deleted.yaml") },
    BuiltIn {
        file: "lessons/replacement-comes-first.yaml",
        text: include_str!("../../../lessons/replacement-comes-first.yaml"),
    },
    BuiltIn { file: "lessons/level-or-edge.yaml", text: include_str!("../../../lessons/level-or-edge.yaml") },
    BuiltIn { file: "lessons/conflict-is-fine.yaml", text: include_str!("../../../lessons/conflict-is-fine.yaml") },
    BuiltIn {
        file: "lessons/many-events-few-syncs.yaml",
        text: include_str!("../../../lessons/many-events-few-syncs.yaml"),
    },
    BuiltIn { file: "lessons/still-terminating.yaml", text: include_str!("../../../lessons/still-terminating.yaml") },
    BuiltIn {
        file: "lessons/who-deletes-the-children.yaml",
        text: include_str!("../../../lessons/who-deletes-the-children.yaml"),
    },
    BuiltIn { file: "lessons/three-counters.yaml", text: include_str!("../../../lessons/three-counters.yaml") },
    BuiltIn {
        file: "lessons/who-owns-this-field.yaml",
        text: include_str!("../../../lessons/who-owns-this-field.yaml"),
    },
];

/// The scenarios that they run.
const SCENARIOS: &[(&str, &str)] =
    &[("scenarios/delete-a-pod.yaml", include_str!("../../../scenarios/delete-a-pod.yaml"))];

/// The lessons that are in the binary, in the order of their numbers.
pub fn lessons() -> Vec<Lesson> {
    let read = |built: &BuiltIn| {
        let lesson = read::parse(Path::new(built.file), built.text, &built_in_scenario);
        lesson.unwrap_or_else(|problem| panic!("{problem}"))
    };
    LESSONS.iter().map(read).collect()
}

fn built_in_scenario(path: &Path) -> Result<String, String> {
    // A lesson names a scenario as `../scenarios/NAME.yaml`.
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let found = SCENARIOS.iter().find(|(file, _)| file.strip_prefix("scenarios/") == Some(name));
    found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("{} is not in the binary", path.display()))
}
