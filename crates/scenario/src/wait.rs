use coracle_meta::{LabelSelector, Object};
use coracle_sim::{ClusterState, InvariantAnswer};
use serde_json::Value;

use crate::file::{Wait, WaitFor};
use crate::path::{Position, path_of};

/// Checks whether the condition of a `wait` holds for every object that it names or selects.
pub(crate) fn look(wait: &Wait, namespace: &str, cluster: &ClusterState) -> Result<(), InvariantAnswer> {
    let selector = wait.selector.as_ref().and_then(|selector| LabelSelector::parse(&selector.value).ok());
    let objects: Vec<_> = cluster
        .of_kind(&wait.api_version.value, &wait.kind.value)
        .filter(|object| object.namespace().is_empty() || object.namespace() == namespace)
        .filter(|object| wait.name.as_deref().is_none_or(|name| object.name() == name))
        .filter(|object| selector.as_ref().is_none_or(|selector| selector.matches(&object.labels())))
        .collect();
    let what = match (&wait.name, &wait.selector) {
        (Some(name), _) => format!("{} {name}", wait.kind.value),
        (None, Some(selector)) => format!("{} with {}", wait.kind.value, selector.value),
        (None, None) => wait.kind.value.clone(),
    };
    if let WaitFor::Deletion(_) = wait.condition {
        return match objects.first() {
            None => Ok(()),
            Some(object) => Err(fails(format!("{what} to be gone"), format!("{} is there", object.name()))),
        };
    }
    if objects.is_empty() {
        return Err(fails(format!("{what} to be there"), "no such object".to_owned()));
    }
    objects.iter().try_for_each(|object| look_at(wait, object))
}

fn look_at(wait: &Wait, object: &Object) -> Result<(), InvariantAnswer> {
    match &wait.condition {
        WaitFor::Creation(_) | WaitFor::Deletion(_) => Ok(()),
        WaitFor::Condition(wanted) => {
            let conditions = object.field("status.conditions").and_then(Value::as_array);
            let named = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some(&wanted.name);
            let found = conditions.into_iter().flatten().find(named).and_then(|found| found.get("status"));
            let found = found.and_then(Value::as_str);
            if found.is_some_and(|found| found.eq_ignore_ascii_case(&wanted.value)) {
                return Ok(());
            }
            let expected = format!("condition {} of {} to be {}", wanted.name, object.name(), wanted.value);
            Err(fails(expected, found.unwrap_or("no such condition").to_owned()))
        }
        WaitFor::JsonPath(wanted) => {
            let found = json_path(object, &wanted.path.value);
            if found.as_deref() == Some(&wanted.value) {
                return Ok(());
            }
            let expected = format!("{} of {} to be {}", wanted.path.value, object.name(), wanted.value);
            Err(fails(expected, found.unwrap_or_else(|| "nothing".to_owned())))
        }
    }
}

fn fails(expected: String, found: String) -> InvariantAnswer {
    InvariantAnswer::Fails { expected, found, nearest: None }
}

/// The value at a path, as text.
fn json_path(object: &Object, path: &str) -> Option<String> {
    let root = object.to_value();
    let path = path_of(path).ok()?;
    let found = path.iter().try_fold(&root, |value, position| match position {
        Position::Key(name) => value.get(name),
        Position::Item(place) => value.get(place),
    })?;
    Some(match found {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_leads_through_fields_and_positions() {
        let object = Object::from_value(json!({"status": {"phase": "Running"}, "spec": {"c": [{"n": 1}]}})).unwrap();
        assert_eq!(json_path(&object, "{.status.phase}"), Some("Running".to_owned()));
        assert_eq!(json_path(&object, ".spec.c[0].n"), Some("1".to_owned()));
        assert_eq!(json_path(&object, "{.spec.c[1].n}"), None);
    }
}
