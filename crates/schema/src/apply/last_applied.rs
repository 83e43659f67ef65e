//! The migration from client-side apply, which stores the applied configuration in an annotation.

use serde_json::Value;

use super::compare::compare;
use super::field_set::field_set;
use super::place::Place;
use super::set::Set;
use super::typed::{Duplicates, validate};

/// The manager of `kubectl apply --server-side`, the only one for which the annotation counts.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The maximum total size of an object's annotations, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// The fields that client-side apply wrote and no client has changed since; `None` if that is unknown.
pub(super) fn owned_fields<P: Place>(place: P, api_version: &str, live: &Value) -> Option<Set> {
    let config: Value = coracle_meta::json::from_str(annotation(live)?).ok()?;
    if config.get("apiVersion")?.as_str()? != api_version {
        return None;
    }
    validate(place, live, Duplicates::Refused).ok()?;
    validate(place, &config, Duplicates::Refused).ok()?;
    let since = compare(place, &config, live);
    let fields = field_set(place, &config);
    Some(fields.difference(&since.modified).difference(&since.added).difference(&since.removed))
}

/// Updates an existing annotation to the configuration that is applied now.
pub(super) fn refresh(manager: &str, object: &mut Value, config: &Value) {
    if manager != MANAGER || annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    let text = go_json(&config);
    let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else { return };
    annotations.remove(ANNOTATION);
    let others: usize = annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if others + ANNOTATION.len() + text.len() <= MAX_ANNOTATIONS {
        annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    }
}

/// One line of JSON like Go's encoder: the special characters of HTML are escaped.
fn go_json(value: &Value) -> String {
    let mut text = String::new();
    for sign in value.to_string().chars() {
        match sign {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text.push_str(&format!("\\u{:04x}", sign as u32)),
            sign => text.push(sign),
        }
    }
    text.push('\n');
    text
}
