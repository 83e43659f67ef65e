//! The lessons that are built in.

use std::path::Path;

use crate::file::Lesson;
use crate::read;

/// The lessons, in the order of their numbers; one file and one line each.
const LESSONS: &[(&str, &str)] = &[
    ("lessons/a-pod-is-deleted.yaml", include_str!("../lessons/a-pod-is-deleted.yaml")),
    ("lessons/replacement-comes-first.yaml", include_str!("../lessons/replacement-comes-first.yaml")),
    ("lessons/level-or-edge.yaml", include_str!("../lessons/level-or-edge.yaml")),
    ("lessons/resync-resume-or-relist.yaml", include_str!("../lessons/resync-resume-or-relist.yaml")),
    ("lessons/too-many-pods.yaml", include_str!("../lessons/too-many-pods.yaml")),
    ("lessons/own-writes-first.yaml", include_str!("../lessons/own-writes-first.yaml")),
    ("lessons/conflict-is-fine.yaml", include_str!("../lessons/conflict-is-fine.yaml")),
    ("lessons/why-nothing-happens.yaml", include_str!("../lessons/why-nothing-happens.yaml")),
    ("lessons/many-events-few-syncs.yaml", include_str!("../lessons/many-events-few-syncs.yaml")),
    ("lessons/where-events-wait.yaml", include_str!("../lessons/where-events-wait.yaml")),
    ("lessons/the-unseen-deletion.yaml", include_str!("../lessons/the-unseen-deletion.yaml")),
    ("lessons/still-terminating.yaml", include_str!("../lessons/still-terminating.yaml")),
    ("lessons/who-deletes-the-children.yaml", include_str!("../lessons/who-deletes-the-children.yaml")),
    ("lessons/three-counters.yaml", include_str!("../lessons/three-counters.yaml")),
    ("lessons/who-owns-this-field.yaml", include_str!("../lessons/who-owns-this-field.yaml")),
    ("lessons/controllers-share-a-model.yaml", include_str!("../lessons/controllers-share-a-model.yaml")),
    ("lessons/one-watch-many-controllers.yaml", include_str!("../lessons/one-watch-many-controllers.yaml")),
    ("lessons/a-call-becomes-a-request.yaml", include_str!("../lessons/a-call-becomes-a-request.yaml")),
    ("lessons/when-a-controller-gives-up.yaml", include_str!("../lessons/when-a-controller-gives-up.yaml")),
    ("lessons/who-leads.yaml", include_str!("../lessons/who-leads.yaml")),
    ("lessons/two-worlds-of-volumes.yaml", include_str!("../lessons/two-worlds-of-volumes.yaml")),
];

/// The scenarios that they run.
const SCENARIOS: &[(&str, &str)] = &[("scenarios/delete-a-pod.yaml", include_str!("../scenarios/delete-a-pod.yaml"))];

/// The built-in lessons, in the order of their numbers.
pub fn lessons() -> Vec<Lesson> {
    let read = |(file, text): &(&str, &str)| {
        let lesson = read::parse(Path::new(file), text, &built_in_scenario);
        lesson.unwrap_or_else(|problem| panic!("{problem}"))
    };
    LESSONS.iter().map(read).collect()
}

fn built_in_scenario(path: &Path) -> Result<String, String> {
    // A lesson refers to a scenario as `../scenarios/NAME.yaml`.
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let found = SCENARIOS.iter().find(|(file, _)| file.strip_prefix("scenarios/") == Some(name));
    found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("{} is not in the binary", path.display()))
}
