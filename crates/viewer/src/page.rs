use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_journal::{Events, Stage};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use crate::Summary;
use crate::lesson::Lesson;
use crate::summary::nanos;
use crate::templates::template;

/// The number of the form of [`data`]; the page refuses another.
const FORM: u32 = 1;

/// All that the page draws of a run, as JSON:
///
/// ```text
/// {"form": 1,
///  "run": the first line of the events file,
///  "summary": Summary,
///  "sentences": {stage: [[condition, text], …]},      as in `templates.rs`
///  "stages": [word, …], "names": [text, …],           what the numbers below stand for
///  "entries": [[i, t, actor, stage, subject, [cause, …], revision or null, data or 0], …],
///  "lesson"?: Lesson, "contrast"?: all of this of the lesson's contrast}
/// ```
/// `actor` and `subject` are places in `names`, `stage` is one in `stages`; `t` is nanoseconds since the log began. The same
/// log gives the same text.
pub fn data(events: &Events) -> String {
    value(events).to_string()
}

/// [`data`] with a lesson and the run of its contrast.
pub(crate) fn lesson_data(lesson: &Lesson, events: &Events, contrast: &Events) -> String {
    let mut data = value(events);
    data["lesson"] = json!(lesson);
    data["contrast"] = value(contrast);
    data.to_string()
}

fn value(events: &Events) -> Value {
    let mut names = Names::default();
    let places: BTreeMap<Stage, usize> = Stage::ALL.iter().enumerate().map(|(place, stage)| (*stage, place)).collect();
    let rows: Vec<Value> = events
        .entries
        .iter()
        .map(|entry| {
            let (actor, subject) = (names.place(&entry.actor), names.place(&entry.subject));
            let data = if entry.data.is_empty() { json!(0) } else { Value::Object(entry.data.clone()) };
            json!([entry.id, nanos(entry), actor, places[&entry.stage], subject, entry.causes, entry.revision, data])
        })
        .collect();
    let sentences: Map<String, Value> =
        Stage::ALL.iter().map(|stage| (stage.word().to_owned(), json!(template(*stage)))).collect();
    let stages: Vec<&str> = Stage::ALL.iter().map(|stage| stage.word()).collect();
    json!({
        "form": FORM,
        "run": events.header,
        "summary": Summary::of(events),
        "sentences": sentences,
        "stages": stages,
        "names": names.texts,
        "entries": rows,
    })
}

/// [`data`] as it lies in a page: compressed as gzip, in base64, so that no text of a run can end the element that it lies in.
/// `DecompressionStream` unpacks it.
pub fn packed(events: &Events) -> String {
    pack(&data(events))
}

pub(crate) fn pack(data: &str) -> String {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(data.as_bytes()).expect("memory takes what is written");
    STANDARD.encode(gzip.finish().expect("memory takes what is written"))
}

#[derive(Default)]
struct Names {
    places: BTreeMap<String, usize>,
    texts: Vec<String>,
}

impl Names {
    fn place(&mut self, text: &str) -> usize {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), self.texts.len() - 1);
        self.texts.len() - 1
    }
}
