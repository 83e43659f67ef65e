//! `wait`: until an object has a condition, a value, or is gone.
//!
//! In Kubernetes: `kubectl/pkg/cmd/wait`.

use std::time::Duration;

use coracle_meta::{ObjectKey, go_quote};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::await_object::{Awaited, until, until_gone};
use crate::failure::Failure;
use crate::flags::Flag;
use crate::generator::print;
use crate::json_path::JsonPath;
use crate::manifests::Info;
use crate::printer::go_value;
use crate::selection::{Wanted, select};
use crate::session::CommandSession;
use crate::values::{list, number, text};
use crate::verb::{ALL, ALL_NAMESPACES, FIELD_SELECTOR, FILES, OUTPUT, SELECTOR, Verb};

const FLAGS: &[Flag] = &[
    Flag::text("for", "create, delete, condition=NAME[=VALUE] or jsonpath=PATH[=VALUE]"),
    Flag::duration("timeout", "How long to wait; 0 looks once"),
    Flag::bool("local", "Not supported"),
];

pub(super) const VERB: Verb = Verb {
    words: &["wait"],
    aliases: &[],
    flags: &[FLAGS, OUTPUT, FILES, SELECTOR, FIELD_SELECTOR, ALL, ALL_NAMESPACES],
    required: &[],
    about: "Wait for a specific condition on one or many resources",
    run: |session| Box::pin(run(session)),
};

/// What is awaited.
enum Condition {
    Created,
    Deleted,
    Status { name: String, value: String },
    Path { path: JsonPath, value: String },
}

impl Condition {
    fn parse(text: &str) -> Result<Self, Failure> {
        match text.to_lowercase().as_str() {
            "delete" => return Ok(Self::Deleted),
            "create" => return Ok(Self::Created),
            _ => {}
        }
        if let Some(condition) = text.strip_prefix("condition=") {
            let (name, value) = condition.split_once('=').unwrap_or((condition, "true"));
            return Ok(Self::Status { name: name.to_owned(), value: value.to_owned() });
        }
        let Some(input) = text.strip_prefix("jsonpath=") else {
            return Err(Failure::text(format!("unrecognized condition: {}", go_quote(text))));
        };
        let parts = split(input);
        let (path, value) = match parts.as_slice() {
            [path] => (path, None),
            [path, value] => (path, Some(value.trim_matches(['\'', '"']).to_owned())),
            _ => {
                return Err(Failure::text(
                    "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or \
                     --for=jsonpath='{.status.readyReplicas}'",
                ));
            }
        };
        if value.as_deref() == Some("") {
            return Err(Failure::text(
                "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
            ));
        }
        let path = JsonPath::relaxed(path).map_err(Failure::text)?;
        if path.is_empty() {
            return Err(Failure::text("jsonpath expression cannot be empty"));
        }
        let path = JsonPath::parse(&path).map_err(Failure::text)?;
        Ok(Self::Path { path, value: value.unwrap_or_default() })
    }

    fn is_met(&self, object: &Value) -> Result<bool, Failure> {
        match self {
            Self::Created | Self::Deleted => Ok(true),
            Self::Status { name, value } => Ok(has_condition(object, name, value)),
            Self::Path { path, value } => has_value(object, path, value).map_err(Failure::text),
        }
    }
}

/// The parts between single equals signs.
fn split(input: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut signs = input.chars().peekable();
    while let Some(sign) = signs.next() {
        let is_double = sign == '=' && signs.next_if_eq(&'=').is_some();
        match (sign, is_double, parts.last_mut()) {
            ('=', false, _) => parts.push(String::new()),
            ('=', true, Some(last)) => last.push_str("=="),
            (sign, _, Some(last)) => last.push(sign),
            _ => {}
        }
    }
    parts
}

fn has_condition(object: &Value, name: &str, value: &str) -> bool {
    let conditions = list(object, "/status/conditions");
    let Some(condition) = conditions.iter().find(|known| text(known, "/type").to_lowercase() == name.to_lowercase())
    else {
        return false;
    };
    let observed = number(condition, "/observedGeneration").or_else(|| number(object, "/status/observedGeneration"));
    let is_old = number(object, "/metadata/generation").zip(observed).is_some_and(|(own, seen)| seen < own);
    !is_old && text(condition, "/status").to_lowercase() == value.to_lowercase()
}

fn has_value(object: &Value, path: &JsonPath, wanted: &str) -> Result<bool, String> {
    let found = path.find(object)?;
    match found.as_slice() {
        [] => return Ok(false),
        [first, ..] if first.is_empty() => return Ok(false),
        [_, _, ..] => return Err("given jsonpath expression matches more than one list".to_owned()),
        [first] if first.len() > 1 => return Err("given jsonpath expression matches more than one value".to_owned()),
        _ => {}
    }
    let value = &found[0][0];
    if wanted.is_empty() {
        return Ok(true);
    }
    if value.is_object() || value.is_array() {
        return Err("jsonpath leads to a nested object or list which is not supported".to_owned());
    }
    Ok(go_value(value).trim() == wanted.trim())
}

async fn run(session: &mut CommandSession<'_>) -> Result<(), Failure> {
    let condition = Condition::parse(session.flags.text("for"))?;
    let week = Duration::from_secs(168 * 3600);
    let timeout = session.flags.duration("timeout").unwrap_or(Duration::from_secs(30)).min(week);
    let deadline = Instant::now() + timeout;
    let wanted = Wanted::of(session, session.args());
    let wanted = Wanted { is_all_by_default: wanted.is_all, ..wanted };
    let selection = select(session, &wanted).await?;
    let (infos, mut failures) = match condition {
        Condition::Created => created(session, selection, deadline, timeout).await?,
        _ => selection.fetch(session).await,
    };
    if matches!(condition, Condition::Deleted) {
        failures.retain(|failure| !failure.is_not_found());
    }
    if infos.is_empty() && failures.is_empty() && !matches!(condition, Condition::Deleted) {
        return Err(Failure::text("no matching resources found"));
    }
    for info in infos {
        match one(session, &info, &condition, deadline, timeout).await {
            Ok(object) => print(session, &object, "condition met")?,
            Err(failure) => failures.push(failure),
        }
    }
    Failure::aggregate(failures)
}

/// Waits until the objects exist. kubectl looks every half second, too: no watch shows an object before its kind and name are known.
async fn created(
    session: &mut CommandSession<'_>,
    selection: crate::selection::SelectedObjects,
    deadline: Instant,
    timeout: Duration,
) -> Result<(Vec<Info>, Vec<Failure>), Failure> {
    loop {
        let (infos, failures) = selection.clone().fetch(session).await;
        let is_missing = failures.iter().any(Failure::is_not_found);
        if !is_missing && (!infos.is_empty() || !failures.is_empty()) {
            return Ok((infos, failures));
        }
        if timeout.is_zero() || Instant::now() >= deadline {
            return Err(Failure::text("timed out waiting for the condition"));
        }
        sleep(Duration::from_millis(500)).await;
    }
}

async fn one(
    session: &mut CommandSession<'_>,
    info: &Info,
    condition: &Condition,
    deadline: Instant,
    timeout: Duration,
) -> Result<Value, Failure> {
    let key = ObjectKey::new(info.namespace.clone(), info.name.clone());
    let awaited = Awaited { kind: &info.kind, key: &key, uid: "", deadline };
    if timeout.is_zero() {
        let current = session.find(&info.kind, &key.namespace, &key.name).await?;
        let is_met = match (&current, condition) {
            (None, Condition::Deleted) => true,
            (Some(_), Condition::Deleted) | (None, _) => false,
            (Some(object), condition) => condition.is_met(object)?,
        };
        let title = format!("{}/{}", info.kind.plural, info.name);
        return if is_met {
            Ok(current.unwrap_or_else(|| info.object.clone()))
        } else {
            Err(Failure::text(format!("condition not met for {title}")))
        };
    }
    if matches!(condition, Condition::Deleted) {
        until_gone(session, &awaited).await?;
        return Ok(info.object.clone());
    }
    until(session, &awaited, |object: Option<&Value>| match object {
        Some(object) => Ok(condition.is_met(object)?.then(|| object.clone())),
        None => Ok(None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_are_read_and_compared() {
        let object = json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "replicas": 3,
            "conditions": [{"type": "Ready", "status": "True"}]}});
        for (text, is_met) in [
            ("condition=ready", true),
            ("condition=Ready=false", false),
            ("condition=Other", false),
            ("jsonpath={.status.replicas}=3", true),
            ("jsonpath='{.status.replicas}'=4", false),
            ("jsonpath={.status.none}", false),
            ("jsonpath=.status.conditions[?(@.type==\"Ready\")].status=True", true),
        ] {
            let text = text.replace('\'', "");
            assert_eq!(Condition::parse(&text).unwrap().is_met(&object).unwrap(), is_met, "{text}");
        }
        assert!(Condition::parse("").is_err());
        assert!(Condition::parse("jsonpath=a=b=c").is_err());
    }
}
