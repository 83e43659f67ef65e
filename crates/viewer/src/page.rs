use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_journal::{Entry, EntryId, Events, Stage};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use crate::Summary;
use crate::divergence::RunPair;
use crate::lesson::Lesson;
use crate::summary::nanos;
use crate::templates::template;

/// The version of the format of [`data`]; the page rejects other versions.
pub(crate) const FORM: u32 = 1;

/// The data of the page for a run, as JSON:
///
/// ```text
/// {"form": 1,
///  "run": the first line of the events file,
/// "sentences": {stage: [[condition, text], …]},      as in `templates.rs`
///  "sentences": {stage: [[condition, text], …]},      as in `templates.rs`
///  "stages": [word, …], "names": [text, …],           what the numbers below stand for
///  "entries": [[i, t, actor, stage, subject, [cause, …], revision or null, data or 0], …],
///  "lesson"?: Lesson, "contrast"?: all of this of the lesson's contrast,
/// "cut"?: where the file of the run was truncated}
/// ```
/// `actor` and `subject` are indices into `names`, and `stage` is an index into `stages`; `t` is in nanoseconds since
/// the log began. Equal logs give equal texts.
pub fn data(events: &Events) -> String {
    Value::Object(drawn(events, &mut Names::default())).to_string()
}

/// [`data`] with a lesson and the run of its contrast.
pub fn data_of_lesson(lesson: &Lesson, events: &Events, contrast: &Events) -> String {
    let mut page = drawn(events, &mut Names::default());
    page.insert("lesson".to_owned(), json!(lesson));
    page.insert("contrast".to_owned(), Value::Object(drawn(contrast, &mut Names::default())));
    Value::Object(page).to_string()
}

/// The data of the page for two runs: all of the second run, and in `was` the entries of the first one after the
/// divergence.
///
/// ```text
/// {…as in `data`, "called": [the first, the second],
///  "was": {"run": …, "summary": …, "same": how many entries are the same, "entries": [those after], "parting": Divergence}}
/// ```
pub fn data_of_pair(both: &RunPair<'_>) -> String {
    let RunPair { one: was, other: is, called, divergence } = both;
    let mut names = Names::default();
    let mut rows = Vec::new();
    for entry in was.entries.iter().skip(divergence.same) {
        rows.push(row(entry, &mut names));
    }
    let mut page = drawn(is, &mut names);
    let summary = Summary::of(was);
    let was =
        json!({"run": was.header, "summary": summary, "same": divergence.same, "entries": rows, "parting": divergence});
    page.insert("was".to_owned(), was);
    page.insert("called".to_owned(), json!(called));
    Value::Object(page).to_string()
}

/// The data of the page for a run into which a step could not be inserted: `refused` names the event and the reason.
pub(crate) fn data_of_refused(was: &Events, at: EntryId, why: &str) -> String {
    let mut page = drawn(was, &mut Names::default());
    page.insert("refused".to_owned(), json!({"at": at, "why": why}));
    Value::Object(page).to_string()
}

fn drawn(events: &Events, names: &mut Names) -> Map<String, Value> {
    let rows: Vec<Value> = events.entries.iter().map(|entry| row(entry, names)).collect();
    let page = json!({
        "form": FORM,
        "run": events.header,
        "summary": Summary::of(events),
        "sentences": sentences(),
        "stages": stages(),
        "names": names.texts,
        "entries": rows,
    });
    let Value::Object(page) = page else { unreachable!("what stands in braces is an object") };
    page
}

/// The sentence templates, by stage.
pub(crate) fn sentences() -> Map<String, Value> {
    Stage::ALL.iter().map(|stage| (stage.word().to_owned(), json!(template(*stage)))).collect()
}

/// The names of all stages, in their order.
pub(crate) fn stages() -> Vec<&'static str> {
    Stage::ALL.iter().map(|stage| stage.word()).collect()
}

fn row(entry: &Entry, names: &mut Names) -> Value {
    let (actor, subject) = (names.place(&entry.actor), names.place(&entry.subject));
    let stage = Stage::ALL.binary_search(&entry.stage).expect("the list of stages is in their order");
    let data = if entry.data.is_empty() { json!(0) } else { Value::Object(entry.data.clone()) };
    json!([entry.id, nanos(entry), actor, stage, subject, entry.causes, entry.revision, data])
}

/// [`data`] as it is embedded in a page: compressed as gzip, in base64, so that no text of a run can close the element.
/// `DecompressionStream` unpacks it.
pub fn packed(events: &Events) -> String {
    packed_of(events, None)
}

/// As [`packed`], for a run whose file was truncated, and where.
pub(crate) fn packed_of(events: &Events, cut: Option<&str>) -> String {
    let mut page = drawn(events, &mut Names::default());
    page.extend(cut.map(|cut| ("cut".to_owned(), cut.into())));
    pack(&Value::Object(page).to_string())
}

/// A text as it is embedded in a page.
pub(crate) fn pack(text: &str) -> String {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(text.as_bytes()).expect("memory takes what is written");
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
