use std::path::Path;

use coracle_lesson::{Taught, exercises, lessons, teach};
use coracle_release::Release;
use coracle_viewer::data_of_lesson;
use serde::Deserialize;
use serde_json::json;

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::message::{Message, Nothing};
use crate::scenarios::SCENARIOS;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

/// Runs a lesson and its contrast. The payload is the data of its page, as `coracle learn NAME --report` embeds it.
pub(crate) fn lesson(_: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let Named { name } = message.fields()?;
    let all = lessons();
    let unknown = || {
        let names = all.iter().map(|lesson| lesson.metadata.name.as_str());
        LabError::unknown("lesson", &name, names)
    };
    let found = all.iter().find(|lesson| lesson.metadata.name == name).ok_or_else(unknown)?;
    let path = format!("lessons/{name}.yaml");
    let Taught { lesson, events, contrast } = teach(found, Path::new(&path))?;
    let payload = data_of_lesson(&lesson, &events, &contrast).into_bytes();
    Ok(LabAnswer { result: json!({"name": name, "number": lesson.number, "title": lesson.title}), payload })
}

/// The lessons, exercises and scenarios that are built in, and the Kubernetes releases, the newest first.
pub(crate) fn list(_: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    message.fields::<Nothing>()?;
    let lessons = lessons();
    let lessons = lessons
        .iter()
        .map(|lesson| json!({"name": lesson.metadata.name, "number": lesson.spec.number, "title": lesson.spec.title}));
    let exercises = exercises();
    let exercises = exercises.iter().map(|exercise| {
        let spec = &exercise.spec;
        json!({
            "name": exercise.metadata.name,
            "number": spec.number,
            "title": spec.title,
            "minutes": spec.minutes,
            "report": spec.report,
        })
    });
    let scenarios = SCENARIOS.iter().map(|(name, text)| json!({"name": name, "text": text}));
    let (lessons, exercises): (Vec<_>, Vec<_>) = (lessons.collect(), exercises.collect());
    let releases: Vec<&str> = Release::all().rev().map(|release| release.version()).collect();
    let scenarios: Vec<_> = scenarios.collect();
    Ok(json!({"lessons": lessons, "exercises": exercises, "scenarios": scenarios, "releases": releases}).into())
}
