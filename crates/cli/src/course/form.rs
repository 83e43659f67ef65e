use coracle_journal::EntryId;
use serde_json::{Value, json};

/// The longest lag, in seconds.
const LONGEST_LAG: u32 = 3_600;
/// The most replicas.
const MOST_REPLICAS: u32 = 50;
/// The workloads that can be scaled: their plurals and kinds.
pub(super) const SCALABLE: [(&str, &str); 3] =
    [("deployments", "Deployment"), ("replicasets", "ReplicaSet"), ("statefulsets", "StatefulSet")];

/// The fields of the form in which a learner describes a change.
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// The form in a query, as browsers encode it.
    pub(super) fn of(query: &str) -> Self {
        let field = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value).trim().to_owned())
        };
        Self(query.split('&').filter(|pair| !pair.is_empty()).map(field).collect())
    }

    fn field(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }

    /// The event after which the change happens; 0 if none is named.
    pub(super) fn at(&self) -> EntryId {
        EntryId(self.field("at").trim_start_matches('#').parse().unwrap_or(0))
    }

    /// The change as a step of a scenario, with a name in words. JSON is YAML, so no value can add anything to it.
    pub(super) fn step(&self) -> Result<String, String> {
        let operation = self.operation()?;
        Ok(json!({"name": format!("your change: {}", self.words()), "try": [operation]}).to_string())
    }

    /// The change in words.
    fn words(&self) -> String {
        let name = |field| self.field(field).rsplit('/').next().unwrap_or_default();
        match self.field("do") {
            "delete" => format!("pod {} is deleted", name("pod")),
            "stop" => format!("{} is stopped", self.field("part")),
            "kill" => format!("{} is killed", self.field("part")),
            "lag" => {
                let [kind, watcher, seconds] = ["kind", "watcher", "seconds"].map(|field| self.field(field));
                format!("{watcher} sees events about each {kind} {seconds} s later")
            }
            _ => format!("{} is scaled to {} replicas", name("workload"), self.field("replicas")),
        }
    }

    fn operation(&self) -> Result<Value, String> {
        let operation = match self.field("do") {
            "delete" => json!({"delete": {"ref": self.pod()?}}),
            word @ ("stop" | "kill") => json!({word: self.part()?}),
            "lag" => json!({"fault": {"do": self.lag()?}}),
            "scale" => json!({"scale": {"ref": self.workload()?, "replicas": self.replicas()?}}),
            other => return Err(format!("`{other}` is no change; expected one of delete, stop, kill, lag, scale")),
        };
        Ok(operation)
    }

    fn pod(&self) -> Result<Value, String> {
        let (_, namespace, name) = object(self.field("pod"), "pods").ok_or("name a pod, such as pods/default/web-1")?;
        Ok(json!({"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name}))
    }

    fn part(&self) -> Result<Value, String> {
        match self.field("part") {
            "" => Err("name a component or a node".to_owned()),
            part => Ok(match part.strip_prefix("nodes/") {
                Some(node) => json!({"node": node}),
                None => json!({"component": part}),
            }),
        }
    }

    fn lag(&self) -> Result<Value, String> {
        let seconds = number(self.field("seconds"), LONGEST_LAG, "seconds of a lag")?;
        Ok(json!({"lag": format!("{seconds}s"), "kind": self.field("kind"), "to": self.field("watcher")}))
    }

    fn workload(&self) -> Result<Value, String> {
        let wanted = "name a Deployment, ReplicaSet or StatefulSet, such as deployments/default/web";
        let (plural, namespace, name) = object(self.field("workload"), "deployments").ok_or(wanted)?;
        let (_, kind) = SCALABLE.iter().find(|(known, _)| *known == plural).ok_or(wanted)?;
        Ok(json!({"apiVersion": "apps/v1", "kind": kind, "namespace": namespace, "name": name}))
    }

    fn replicas(&self) -> Result<u32, String> {
        number(self.field("replicas"), MOST_REPLICAS, "replicas")
    }
}

/// A name or a value of a query, as browsers encode it. Bytes that are not UTF-8 are replaced.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|digits| *first == b'%' && !digits.starts_with('+'));
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Plural, namespace and name of `PLURAL/NAMESPACE/NAME`; a name alone is in the namespace `default`.
fn object<'t>(text: &'t str, plural: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
    let parts: Vec<&str> = text.split('/').collect();
    match parts[..] {
        [name] if !name.is_empty() => Some((plural, "default", name)),
        [plural, namespace, name] if !namespace.is_empty() && !name.is_empty() => Some((plural, namespace, name)),
        _ => None,
    }
}

fn number(text: &str, most: u32, what: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("`{text}` is no number of {what}; expected 0 to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_a_step_of_a_scenario() {
        for (query, name, step) in [
            (
                "at=412&do=delete&pod=pods%2Fdefault%2Fweb-1",
                "pod web-1 is deleted",
                r#"{"delete":{"ref":{"apiVersion":"v1","kind":"Pod","name":"web-1","namespace":"default"}}}"#,
            ),
            (
                "do=stop&part=controller-manager%2Freplicaset",
                "controller-manager/replicaset is stopped",
                r#"{"stop":{"component":"controller-manager/replicaset"}}"#,
            ),
            ("do=kill&part=nodes%2Fnode-1", "nodes/node-1 is killed", r#"{"kill":{"node":"node-1"}}"#),
            (
                "do=lag&seconds=5&kind=Pod&watcher=scheduler",
                "scheduler sees events about each Pod 5 s later",
                r#"{"fault":{"do":{"kind":"Pod","lag":"5s","to":"scheduler"}}}"#,
            ),
            (
                "do=scale&workload=web&replicas=5",
                "web is scaled to 5 replicas",
                r#"{"scale":{"ref":{"apiVersion":"apps/v1","kind":"Deployment","name":"web","namespace":"default"},"replicas":5}}"#,
            ),
        ] {
            let expected = format!(r#"{{"name":"your change: {name}","try":[{step}]}}"#);
            assert_eq!(Form::of(query).step(), Ok(expected), "{query}");
        }
        assert_eq!(Form::of("at=%23412").at(), EntryId(412));
    }

    #[test]
    fn an_incomplete_form_says_what_is_missing() {
        for (query, why) in [
            ("", "`` is no change; expected one of delete"),
            ("do=delete", "name a pod"),
            ("do=delete&pod=a/b", "name a pod"),
            ("do=stop", "name a component"),
            ("do=scale&workload=pods/default/a&replicas=1", "name a Deployment"),
            ("do=scale&workload=a&replicas=-1", "`-1` is no number of replicas; expected 0 to 50"),
            ("do=lag&seconds=x", "`x` is no number of seconds of a lag"),
        ] {
            let said = Form::of(query).step().unwrap_err();
            assert!(said.starts_with(why), "{query}: {said}");
        }
        assert_eq!(Form::of("at=x").at(), EntryId(0));
    }

    #[test]
    fn a_query_is_decoded() {
        for (text, value) in
            [("a%2Fb+c", "a/b c"), ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%+4", "% 4"), ("%C3%BC", "ü")]
        {
            assert_eq!(decoded(text), value, "{text}");
        }
    }

    #[test]
    fn a_name_adds_nothing_to_the_step() {
        let step = Form::of("do=delete&pod=a%22%7D%7D%0Akill%3A+x").step().unwrap();
        let read: Value = serde_json::from_str(&step).unwrap();
        assert_eq!(read["try"][0]["delete"]["ref"]["name"], "a\"}}\nkill: x");
        assert_eq!(read["try"].as_array().map(Vec::len), Some(1));
        assert_eq!(read["try"][0].as_object().map(serde_json::Map::len), Some(1));
    }
}
