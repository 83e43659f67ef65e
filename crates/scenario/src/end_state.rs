use std::collections::{BTreeMap, BTreeSet};

use coracle_sim::ClusterState;
use serde_json::Value;

/// Kinds that record what happened, and not the state of the cluster.
const TOLD: [&str; 2] = ["Event", "Lease"];
/// The fields of a status that do not depend on the order of events.
const SAID: [&str; 15] = [
    "phase",
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "currentReplicas",
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "numberMisscheduled",
    "active",
    "succeeded",
    "failed",
    "completedIndexes",
    "disruptionsAllowed",
];

/// The state at the end of a run: each object with the relevant part of its status, so that two runs can be compared.
#[derive(Clone, Debug, Default)]
pub struct EndState {
    objects: Vec<Object>,
}

#[derive(Clone, Debug)]
struct Object {
    group: String,
    kind: String,
    namespace: String,
    name: String,
    /// The name, or the prefix of a generated name.
    called: String,
    /// The relevant fields of its status.
    said: Vec<String>,
    /// Its conditions.
    conditions: Vec<String>,
}

/// Group, kind, namespace and name.
type Key<'o> = (&'o str, &'o str, &'o str, &'o str);

/// An object that differs between the ends of two runs, or exists at the end of only one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Its kind, namespace and full name.
    pub object: String,
    /// Its status at the end of the first run; absent if it does not exist there.
    pub one: Option<String>,
    /// Its status at the end of the second run.
    pub other: Option<String>,
}

impl EndState {
    /// The state of a cluster at its newest revision.
    pub(crate) fn of(cluster: &ClusterState) -> Self {
        let objects = cluster.objects().filter(|object| !TOLD.contains(&object.kind()));
        Self { objects: objects.map(|object| Object::of(object)).collect() }
    }

    /// One line per object, with the number of equal objects. Generated names count as equal.
    pub fn alike(&self) -> BTreeMap<String, usize> {
        let mut lines = BTreeMap::new();
        for object in &self.objects {
            *lines.entry(object.line()).or_default() += 1;
        }
        lines
    }

    /// The objects that differ between the ends of this run and another. Objects that differ only in a generated name
    /// are equal.
    pub fn beside(&self, other: &Self) -> Vec<Beside> {
        let (mine, others) = (self.more_than(other), other.more_than(self));
        let names: BTreeSet<_> = mine.keys().chain(others.keys()).copied().collect();
        // The other run may have a different object of the same name.
        let (all_mine, all_others) = (self.by_name(), other.by_name());
        let pair = |name: Key<'_>| {
            let (one, other) = (all_mine.get(&name).copied(), all_others.get(&name).copied());
            let said = |object: Option<&Object>, beside: Option<&Object>| object.map(|object| object.unlike(beside));
            let (_, kind, namespace, name) = name;
            let place = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
            Beside { object: format!("{kind} {place}{name}"), one: said(one, other), other: said(other, one) }
        };
        names.into_iter().map(pair).collect()
    }

    /// The objects of which another run has fewer equal ones, by kind, namespace and name. Among equal objects, those
    /// whose names it does not have.
    fn more_than(&self, other: &Self) -> BTreeMap<Key<'_>, &Object> {
        let (mut there, known) = (other.alike(), other.by_name());
        let mut more = Vec::new();
        let is_known = |object: &&Object| known.get(&object.key()).is_some_and(|known| known.line() == object.line());
        let (same, unknown): (Vec<&Object>, Vec<&Object>) = self.objects.iter().partition(is_known);
        for object in same.into_iter().chain(unknown) {
            match there.get_mut(&object.line()) {
                Some(left) if *left > 0 => *left -= 1,
                _ => more.push((object.key(), object)),
            }
        }
        more.into_iter().collect()
    }

    fn by_name(&self) -> BTreeMap<Key<'_>, &Object> {
        self.objects.iter().map(|object| (object.key(), object)).collect()
    }
}

impl Object {
    fn of(object: &coracle_meta::Object) -> Self {
        let mut said = Vec::new();
        if object.is_terminating() {
            said.push("terminating".to_owned());
        }
        for word in SAID {
            match object.field(&["status", word]) {
                Some(Value::Array(items)) => said.push(format!("{word}={}", items.len())),
                Some(Value::String(text)) => said.push(format!("{word}={text}")),
                Some(value) => said.push(format!("{word}={value}")),
                None => {}
            }
        }
        let conditions = object.field("status.conditions").and_then(Value::as_array).into_iter().flatten();
        let mut conditions: Vec<_> =
            conditions.map(|one| format!("{}:{}", text(one, "type"), text(one, "status"))).collect();
        conditions.sort();
        Self {
            group: object.api_version().rsplit_once('/').map_or("", |(group, _)| group).to_owned(),
            kind: object.kind().to_owned(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            called: called(object).to_owned(),
            said,
            conditions,
        }
    }

    fn key(&self) -> Key<'_> {
        (&self.group, &self.kind, &self.namespace, &self.name)
    }

    fn line(&self) -> String {
        let head = [&self.group, &self.kind, &self.namespace, &self.called];
        let words = head.into_iter().chain(&self.said).chain(&self.conditions);
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The status as text. If the other run has the object too, only the part that differs.
    fn unlike(&self, beside: Option<&Self>) -> String {
        let words: Vec<&str> = match beside {
            None => self.said.iter().map(String::as_str).collect(),
            Some(beside) => {
                let own = self.said.iter().filter(|word| !beside.said.contains(word));
                own.chain(self.conditions.iter().filter(|word| !beside.conditions.contains(word)))
                    .map(String::as_str)
                    .collect()
            }
        };
        if words.is_empty() { "there".to_owned() } else { words.join(" ") }
    }
}

/// The name of an object, or its prefix if the name was generated or derived from a generated one.
fn called(object: &coracle_meta::Object) -> &str {
    let generated = object.text("metadata.generateName");
    match object.kind() {
        "Pod" if object.text("spec.hostname") == object.name() => object.name(),
        "PersistentVolume" if object.name().starts_with("pvc-") => object.text("spec.claimRef.name"),
        "VolumeAttachment" => object.text("spec.attacher"),
        _ if generated.is_empty() => object.name(),
        _ => generated,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, phase: &str) -> Object {
        let (said, conditions) = (vec![format!("phase={phase}")], vec!["Ready:True".to_owned()]);
        let (kind, namespace, called) = ("Pod".to_owned(), "default".to_owned(), "web-".to_owned());
        Object { group: String::new(), kind, namespace, name: name.to_owned(), called, said, conditions }
    }

    fn beside(one: &[(&str, &str)], other: &[(&str, &str)]) -> Vec<String> {
        let state =
            |pods: &[(&str, &str)]| EndState { objects: pods.iter().map(|(name, phase)| pod(name, phase)).collect() };
        let told = |beside: Beside| format!("{}: {:?} {:?}", beside.object, beside.one, beside.other);
        state(one).beside(&state(other)).into_iter().map(told).collect()
    }

    #[test]
    fn made_up_names_alone_make_no_difference_and_what_differs_is_named_whole() {
        let (run, pend) = ("Running", "Pending");
        assert!(beside(&[("web-a", run), ("web-b", run)], &[("web-a", run), ("web-c", run)]).is_empty());
        let fewer = beside(&[("web-a", run), ("web-b", run), ("web-c", run)], &[("web-a", run), ("web-c", run)]);
        assert_eq!(fewer, ["Pod default/web-b: Some(\"phase=Running\") None"]);
        let waits = beside(&[("web-a", run)], &[("web-a", pend)]);
        assert_eq!(waits, ["Pod default/web-a: Some(\"phase=Running\") Some(\"phase=Pending\")"]);
        let traded = beside(&[("web-a", run), ("web-b", pend)], &[("web-a", pend), ("web-c", pend)]);
        let (a, c) = (
            "Pod default/web-a: Some(\"phase=Running\") Some(\"phase=Pending\")",
            "Pod default/web-c: None Some(\"phase=Pending\")",
        );
        assert_eq!(traded, [a, c], "web-a is there in both, whichever of the others makes up for it");
    }
}
