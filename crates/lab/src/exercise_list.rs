use coracle_lesson::{Exercise, exercises};

use crate::error::LabError;

/// The exercise with a name.
pub(crate) fn exercise_named(name: &str) -> Result<Exercise, LabError> {
    let all = exercises();
    let unknown = || LabError::unknown("exercise", name, all.iter().map(|exercise| exercise.metadata.name.as_str()));
    all.iter().find(|exercise| exercise.metadata.name == name).cloned().ok_or_else(unknown)
}
