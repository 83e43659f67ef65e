//! The lessons that are built in.

use std::path::Path;

use crate::file::Lesson;
use crate::read;

/// The lessons, in the order of their numbers; one file and one line each.
const LESSONS: &[(&str, &str)] = &[
    ("lessons/a-pod-is-deleted.yaml", include_str!("../../../lessons/a-pod-is-deleted.yaml")),
    ("lessons/replacement-comes-first.yaml", include_str!("../../../lessons/replacement-comes-first.yaml")),
    ("lessons/level-or-edge.yaml", include_str!("../../../lessons/level-or-edge.yaml")),
    ("lessons/conflict-is-fine.yaml", include_str!("../../../lessons/conflict-is-fine.yaml")),
    ("lessons/many-events-few-syncs.yaml", include_str!("../../../lessons/many-events-few-syncs.yaml")),
    ("lessons/still-terminating.yaml", include_str!("../../../lessons/still-terminating.yaml")),
    ("lessons/who-deletes-the-children.yaml", include_str!("../../../lessons/who-deletes-the-children.yaml")),
    ("lessons/three-counters.yaml", include_str!("../../../lessons/three-counters.yaml")),
    ("lessons/who-owns-this-field.yaml", include_str!("../../../lessons/who-owns-this-field.yaml")),
];

/// The scenarios that they run.
const SCENARIOS: &[(&str, &str)] =
    &[("scenarios/delete-a-pod.yaml", include_str!("../../../scenarios/delete-a-pod.yaml"))];

/// The built-in lessons, in the order of their numbers.
pub fn lessons() -> Vec<Lesson> {
    let read = |(file, text): &(&str, &str)| {
        let lesson = read::parse(Path::new(file), text, &built_in_scenario);
        lesson.unwrap_or_else(|problem| panic!("{problem}"))
    };
    LESSONS.iter().map(read).collect()
}

/// The numbers without a lesson and why, as a sentence; `None` if there are none.
pub fn missing(lessons: &[Lesson]) -> Option<String> {
    let there: Vec<u32> = lessons.iter().map(|lesson| lesson.spec.number).collect();
    let absent = (1..there.last().copied().unwrap_or(1)).filter(|number| !there.contains(number));
    let absent: Vec<String> = absent.map(|number| number.to_string()).collect();
    let why = "which need faults on watches and requests. Scenarios do not support these yet.";
    (!absent.is_empty()).then(|| format!("Not there yet: {}, {why}", absent.join(", ")))
}

fn built_in_scenario(path: &Path) -> Result<String, String> {
    // A lesson refers to a scenario as `../scenarios/NAME.yaml`.
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let found = SCENARIOS.iter().find(|(file, _)| file.strip_prefix("scenarios/") == Some(name));
    found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("{} is not in the binary", path.display()))
}
