use coracle_lesson::{Exercise, exercises};

use crate::error::LabError;

/// The exercise with a name.
pub(crate) fn exercise_named(name: &str) -> Result<Exercise, LabError> {
    let all = exercises();
    match all.iter().position(|exercise| exercise.metadata.name == name) {
        Some(place) => Ok(all.into_iter().nth(place).expect("it was found there")),
        None => {
            let names = all.iter().map(|exercise| exercise.metadata.name.as_str());
            Err(LabError::unknown("exercise", name, names))
        }
    }
}
