use coracle_journal::Entry;
use serde_json::Value;

use crate::templates::{Template, template};

/// Describes an entry in a sentence.
///
/// ```
/// use coracle_journal::{Detail, EntryId, Recorder, Stage};
/// use coracle_viewer::sentence;
///
/// let recorder = Recorder::ring(10);
/// recorder.record("program", Stage::QueueGet, || Detail::about("default/web"));
/// assert_eq!(sentence(&recorder.entries(EntryId(0))[0]), "a worker takes the key default/web");
/// ```
pub fn sentence(entry: &Entry) -> String {
    fill(template(entry.stage), entry)
}

fn fill(template: Template, entry: &Entry) -> String {
    let (_, text) = template.iter().find(|(condition, _)| holds(condition, entry)).expect("the last has no condition");
    let (mut said, mut rest) = (String::new(), *text);
    while let Some((before, after)) = rest.split_once('[') {
        let (optional, after) = after.split_once(']').expect("a bracket is closed");
        said.push_str(&words(before, entry).0);
        let (text, is_whole) = words(optional, entry);
        if is_whole {
            said.push_str(&text);
        }
        rest = after;
    }
    said.push_str(&words(rest, entry).0);
    said
}

/// A text with its fields filled in, and whether all of them had a value.
fn words(mut text: &str, entry: &Entry) -> (String, bool) {
    let (mut said, mut is_whole) = (String::new(), true);
    while let Some((before, after)) = text.split_once('{') {
        let (name, after) = after.split_once('}').expect("a brace is closed");
        let word = word(entry, name);
        is_whole &= !word.is_empty();
        said.push_str(before);
        said.push_str(&word);
        text = after;
    }
    said.push_str(text);
    (said, is_whole)
}

fn holds(condition: &str, entry: &Entry) -> bool {
    match condition.split_once('=') {
        None => condition.is_empty() || !word(entry, condition).is_empty(),
        Some((name, value)) => word(entry, name) == value,
    }
}

/// A field of an entry as readable text; empty if it is absent.
pub(crate) fn word(entry: &Entry, name: &str) -> String {
    match name {
        "k" => entry.subject.clone(),
        "rv" => entry.revision.unwrap_or_default().to_string(),
        name => entry.data.get(name).map(plain).unwrap_or_default(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => {
            map.iter().map(|(name, value)| format!("{name} at {}", plain(value))).collect::<Vec<_>>().join(", ")
        }
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::{Detail, EntryId, Recorder, Stage};
    use serde_json::json;

    #[test]
    fn every_template_ends_without_a_condition_and_names_words_that_its_stage_promises() {
        for stage in Stage::ALL {
            let template = template(*stage);
            assert_eq!(template.last().unwrap().0, "", "{stage}");
            let promised = |name: &str| stage.fields().iter().any(|field| field.name() == name);
            for (condition, text) in template {
                let condition = condition.split('=').next().unwrap();
                assert!(condition.is_empty() || promised(condition), "{stage}: {condition}");
                for name in text.split('{').skip(1).map(|part| part.split_once('}').unwrap().0) {
                    assert!(["k", "rv"].contains(&name) || promised(name), "{stage}: {name}");
                }
                assert_eq!(text.matches('[').count(), text.matches(']').count(), "{stage}");
            }
        }
    }

    #[test]
    fn empty_values_are_left_out_with_their_words() {
        let recorder = Recorder::ring(10);
        let end = |detail: Detail| recorder.record("x", Stage::SyncEnd, || detail.with("result", "done"));
        end(Detail::about("a/b"));
        end(Detail::about("a/b").with("reads", json!({"pods": 4, "nodes": 3})).with("error", "no"));
        let said: Vec<String> = recorder.entries(EntryId(0)).iter().map(sentence).collect();
        assert_eq!(said[0], "sync of a/b ends: done");
        assert_eq!(said[1], "sync of a/b ends: done, having read nodes at 3, pods at 4: no");
        recorder.record("x", Stage::AdmissionChange, || {
            Detail::about("pods/a/b").with("plugin", "Priority").with("paths", json!(["spec.a", "spec.b"]))
        });
        assert_eq!(sentence(&recorder.entries(EntryId(3))[0]), "Priority changes pods/a/b at spec.a, spec.b");
    }
}
